# hale on CPUs, as a user of its own. Untested: no image has been built from it.
#
#     make release
#     docker build --tag hale .
#     docker run --rm --volume "$PWD:/data" hale train facts.tsv --budget 5m --out runs/mine
#
# --build-arg TORCH_INDEX=... names PyTorch's CPU index; without it the usual build comes, with
# gigabytes of GPU packages. Files in /data are written as user 1000 (--user changes it).
FROM python:3.13-slim-bookworm AS build

ARG TORCH_INDEX=""
WORKDIR /build
COPY constraints.txt requirements/use.txt ./
COPY dist/*-manylinux_*.whl ./
# Every package by its hash, PyTorch by its version, hale from the wheel.
RUN python -m venv /opt/hale \
    && /opt/hale/bin/pip install --no-cache-dir --require-hashes --no-deps --requirement use.txt \
    && PIP_EXTRA_INDEX_URL="$TORCH_INDEX" /opt/hale/bin/pip install --no-cache-dir --constraint constraints.txt torch \
    && /opt/hale/bin/pip install --no-cache-dir --no-deps ./*.whl

FROM python:3.13-slim-bookworm
COPY --from=build /opt/hale /opt/hale
RUN useradd --uid 1000 --create-home hale
ENV PATH="/opt/hale/bin:$PATH" HALE_CACHE=/data/.hale
USER 1000
WORKDIR /data
ENTRYPOINT ["hale"]
CMD ["--help"]

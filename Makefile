# Every target sets up what it needs in .venv; nothing outside the folder is touched, but for Debian's
# browser, which browser-test installs where it may.
PYTHON ?= python3
BIN := .venv/bin
PAGES := src/hale/serve/static/explore.js
TRIED := src/hale/serve/static/.tried

.PHONY: install setup demo explore wheel release release-bounds lock audit lint-workflows docs browser-test cluster-test test test-without-compiler check torture fuzz soak mutants sanitize sanitize-fuzz format clean

install: .venv/.demo

setup: .venv/.ready $(TRIED)

SOURCES := pyproject.toml constraints.txt CMakeLists.txt $(wildcard native/* requirements/use.txt requirements/dev.txt)

# $(call install,LIST): hale from this folder, and what requirements/LIST.txt pins by hash. PyTorch's
# files differ by build (CPU, CUDA), so that one is pinned by version alone. UNLOCKED=1 takes what
# the index has within pyproject.toml, where a system has no files of the list.
ISOLATION := $(if $(UNLOCKED),,--no-build-isolation) # the tools that build are on the list
PIP := $(BIN)/python -m pip install --disable-pip-version-check
define install
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hale needs Python 3.11 or newer; set PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(if $(UNLOCKED),,$(PIP) --require-hashes --no-deps --requirement requirements/$(1).txt $(2))
	$(if $(UNLOCKED),,$(PIP) --constraint constraints.txt torch $(2))
	$(PIP) --constraint constraints.txt $(if $(UNLOCKED),,--no-deps) $(ISOLATION) --editable $(if $(UNLOCKED),'.$(3)',.) $(2)
endef

.venv/.ready: $(SOURCES)
	$(call install,dev,--quiet,[dev])
	touch .venv/.demo $@

# What using hale takes, without the tools for tests and checks.
.venv/.demo: $(SOURCES)
	@echo 'Setting up .venv, once:'
	$(call install,use)
	touch $@

# Tools of a release and of the site, beside the others.
.venv/.release .venv/.docs: .venv/.%: .venv/.ready requirements/%.txt
	$(PIP) --quiet --require-hashes --no-deps --requirement requirements/$*.txt
	mkdir -p build && touch $@

# The lists of requirements/, made anew with the newest versions.
lock: .venv/.release
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python scripts/lock.py

# The site, into build/site; a warning is an error.
docs: .venv/.docs
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=src $(BIN)/python -m mkdocs --quiet build --strict

# The workflows and the Dockerfile, by their shape and for what lets somebody in; offline.
lint-workflows: .venv/.release
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/zizmor --offline --persona pedantic --quiet .github/workflows
	$(BIN)/hadolint Dockerfile

# Known faults of what the lists pin. The data come from the package index; where they cannot be had,
# it says so and fails, for nothing was audited.
audit: .venv/.release
	mkdir -p build && grep '^torch==' constraints.txt > build/torch.txt
	@for list in requirements/*.txt build/torch.txt; do \
	  echo "$$list"; \
	  $(BIN)/pip-audit --strict --disable-pip --no-deps --progress-spinner off --requirement $$list || faults=1; \
	done; \
	if [ -n "$$faults" ]; then echo 'audit: faults, or packages whose data were not to be had (offline?), above'; exit 1; fi

# The pages of hale explore; without Node.js they are left out, and it says so, once.
$(TRIED): .venv/.ready $(wildcard web/*.json web/*.mjs web/src/*) scripts/build_web.py
	$(BIN)/python scripts/build_web.py
	mkdir -p $(@D) && touch $@

demo: .venv/.demo
	$(BIN)/hale train wordnet --model rotl --dim 32 --budget 30s --out runs/demo --overwrite
	$(BIN)/hale predict runs/demo --head dog.n.01 --relation hypernym -k 5
	$(BIN)/hale predict runs/demo --relation part_meronym --tail everest.n.01 -k 5
	$(BIN)/hale predict runs/demo --head namibia.n.01 --relation instance_hypernym -k 5

explore: runs/demo/metrics.json
	$(BIN)/hale explore runs/demo

runs/demo/metrics.json: | setup
	$(MAKE) demo

# With the pages inside, and their licences.
wheel: setup
	$(BIN)/python scripts/build_web.py --must
	rm -f dist/hale_kge-*.whl
	$(BIN)/python -m pip wheel --quiet --no-deps $(ISOLATION) --wheel-dir dist .
	$(BIN)/python scripts/check_wheel.py dist/hale_kge-*.whl

# What is given away: the sdist, and a wheel built from it that runs wherever this PyTorch does. Both
# are checked, and the wheel is installed and tried where there is no compiler.
release: setup .venv/.release
	$(BIN)/python scripts/build_web.py --must
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist . > build/release.log 2>&1 || (tail -n 40 build/release.log; false)
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair --plat $(MANYLINUX) --only-plat --wheel-dir dist dist/*-linux_*.whl
	rm dist/*-linux_*.whl
	$(BIN)/auditwheel show dist/*.whl
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	$(BIN)/python scripts/check_wheel.py dist/*
	$(BIN)/python scripts/try_wheel.py dist/*.whl

# The policy that PyTorch's own wheels keep to.
MANYLINUX := manylinux_2_28_$(shell uname -m)

# The same wheel with the lowest and with the newest versions of what it needs; PyTorch comes with
# gigabytes of GPU packages for both.
release-bounds: .venv/.release
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python scripts/try_wheel.py dist/*.whl --lowest
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python scripts/try_wheel.py dist/*.whl --newest

# In so many processes, each on one core: tests say themselves where they take more.
JOBS ?= 2
test: setup
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile

# The pages in a real browser: Debian's chromium and its driver, installed where that may be done.
# Where there is none the tests are left out, and it says so.
browser-test: setup
	command -v chromedriver > /dev/null || (apt-get update && apt-get install -y chromium chromium-driver) > /dev/null 2>&1 || true
	@if ! command -v chromedriver > /dev/null; then echo 'browser tests left out: no chromedriver'; \
	elif ! test -f $(PAGES); then echo 'browser tests left out: the pages are not built'; \
	else $(BIN)/python -m pytest -m browser tests/browser; fi

# Ranks under torchrun: the same weights of wordnet on one to four, after fifty kills, and on hosts
# in network namespaces, which need root and iproute2.
cluster-test: setup
	$(BIN)/python -m pytest -m cluster tests/training/test_cluster.py tests/lab/bench tests/docs

# The package as a machine without a compiler has it: hale must say that it runs on torch tiles and
# why, and be right all the same. It shares every other package with .venv.
BARE := build/without-compiler
AS_BARE := env -u HALE_ENGINE -u HALE_NATIVE -u HALE_BUILD OMP_NUM_THREADS=1 PYTHONPATH=$(abspath $(BARE))

test-without-compiler: setup
	rm -rf $(BARE)
	CC=/bin/false CXX=/bin/false $(BIN)/python -m pip install --quiet --no-deps $(ISOLATION) --target $(BARE) .
	$(AS_BARE) $(BIN)/hale show --engine | tee $(BARE)/engine.txt
	grep -q 'tiles (the native kernel is not there: .* was not built; a C++ compiler' $(BARE)/engine.txt
	$(AS_BARE) $(BIN)/python -m pytest -p no:cacheprovider -W 'ignore:training runs on torch tiles' \
	  --deselect tests/engine/test_choice.py::test_the_native_kernel_runs_here \
	  tests/engine tests/objectives 'tests/training/test_trainer.py::test_a_ring_is_learnt[rotl]'

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python scripts/build_web.py --check
	$(BIN)/python -m pytest tests/test_architecture.py

# The code broken in one place at a time: which changes no test notices (an hour on a quiet core).
mutants: setup
	nice -n 15 $(BIN)/python scripts/mutate.py --sample 300 --json docs/results/mutants.json --label now
	$(BIN)/python scripts/mutate.py --json docs/results/mutants.json --page docs/results/mutants.md

# The kernel's tests over a kernel built with address and undefined-behaviour sanitizers; then random
# calls of its functions under these and under the thread sanitizer.
RANDOM_CALLS ?= 2000
sanitize: setup
	$(BIN)/cmake -S . -B build/sanitize -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DHALE_SANITIZE=ON
	$(BIN)/cmake --build build/sanitize
	HALE_NATIVE=$(abspath build/sanitize) ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
	  LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	  $(BIN)/python -m pytest tests/engine -p no:cacheprovider --ignore tests/engine/test_want_of_memory.py
	$(BIN)/cmake --build build/sanitize --target hale_calls_address hale_calls_thread
	build/sanitize/hale_calls_address 0 $(RANDOM_CALLS)
	TSAN_OPTIONS=halt_on_error=1 build/sanitize/hale_calls_thread 0 $(RANDOM_CALLS)

# Calls led by libFuzzer to what they reach; it takes clang++ and its sanitizers.
FUZZ_CXX ?= clang++
sanitize-fuzz: setup
	CXX=$(FUZZ_CXX) $(BIN)/cmake -S . -B build/fuzz-kernel -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DHALE_SANITIZE=ON
	$(BIN)/cmake --build build/fuzz-kernel --target hale_calls_fuzz
	mkdir -p build/fuzz-kernel/corpus
	build/fuzz-kernel/hale_calls_fuzz -runs=$(RANDOM_CALLS) -max_len=64 -timeout=20 build/fuzz-kernel/corpus

# Every command that writes, killed and failed at every turn, the power cut, every byte of a run
# changed; TORTURE=1000 for the long one. What happened is added to docs/results/torture.jsonl.
TORTURE ?= 60
SOME := $(if $(filter-out 60,$(TORTURE)),,1)
torture: setup
	$(BIN)/python scripts/torture/torture.py kills --count $(TORTURE)
	$(BIN)/python scripts/torture/torture.py faults $(if $(SOME),--most 5)
	$(BIN)/python scripts/torture/torture.py power $(if $(SOME),--most 5)
	$(BIN)/python scripts/torture/torture.py flips $(if $(SOME),--most 100)
	$(BIN)/python scripts/torture/torture.py page

# Drawn commands and broken files; what was counted before is gone on with. Files are led by what they
# reach where atheris has a wheel for this Python and machine, and are drawn blindly elsewhere.
CALLS ?= 10000
INPUTS ?= 100000
fuzz: setup
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --only-binary :all: atheris || true
	$(BIN)/python scripts/fuzz/commands.py --calls $(CALLS)
	$(BIN)/python scripts/fuzz/inputs.py --inputs $(INPUTS)

# Hours of load: memory flat, no handles left open, the same answers at the end.
SOAK ?= 7200
soak: setup
	$(BIN)/python scripts/soak/soak.py --seconds $(SOAK)

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv build .mypy_cache .pytest_cache .ruff_cache .hypothesis

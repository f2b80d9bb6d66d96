"""Write requirements/*.txt: what the set-up installs, every version and every file pinned by hash.

    make lock

For all systems and for Python 3.11 and newer, by uv, from pyproject.toml and constraints.txt.
PyTorch is left out, with what only its GPU builds need: there is a build for CPUs, one for each
CUDA, and others, each with files of its own, and which of them is wanted is for the machine to say.
constraints.txt pins its version.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "requirements"
EXTRAS = {"use": (), "dev": ("dev",), "docs": ("docs",), "release": ("release",)}
BUILD = "scikit-build-core>=0.10\ncmake>=3.18,<5\nninja>=1.11\n"
OF_THE_MACHINE = re.compile(r"(torch|triton|nvidia-[\w-]+|cuda-[\w-]+)(\[[\w,]+\])?==")
TITLE = "# Made by scripts/lock.py; pip install --require-hashes --no-deps -r this file.\n"


def without_torch(text: str) -> str:
    """A lock without PyTorch and its GPU packages: each entry runs on to its last hash."""
    entries = re.split(r"^(?=[a-zA-Z0-9])", text, flags=re.MULTILINE)
    return "".join(entry for entry in entries if not OF_THE_MACHINE.match(entry))


def compiled(extras: tuple[str, ...], agree: Path | None = None) -> str:
    """What uv resolves for the package with these extras, and what builds it."""
    command = ["uv", "pip", "compile", "pyproject.toml", "-", "--constraint", "constraints.txt"]
    command += ["--universal", "--python-version", "3.11", "--generate-hashes"]
    command += ["--quiet", "--no-header", "--no-annotate"]
    command += [word for extra in extras for word in ("--extra", extra)]
    command += ["--constraint", str(agree)] if agree else []
    done = subprocess.run(  # noqa: S603
        command, cwd=ROOT, input=BUILD, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return without_torch(done.stdout)


def main() -> None:
    """Write all, with one version of a package in all of them."""
    FOLDER.mkdir(exist_ok=True)
    everything = FOLDER / "all.txt"
    everything.write_text(compiled(("dev", "docs", "release")), encoding="utf-8")
    for name, extras in EXTRAS.items():
        text = TITLE + compiled(extras, everything)
        (FOLDER / f"{name}.txt").write_text(text, encoding="utf-8")
    everything.unlink()


if __name__ == "__main__":
    main()

"""Install a wheel into a clean environment without a compiler, and see that it trains natively.

    python scripts/try_wheel.py dist/NAME.whl             what constraints.txt pins
    python scripts/try_wheel.py dist/NAME.whl --lowest    the lowest that pyproject.toml admits
    python scripts/try_wheel.py dist/NAME.whl --newest    the newest that there are

The first takes pip, the others uv, and the torch that the index has: on Linux gigabytes of it. The
environment is made in a temporary folder and goes with it. PATH has no compiler there, nothing is
built from source, and `hale show --engine` must say native; a graph of words and one of a CSV file
are trained, asked, calibrated, updated and exported. The first thing that fails is told, with
status 1. `make release` runs the first, `make release-bounds` the other two.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

PEOPLE = ("ann", "bea", "cay", "dan", "eva", "finn", "gus", "hal", "ida", "joe")
CITIES = ("Bern", "Oslo", "Rome")

# Each command, and a word that it must print.
STEPS = (
    ("show --engine", "native"),
    ("train wordnet --epochs 1 --dim 8 --out words", "test"),
    ("evaluate words --split valid", "MRR"),
    ("predict words --head dog.n.01 --relation hypernym -k 3", "answer"),
    ("calibrate words", "calibration error"),
    ("train facts.csv --epochs 20 --dim 4 --out people", "people"),
    ("predict people --relation lives_in --all -k 2 --out answers.csv", "answers.csv"),
    ("update people new.tsv --epochs 2 --out later", "later"),
    ("export later --format parquet --out vectors", "vectors"),
    ("find later zoe", "zoe"),
)


class TrialError(Exception):
    """A step that did not do what it should; the message has what it said."""


def main(arguments: list[str]) -> int:
    """Try a wheel; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("wheel", type=Path)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--lowest", action="store_true", help="the lowest versions admitted")
    which.add_argument("--newest", action="store_true", help="the newest versions there are")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            install(given.wheel.resolve(), folder / "env", given.lowest, given.newest)
            walk(folder / "env", folder)
        except TrialError as error:
            sys.stderr.write(f"{error}\n")
            return 1
    return 0


def install(wheel: Path, environment: Path, lowest: bool, newest: bool) -> None:
    """Make an environment with the wheel and what it needs, nothing built from source."""
    venv.create(environment, with_pip=True)
    python = programs(environment) / "python"
    if not (lowest or newest):
        pinned = ["--constraint", str(ROOT / "constraints.txt")]
        run(
            [
                str(python),
                *["-m", "pip", "install", "--quiet", "--only-binary", ":all:"],
                *pinned,
                str(wheel),
            ]
        )
        return
    into = ["uv", "pip", "install", "--quiet", "--only-binary", ":all:", "--python", str(python)]
    if lowest:  # of what pyproject.toml names: a wheel's own needs are not direct ones to uv
        run([*into, "--resolution", "lowest-direct", "-r", str(ROOT / "pyproject.toml")])
    run([*into, *(["--no-deps"] if lowest else []), str(wheel)])


def walk(environment: Path, folder: Path) -> None:
    """Every step, as a machine without a compiler would run it."""
    facts = [f"{person},lives_in,{CITIES[i % 3]}" for i, person in enumerate(PEOPLE)]
    facts += [f"{person},knows,{PEOPLE[i - 1]}" for i, person in enumerate(PEOPLE)]
    (folder / "facts.csv").write_text("\n".join(facts) + "\n", encoding="utf-8")
    (folder / "new.tsv").write_text("zoe\tlives_in\tOslo\nzoe\tknows\tann\n", encoding="utf-8")
    bare = {
        name: value for name, value in os.environ.items() if not name.startswith(("HALE", "PYTHON"))
    }
    bare |= {
        "PATH": str(programs(environment)),
        "CC": "/bin/false",
        "CXX": "/bin/false",
        "COLUMNS": "100",
    }
    for step, word in STEPS:
        said = run([str(programs(environment) / "hale"), *step.split()], folder, bare)
        if word not in said:
            raise TrialError(f"hale {step}: {word!r} is not in what it said:\n{said}")
        sys.stdout.write(f"hale {step}\n")
        if step == "show --engine":
            sys.stdout.write(said)


def programs(environment: Path) -> Path:
    """Where an environment has its programs."""
    return environment / ("Scripts" if os.name == "nt" else "bin")


def run(
    command: list[str], folder: Path | None = None, environment: dict[str, str] | None = None
) -> str:
    """What a command printed, on both ways out."""
    done = subprocess.run(  # noqa: S603
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    if done.returncode:
        raise TrialError(
            f"{' '.join(command)} ended with status {done.returncode}:\n{said[-3000:]}"
        )
    return said


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Run every command of the tour and write docs/tour.md: input files, commands, what they printed.

    python scripts/tour.py            run all (about three minutes), write docs/tour.md
    python scripts/tour.py --check    only compare the page's files and commands with those below

The tour works on the bundled WordNet in a temporary folder. Its output is cut to a few lines a
command; nothing else is changed, so the page cannot say what the program does not.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "tour.md"
WIDTH = 118
OPENING = """# A tour of the commands

Each command with what it printed, on the bundled WordNet. `python scripts/tour.py` runs all of
them (three minutes on two cores) and writes this page. Where a command reads a file, the file
stands before it, its columns parted by tabs.
"""

# (what it is for, the command, lines shown)
STEPS = (
    (
        "Train on the bundled WordNet, and rank its test split.",
        "hale train wordnet --budget 60s --out runs/tour",
        6,
    ),
    (
        "Ask for tails, heads or relations; known facts are marked with the split that holds them.",
        "hale predict runs/tour --head namibia.n.01 --relation instance_hypernym -k 3",
        8,
    ),
    ("", "hale predict runs/tour --relation part_meronym --tail everest.n.01 -k 3", 8),
    ("", "hale predict runs/tour --head dog.n.01 --tail canine.n.02 -k 3", 8),
    (
        "A file of queries, `?` in the place that is asked for, to a table.",
        "hale predict runs/tour --queries queries.tsv -k 2 --known drop --out answers.csv",
        8,
    ),
    (
        "The most plausible facts that the graph lacks.",
        "hale discover runs/tour --relation derivationally_related_form -k 5",
        10,
    ),
    ("What lies near an entity.", "hale neighbors runs/tour dog.n.01 -k 5", 10),
    (
        "Why an answer ranks where it does: the known facts nearest to it.",
        "hale why runs/tour namibia.n.01 instance_hypernym african_country.n.01",
        18,
    ),
    (
        "How sure: probabilities, calibrated on validation triples.",
        "hale calibrate runs/tour",
        10,
    ),
    ("", "hale classify runs/tour facts.tsv", 10),
    (
        "Take the vectors elsewhere: npy, parquet, csv, word2vec, tensorboard or an index.",
        "hale export runs/tour --format parquet --out vectors",
        8,
    ),
    (
        "Tomorrow's facts, without starting over.",
        "hale update runs/tour new.tsv --budget 10s --out runs/tomorrow",
        14,
    ),
    ("Look at a run, rank another split.", "hale evaluate runs/tour --split valid", 8),
    ("What there is to choose from.", "hale strategies", 12),
    ("Which engine runs here, and why.", "hale show --engine", 4),
)

FILES = {
    "queries.tsv": "dog.n.01\thypernym\t?\n?\tmember_meronym\tcanine.n.02\n",
    "facts.tsv": "dog.n.01\thypernym\tcanine.n.02\ndog.n.01\thypernym\tpaw.n.01\n",
    "new.tsv": (
        "robot_dog.n.01\thypernym\tdomestic_animal.n.01\nrobot_dog.n.01\tpart_meronym\tpaw.n.01\n"
    ),
}


def run(command: str, folder: Path) -> str:
    """What a command prints on stdout; one that fails stops the tour."""
    program = [sys.executable, "-m", "hale", *shlex.split(command)[1:]]
    environment = {**os.environ, "COLUMNS": str(WIDTH), "NO_COLOR": "1"}
    done = subprocess.run(  # noqa: S603
        program, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{command}\n{done.stderr}")
    return done.stdout or done.stderr


def shown(output: str, lines: int) -> str:
    """The first lines, as an indented block; what is left out is said."""
    rows = [line.rstrip() for line in output.splitlines() if line.strip()]
    kept = rows[:lines] + ([f"... ({len(rows) - lines} more lines)"] if len(rows) > lines else [])
    return "\n".join(f"    {row}" for row in kept)


def inputs(command: str) -> list[str]:
    """The files that a command reads, each as the page shows it."""
    read = [name for name in FILES if name in shlex.split(command)]
    return [f"`{name}`:\n\n{shown(FILES[name], 10)}\n" for name in read]


def tour() -> str:
    """The whole page."""
    parts = [OPENING]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in FILES.items():
            (folder / file).write_text(content)
        for what, command, lines in STEPS:
            parts += [f"{what}\n"] if what else []
            parts += inputs(command)
            parts.append(f"    $ {command}\n{shown(run(command, folder), lines)}\n")
    return "\n".join(parts)


def commands(text: str) -> list[str]:
    """The commands that a page shows."""
    return re.findall(r"^    \$ (.*)$", text, flags=re.M)


def stale(text: str) -> str | None:
    """In what a page's commands and files are not those of this script."""
    if commands(text) != [command for _, command, _ in STEPS]:
        return "commands"
    files = [block for _, command, _ in STEPS for block in inputs(command)]
    return None if all(block in text for block in files) else "files"


def main() -> None:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        PAGE.write_text(tour(), encoding="utf-8")
    elif what := stale(PAGE.read_text(encoding="utf-8")):
        raise SystemExit(f"The {what} of docs/tour.md are not those of scripts/tour.py; run it.")


if __name__ == "__main__":
    main()

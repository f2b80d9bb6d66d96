"""The tour of the README: its commands are the script's, and it leaves none out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import typer

from hale.cli.app import app

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
tour = pytest.importorskip("tour")

# Commands that a tour of a minute cannot show: they train for long, or measure the machine.
ELSEWHERE = {"bench", "reproduce", "tune", "models", "datasets"}


def test_every_command_is_toured_or_said_elsewhere() -> None:
    commands = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    toured = {command.split()[1] for _, command, _ in tour.STEPS}
    assert toured | ELSEWHERE == commands
    readme = tour.README.read_text()
    assert all(f"hale {name}" in readme for name in ELSEWHERE)


def test_the_readme_shows_the_scripts_commands() -> None:
    shown = tour.commands(tour.README.read_text())
    assert shown == [command for _, command, _ in tour.STEPS], "run scripts/tour.py again"


def test_output_is_cut_and_says_so() -> None:
    text = tour.shown("a\n\nb  \nc\nd\n", 2)
    assert text == "    a\n    b\n    ... (2 more lines)"

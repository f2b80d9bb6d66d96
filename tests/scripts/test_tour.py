"""The tour: the page has the script's commands and files, and leaves no command out."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import typer

from hale.cli.app import app

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
tour = importlib.import_module("tour")

# Commands that other pages show: they train for long, measure the machine, or look up a name.
ELSEWHERE = {
    "explore",
    "serve",
    "mcp",
    "bench",
    "reproduce",
    "tune",
    "recipe",
    "models",
    "datasets",
    "find",
    "align",
    "compress",
}


def test_every_command_is_toured_or_said_elsewhere() -> None:
    commands = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    toured = {command.split()[1] for _, command, _ in tour.STEPS}
    assert toured | ELSEWHERE == commands
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    assert [name for name in sorted(ELSEWHERE) if f"hale {name}" not in text] == []


def test_the_page_shows_the_scripts_commands_and_files() -> None:
    page = tour.PAGE.read_text(encoding="utf-8")
    assert tour.stale(page) is None, "run scripts/tour.py again"
    assert tour.stale(page.replace("paw.n.01\n", "claw.n.01\n")) == "files"
    assert tour.stale(page.replace("$ hale why", "$ hale whence")) == "commands"


def test_output_is_cut_and_says_so() -> None:
    text = tour.shown("a\n\nb  \nc\nd\n", 2)
    assert text == "    a\n    b\n    ... (2 more lines)"

"""Commands in README.md and the pages: there are such commands, and they have such options."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hale.cli.app import COMMANDS, load_command
from hale.cli.groups import COMMAND_GROUPS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def commands(text: str) -> list[str]:
    """The lines of code that call hale, without what is said of them."""
    found = re.findall(r"^ {4}(?:\$ )?hale (\w.*)$", text, re.M)
    return [re.split(r"  +|\s+#", line)[0] for line in found]


def unknown(line: str) -> str | None:
    """The command, or the first of its options, that is not there."""
    name, *rest = line.split()
    if name not in COMMANDS:
        return None if any(name in names for names in COMMAND_GROUPS.values()) else name
    command = load_command(name)
    if name == "bench":
        command = command.commands[rest[0]]
    there = {flag for p in command.params for flag in (*p.opts, *p.secondary_opts)} | {"--help"}
    return next((w for w in rest if re.match(r"--?[a-z]", w) and w not in there), None)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_tells_to_type_can_be_typed(page: Path) -> None:
    lines = commands(page.read_text(encoding="utf-8"))
    assert [(line, what) for line in lines if (what := unknown(line))] == []


def test_what_cannot_be_typed_is_found() -> None:
    text = (
        "    hale train x --budget 5m      # so long\n    $ hale train x --sorrow 3\n    hale fly"
    )
    assert [unknown(line) for line in commands(text)] == [None, "--sorrow", "fly"]

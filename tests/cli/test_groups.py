"""Help in groups: every command and every option under one heading, the rare ones last."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from hale.cli.app import COMMANDS, load_command
from hale.cli.groups import COMMAND_GROUPS, OPTION_GROUPS, OTHERS, grouped
from tests.cli.invoke import hale


def headings(text: str) -> list[str]:
    """The headings of a help text, in its order."""
    return re.findall(r"^([A-Z][\w' ]*):$", text, re.M)


def test_every_command_stands_under_a_heading() -> None:
    alone = grouped(COMMANDS, COMMAND_GROUPS).get(OTHERS, [])
    assert not alone, f"put {alone} under a heading of COMMAND_GROUPS in src/hale/cli/groups.py"


@pytest.mark.parametrize("command", ["train", "tune", "update"])
def test_every_option_stands_under_a_heading(command: str) -> None:
    options = [p.name for p in load_command(command).params if p.param_type_name == "option"]
    alone = grouped(options, OPTION_GROUPS).get(OTHERS, [])
    assert not alone, (
        f"put {alone} of hale {command} under a heading of OPTION_GROUPS in src/hale/cli/groups.py"
    )


@pytest.mark.parametrize("groups", [COMMAND_GROUPS, OPTION_GROUPS])
def test_nothing_stands_under_two_headings(groups: dict[str, tuple[str, ...]]) -> None:
    times = Counter(name for names in groups.values() for name in names)
    assert max(times.values()) == 1, times.most_common(1)


def test_names_are_grouped_in_the_order_of_the_groups() -> None:
    groups = {"First": ("b", "a"), "None of them": ("x",), "Second": ("c",)}
    assert grouped(["c", "new", "a", "b"], groups) == {
        "First": ["b", "a"],
        "Second": ["c"],
        OTHERS: ["new"],
    }
    assert OTHERS not in grouped(["a"], groups)


def test_the_help_of_train_has_each_option_under_its_heading() -> None:
    shown = hale("train", "--help").stdout
    assert headings(shown) == [
        "Arguments",
        *(heading for heading in OPTION_GROUPS if heading != "New facts against old ones"),
        "Words",
    ]
    flags = re.findall(r"^  (?:-\w, )?(--[\w-]+)", shown, re.M)
    options = [
        p for p in load_command("train").params if p.param_type_name == "option" and not p.hidden
    ]
    assert len(flags) == len(set(flags)) == len(options) + 1  # and --help
    used = shown.partition("Most used:")[2].partition("The graph's files:")[0]
    assert "--budget" in used
    assert "--precision" in shown.partition("Seldom needed:")[2]
    assert "\n    hale train facts.tsv --budget 5m --out runs/mine\n" in shown


def test_the_help_of_hale_has_commands_under_headings() -> None:
    shown = hale("--help").stdout
    assert [one for one in headings(shown) if one != "Options"] == [*COMMAND_GROUPS]
    ask = shown.partition("Ask it:")[2].partition("See how good it is:")[0]
    assert re.findall(r"^  (\w+) ", ask, re.M) == [
        n for n in COMMAND_GROUPS["Ask it"] if n in COMMANDS
    ]
    assert "relations of both." in " ".join(ask.split())  # lines are told whole

"""Drawn commands: what the generator draws, and what it calls a fault."""

from __future__ import annotations

import importlib
import random
import sys
from pathlib import Path

import pytest

from hale.cli.app import COMMANDS

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts/torture"))
sys.path.insert(0, str(ROOT / "scripts/fuzz"))
declared, drawing, forks, calls = (
    importlib.import_module(name) for name in ("declared", "drawing", "forks", "commands")
)
BEFORE = {"run": None, "run/model": b"weights", "facts.tsv": b"a\tb\tc\n"}


def test_all_commands_are_known_with_what_they_declare() -> None:
    found = {command.name: command for command in declared.commands()}
    assert {command.path[0] for command in found.values()} == set(COMMANDS)
    assert "bench kernel" in found
    options = {one.name: one for one in found["predict"].parameters}
    assert (options["run"].flags, options["run"].required) == ((), True)
    assert options["of_type"].several
    assert (options["threads"].kind, options["threads"].least) == (int, 1)
    assert {"mark", "drop"} <= set(options["known"].words)


def test_a_call_is_a_function_of_its_number_and_all_options_are_drawn() -> None:
    (train,) = (one for one in declared.commands() if one.name == "train")
    drawn = [drawing.draw_call(random.Random(i), train, ["run", "graph"]) for i in range(3000)]
    assert drawn[7] == drawing.draw_call(random.Random(7), train, ["run", "graph"])
    given = {part.partition("=")[0] for call in drawn for part in call}
    never = {"--version"}
    lacking = [one.name for one in train.parameters if one.flags and not given & {*one.flags}]
    assert not set(lacking) - never


@pytest.mark.parametrize(
    ("status", "printed", "changed", "left", "found"),
    [
        (0, "done", {}, 0, []),
        (2, "error: no such run", {}, 0, []),
        (130, "interrupted", {"run/model": b"others"}, 0, []),
        (130, "error: a\ninterrupted", {}, 0, []),
        (130, "error: a\nerror: b\ninterrupted", {}, 0, ["2 messages at status 130"]),
        (1, "", {}, 0, ["status 1"]),
        (-9, "", {}, 0, ["status -9"]),
        (0, "Traceback (most recent call last)", {}, 0, ["a traceback"]),
        (2, "", {}, 0, ["0 messages at status 2"]),
        (2, "error: a\nerror: b", {}, 0, ["2 messages at status 2"]),
        (0, "error: a", {}, 0, ["1 messages at status 0"]),
        (2, "Error: a", {"run/model": b"others"}, 0, ["run/model has changed"]),
        (2, "error: a", {"new/file": b""}, 0, ["new/file has come"]),
        (2, "error: a", {".new.lock": b""}, 0, []),
        (0, "", {".a.host-1-2.new": b""}, 0, [".a.host-1-2.new left"]),
        (0, "", {}, 2, ["2 processes left behind"]),
    ],
)
def test_what_a_call_may_not_do(
    status: int, printed: str, changed: dict[str, bytes], left: int, found: list[str]
) -> None:
    ended = forks.Ended(status, printed, 0.1)
    assert calls.faults("train", ended, BEFORE, BEFORE | changed, left) == found
    gone = {name: held for name, held in BEFORE.items() if name != "facts.tsv"}
    if status == 2 and not changed and found == []:
        assert calls.faults("train", ended, BEFORE, gone, left) == ["facts.tsv has changed"]


class Ended:
    """Calls that all end alike, and what was called."""

    def __init__(self, found: list[str]) -> None:
        self.found, self.called = found, list[list[str]]()

    def call(self, argv: list[str]) -> tuple[object, list[str]]:
        self.called.append(argv)
        return forks.Ended(0, "", 0.1), self.found


def test_what_broke_a_rule_is_made_again_word_by_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """What its number draws may be another call by now."""
    one = {"number": 4, "argv": ["find", "x" * 5000], "faults": ["status 70"]}
    kept = {"commands": {"0": {"calls": 9, "ends": {}, "broken": [one]}}}
    monkeypatch.setattr(calls, "read_results", lambda: kept)
    monkeypatch.setattr(
        calls, "write_result", lambda kind, seed, told: kept[kind].update({seed: told})
    )
    still, mended = Ended(["a traceback"]), Ended([])
    assert calls.several(still, 9, 60.0, 0, fresh=False)
    assert (still.called, kept["commands"]["0"]["broken"]) == ([one["argv"]], [one])
    assert not calls.several(mended, 9, 60.0, 0, fresh=False)
    assert mended.called == [one["argv"]]
    assert (kept["commands"]["0"]["broken"], kept["commands"]["0"]["mended"]) == ([], [one])

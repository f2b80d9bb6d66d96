"""An update asked for on the page: a process, a new folder, quality before and after."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from hale.errors import InputError
from hale.runs.run import Run, load_run
from hale.serve.upgrade import State, Upgrade


def ended(upgrade: Upgrade) -> State:
    late = time.monotonic() + 120
    while upgrade.state.stage == "running" and time.monotonic() < late:
        time.sleep(0.05)
    return upgrade.state


def test_accepted_facts_are_in_the_new_run(run: Run, folder: Path) -> None:
    upgrade = Upgrade(folder)
    upgrade.begin([("p8", "next", "p9")], seconds=1)
    assert upgrade.state.stage == "running"
    assert 0 <= upgrade.state.share < 1
    with pytest.raises(InputError, match="running already"):
        upgrade.begin([("p8", "next", "p9")], seconds=1)
    state = ended(upgrade)
    assert state.stage == "done", state.error
    assert state.result["added"] == 1
    assert state.result["quality"]["test"].keys() == {"before", "after"}
    assert state.out == folder.absolute().parent / "odd-updated"
    new = load_run(state.out)
    assert len(new.graph.train) == len(run.graph.train) + 1
    assert (folder / "accepted.tsv").read_text() == "head\trelation\ttail\np8\tnext\tp9\n"
    # a second one goes beside the first
    upgrade.begin([("p8", "next", "p9")], seconds=1)
    assert ended(upgrade).out == folder.absolute().parent / "odd-updated-2"


def test_an_update_in_which_nothing_is_new(folder: Path) -> None:
    upgrade = Upgrade(folder)
    upgrade.begin([("p6", "next", "p7")], seconds=1)
    state = ended(upgrade)
    assert state.stage == "done", state.error
    assert state.result["added"] == 0
    assert "quality" not in state.result  # which the page knows it by


def test_an_update_has_a_session_of_its_own_and_no_modules_of_the_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C goes to all of a session; a hale.py in the current folder is not this hale."""
    Path("hale.py").write_text("raise SystemExit(7)")
    began: list[bool] = []
    run = subprocess.run

    def seen(*command: Any, **how: Any) -> Any:
        began.append(how["start_new_session"])
        return run(*command, **how)

    monkeypatch.setattr(subprocess, "run", seen)
    upgrade = Upgrade(folder)
    upgrade.begin([("p6", "next", "p7")], seconds=1)
    state = ended(upgrade)
    assert state.stage == "done", state.error
    assert began == [True]


def test_what_hale_refuses_is_told_in_its_words(folder: Path) -> None:
    upgrade = Upgrade(folder)
    (folder / "model.safetensors").unlink()
    upgrade.begin([("p8", "next", "p9")], seconds=1)
    state = ended(upgrade)
    assert state.stage == "failed"
    assert "model.safetensors is missing" in state.error


@pytest.mark.parametrize(
    ("facts", "seconds", "text"),
    [([], 30, "No fact is accepted"), ([("p8", "next", "p9")], 0, "1 to 3,600 seconds, got 0")],
)
def test_nothing_begins_without_cause(
    folder: Path, facts: list[tuple[str, str, str]], seconds: int, text: str
) -> None:
    upgrade = Upgrade(folder)
    with pytest.raises(InputError, match=text):
        upgrade.begin(facts, seconds)
    assert upgrade.state.stage == "idle"

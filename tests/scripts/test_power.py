"""What a disk may hold after a power cut, worked out by hand from short traces."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts/torture"))
power: Any = importlib.import_module("power")

Files = dict[str, str]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "base").mkdir()
    (tmp_path / "base/x").write_text("old")
    (tmp_path / "store").mkdir()
    (tmp_path / "store/1").write_text("new")
    return tmp_path / "store"


def states(store: Path, *calls: str) -> list[Files]:
    """The folders that cuts leave, each as its files; the last is what is sure at the end."""
    here, left = store.parent / "here", []
    lines = ["\t".join(part.replace("@", f"{here}") for part in call.split()) for call in calls]
    text = "".join(line + "\t" * (2 - line.count("\t")) + "\n" for line in lines)
    (store / "trace").write_text(text)
    for state in power.after_cuts(store.parent / "base", store, here):
        state.write(here)
        files = [path for path in here.rglob("*") if path.is_file()]
        left.append({str(path.relative_to(here)): path.read_text() for path in files})
    return left


def kept(found: list[Files]) -> set[str]:
    return {state.get("x", "gone") for state in found}


def test_written_aside_synced_and_renamed(store: Path) -> None:
    calls = ("empty @/.x", "write @/.x", "sync @/.x 1", "rename @/.x @/x", "syncdir @")
    found = states(store, *calls)
    assert kept(found) == {"old", "new"}
    assert found[-1] == {"x": "new"}
    assert {"x": "old", ".x": ""} in found, "a name reached the disk before the bytes"


def test_bytes_that_were_not_synced_may_be_lost_though_the_name_is_there(store: Path) -> None:
    found = states(store, "empty @/.x", "write @/.x", "rename @/.x @/x", "sync @/x 1", "syncdir @")
    assert "" in kept(found)


def test_a_name_that_was_not_synced_is_not_sure(store: Path) -> None:
    found = states(store, "empty @/.x", "write @/.x", "sync @/.x 1", "rename @/.x @/x")
    assert kept(found) == {"old", "new"}
    assert found[-1] == {"x": "old"}


def test_written_in_place_is_neither_the_old_nor_the_new(store: Path) -> None:
    assert kept(states(store, "empty @/x", "write @/x", "sync @/x 1")) == {"", "new"}


def test_removed(store: Path) -> None:
    found = states(store, "unlink @/x", "syncdir @")
    assert found == [{"x": "old"}, {}, {}] or found == [{}, {"x": "old"}, {}]


@pytest.mark.parametrize("swap", [True, False])
def test_a_folder_that_takes_anothers_place(store: Path, swap: bool) -> None:
    """By two renames there is a moment without it; when both change places there is none."""
    (store.parent / "base/d").mkdir()
    (store.parent / "base/d/x").write_text("old")
    filled = ("mkdir @/.d", "empty @/.d/x", "sync @/.d/x 1", "syncdir @/.d")
    renames = ("swap @/.d @/d",) if swap else ("rename @/d @/.old", "rename @/.d @/d")
    found = states(store, *filled, *renames, "syncdir @")
    assert {state.get("d/x") for state in found} == {"old", "new"} | (set() if swap else {None})
    assert found[-1]["d/x"] == "new"


def test_a_new_folder_is_there_once_its_parent_is_synced(store: Path) -> None:
    made = ("mkdir @/a", "mkdir @/a/b", "empty @/a/b/y", "sync @/a/b/y 1", "syncdir @/a/b")
    assert "a/b/y" not in states(store, *made, "syncdir @/a")[-1]
    assert states(store, *made, "syncdir @/a", "syncdir @")[-1]["a/b/y"] == "new"

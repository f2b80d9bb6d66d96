"""Whole files: the old one or the new one, whatever comes between."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hale.data import files
from hale.data.files import finish_replacing, whole_folder, write_json, write_text, write_whole
from hale.errors import WriteError


def test_content_is_on_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "x.json"
    done: list[tuple[str, str]] = []
    sync, replace = os.fsync, Path.replace

    def name_of(number: int) -> str:
        return Path(f"/proc/self/fd/{number}").resolve().name

    def spy_sync(number: int) -> None:
        done.append(("sync", name_of(number)))
        sync(number)

    def spy_replace(self: Path, to: Path) -> Path:
        done.append(("rename", self.name))
        return replace(self, to)

    monkeypatch.setattr(os, "fsync", spy_sync)
    monkeypatch.setattr(Path, "replace", spy_replace)
    write_json(target, {"a": "ü"})
    waiting = f".x.json.{os.getpid()}.new"
    assert done == [("sync", waiting), ("rename", waiting), ("sync", tmp_path.name)]
    assert target.read_text(encoding="utf-8") == '{\n  "a": "ü"\n}\n'
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_the_old_file_stays_if_writing_fails(tmp_path: Path) -> None:
    target = tmp_path / "x"
    write_text(target, "old")

    def fail(path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(WriteError, match="x cannot be written: No space left on device"):
        write_whole(target, fail)
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    with pytest.raises(WriteError, match="No such file or directory"):
        write_text(tmp_path / "nowhere" / "x", "")


def test_what_dead_writers_left_is_swept_and_what_living_ones_write_is_not(tmp_path: Path) -> None:
    dead = next(number for number in range(400_000, 4_000_000) if not files._is_alive(number))
    left = tmp_path / f".x.{dead}.new"
    living = tmp_path / f".x.{os.getppid()}.new"
    other = tmp_path / f".y.{dead}.new"
    for path in (left, living, other):
        path.write_text("part")
    write_text(tmp_path / "x", "whole")
    assert not left.exists()
    assert living.exists()
    assert other.exists()


def test_a_folder_appears_whole(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    with whole_folder(target, replace=False) as waiting:
        (waiting / "a").write_text("1")
        assert not target.exists()
    assert (target / "a").read_text() == "1"

    def half() -> None:
        with whole_folder(target, replace=True) as waiting:
            (waiting / "a").write_text("2")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert (target / "a").read_text() == "1"
    with whole_folder(target, replace=True) as waiting:
        (waiting / "b").write_text("2")
    assert [path.name for path in target.iterdir()] == ["b"]
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("new_is_there", [True, False])
def test_a_replacement_killed_between_its_renames_is_completed(
    tmp_path: Path, new_is_there: bool
) -> None:
    target = tmp_path / "folder"
    (tmp_path / ".folder.old").mkdir()
    (tmp_path / ".folder.old" / "a").write_text("old")
    if new_is_there:
        (tmp_path / ".folder.new").mkdir()
        (tmp_path / ".folder.new" / "a").write_text("new")
    finish_replacing(target)
    assert (target / "a").read_text() == ("new" if new_is_there else "old")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]

"""Whole files: the old one or the new one, whatever comes between."""

from __future__ import annotations

import errno
import os
import socket
import stat
import subprocess
import sys
import threading
from contextlib import nullcontext, suppress
from pathlib import Path

import polars as pl
import pytest

from hale.data import files
from hale.data.files import (
    append_line,
    aside,
    check_writable,
    finish_replacing,
    whole_folder,
    write_json,
    write_text,
    write_whole,
    writing_to,
)
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
    waiting = aside(target).name
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
    host = socket.gethostname()
    gone = tmp_path / f".x.{host}-{dead_process()}-7.new"
    living = tmp_path / f".x.{host}-{os.getppid()}-7.new"
    elsewhere = tmp_path / f".x.another-host-{dead_process()}-7.new"
    other = tmp_path / f".y.{host}-{dead_process()}-7.new"
    for path in (gone, living, elsewhere, other):
        path.write_text("part")
    write_text(tmp_path / "x", "whole")
    assert not gone.exists()
    assert all(path.exists() for path in (living, elsewhere, other))


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


def dead_process() -> int:
    """The number of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


@pytest.mark.parametrize("new_is_there", [True, False])
@pytest.mark.parametrize("earlier", [True, False], ids=["names of an earlier version", "today's"])
def test_a_replacement_killed_between_its_renames_is_completed(
    tmp_path: Path, new_is_there: bool, earlier: bool
) -> None:
    target = tmp_path / "folder"
    writer = "" if earlier else f"{socket.gethostname()}-{dead_process()}-7."
    (tmp_path / f".folder.{writer}old").mkdir()
    (tmp_path / f".folder.{writer}old" / "a").write_text("old")
    if new_is_there:
        (tmp_path / f".folder.{writer}new").mkdir()
        (tmp_path / f".folder.{writer}new" / "a").write_text("new")
    finish_replacing(target)
    assert (target / "a").read_text() == ("new" if new_is_there else "old")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_reader_waits_for_a_writer_between_its_renames(tmp_path: Path) -> None:
    """It must not finish what the writer is about to finish itself."""
    target = tmp_path / "folder"
    writer = f"{socket.gethostname()}-{os.getppid()}-7"  # which lives
    old, new = (tmp_path / f".folder.{writer}.{what}" for what in ("old", "new"))
    for path in (old, new):
        path.mkdir()
        (path / "a").write_text(path.suffix)
    timer = threading.Timer(0.1, lambda: new.rename(target))
    timer.start()
    finish_replacing(target)
    timer.join()
    assert (target / "a").read_text() == ".new"
    assert old.exists(), "its writer removes it"


def test_two_writers_of_one_folder_do_not_meet(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    met = threading.Barrier(2)

    def write(who: str) -> None:
        with suppress(WriteError), whole_folder(target, replace=False) as waiting:
            (waiting / "one").write_text(who)
            met.wait()
            (waiting / "two").write_text(who)

    writers = [threading.Thread(target=write, args=(who,)) for who in "AB"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert (target / "one").read_text() == (target / "two").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_an_interrupt_between_the_renames_brings_the_old_folder_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "folder"
    target.mkdir()
    (target / "a").write_text("old")
    rename = Path.rename

    def interrupted(self: Path, to: Path) -> Path:
        if self.suffix == ".new":
            raise KeyboardInterrupt
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", interrupted)
    monkeypatch.setattr(files, "_exchange", lambda *_: False)  # as on a system without

    def replace() -> None:
        with whole_folder(target, replace=True) as waiting:
            (waiting / "a").write_text("new")

    with pytest.raises(KeyboardInterrupt):
        replace()
    assert (target / "a").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_writer_of_another_host_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container that is started again has another name."""
    monkeypatch.setattr("hale.data.files.REPLACING_SECONDS", 0.05)
    (tmp_path / ".folder.another-host-1-7.old").mkdir()
    (tmp_path / ".folder.another-host-1-7.new").mkdir()
    (tmp_path / ".folder.another-host-1-7.new" / "a").write_text("new")
    finish_replacing(tmp_path / "folder")
    assert (tmp_path / "folder" / "a").read_text() == "new"


@pytest.mark.parametrize("at_once", [True, False])
def test_a_folder_is_replaced_at_once_where_the_system_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    """Then there is no moment without it: the target itself is never renamed away."""
    target, moved = tmp_path / "folder", list[str]()
    (tmp_path / "one").mkdir()
    (tmp_path / "two").touch()
    if not files._exchange(tmp_path / "one", tmp_path / "two"):
        pytest.skip("names cannot change places here")
    assert (tmp_path / "two").is_dir()
    rename = Path.rename

    def told(self: Path, to: Path) -> Path:
        moved.append(self.name)
        return rename(self, to)

    if not at_once:
        monkeypatch.setattr(files, "_exchange", lambda *_: False)
    monkeypatch.setattr(Path, "rename", told)
    for text in ("old", "new"):
        with whole_folder(target, replace=text == "new") as waiting:
            (waiting / "a").write_text(text)
    assert ("folder" in moved) == (not at_once)
    assert (target / "a").read_text() == "new"
    assert {path.name for path in tmp_path.iterdir()} == {"folder", "one", "two"}


def test_folders_above_are_brought_to_disk_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    monkeypatch.setattr(files, "_to_disk", lambda path: synced.append(path.name))
    files.make_folder(tmp_path / "a" / "b" / "c")
    assert sorted(synced) == sorted([tmp_path.name, "a", "b"])
    synced.clear()
    files.make_folder(tmp_path / "a" / "b")
    assert synced == []


def test_a_line_is_on_disk_with_its_name_when_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[Path] = []
    real = os.fsync

    def told(number: int) -> None:
        done.append(Path(f"/proc/self/fd/{number}").readlink())
        real(number)

    monkeypatch.setattr(os, "fsync", told)
    append_line(tmp_path / "log", b"one")
    assert done == [tmp_path / "log", tmp_path]
    append_line(tmp_path / "log", b"two")
    assert done[2:] == [tmp_path / "log"]
    assert (tmp_path / "log").read_bytes() == b"one\ntwo\n"


def test_a_line_that_finds_no_room_is_an_error_and_the_next_stands_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    append_line(tmp_path / "log", b"one")
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda number, data: real(number, data[:2]))
        with pytest.raises(WriteError, match="No space left"):
            append_line(tmp_path / "log", b"two")
    append_line(tmp_path / "log", b"three")
    assert (tmp_path / "log").read_bytes() == b"one\ntw\nthree\n"


@pytest.mark.parametrize("path", ["/", "//"])
def test_a_path_without_a_name_is_refused(path: str) -> None:
    with pytest.raises(WriteError, match="no name of its own"):
        check_writable(Path(path))
    with pytest.raises(WriteError, match="no name of its own"):
        write_text(Path(path), "text")


@pytest.mark.parametrize("given", [".", "..", "../../run", "../.."])
def test_the_folder_one_stands_in_is_not_replaced(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process would stay in the folder that went, and not find the one that came."""
    (tmp_path / "run/inner").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "run/inner")
    with pytest.raises(WriteError, match="the folder that you are in, or holds it"):
        check_writable(Path(given))
    check_writable(Path("../beside"))
    check_writable(Path("file"))
    assert [path.name for path in tmp_path.rglob("*")] == ["run", "inner"]


def test_what_polars_says_of_the_disk_is_told_as_what_python_says(tmp_path: Path) -> None:
    refused = "parquet: File out of specification: IO error: Input/output error (os error 5)"
    with (
        pytest.raises(WriteError, match=r"t\.parquet cannot be written: Input/output error \(os"),
        writing_to(tmp_path / "t.parquet"),
    ):
        raise pl.exceptions.ComputeError(refused)
    with pytest.raises(pl.exceptions.ComputeError), writing_to(tmp_path / "t.parquet"):
        raise pl.exceptions.ComputeError("cannot compare strings with numbers")


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    check_writable(tmp_path / "link.txt")
    write_text(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for write in (check_writable, lambda path: write_text(path, "text")):
        with pytest.raises(WriteError, match="it is a pipe or a device, not a file"):
            write(tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize(("fault", "told"), [(errno.EIO, True), (errno.EINVAL, False)])
def test_an_error_of_the_disk_is_told_of_a_folder_too(
    fault: int, told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system that cannot bring folders to disk is let off; a disk that fails is not."""
    real = os.fsync

    def fsync(number: int) -> None:
        if stat.S_ISDIR(os.fstat(number).st_mode):
            raise OSError(fault, os.strerror(fault))
        real(number)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(WriteError, match="Input/output error") if told else nullcontext():
        write_text(tmp_path / "file", "text")

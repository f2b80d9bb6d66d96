"""A power cut: what a disk may hold at any moment of a command, made from a trace of its calls.

What is sure is only what was brought to disk. A file's bytes are, once it is synced; a name (of a
file that was made, renamed or removed) is, once the folder it stands in is. Names that are not may
have reached the disk all the same, in their order, up to any of them: so a name may stand there
whose bytes are lost. ``after_cuts`` yields each such state once.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

Names = dict[str, int | None]  # by path: the number of a file, None of a folder
Bytes = dict[int, Path | None]  # where what is on disk of a file lies; None: nothing is


@dataclass(frozen=True)
class Change:
    """One of names: ``make`` (of a file or folder), ``remove``, ``rename`` or ``swap``."""

    what: str
    name: str
    to: str = ""
    number: int | None = None  # of the file that is made

    @property
    def folder(self) -> str:
        """The folder whose sync makes it sure."""
        return str(Path(self.to or self.name).parent)


@dataclass(frozen=True)
class Left:
    """What a cut left after so many calls."""

    calls: int
    names: Names
    bytes: Bytes

    def write(self, folder: Path) -> None:
        """Make a folder of it."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, number in sorted(self.names.items()):
            path = folder / name
            if not path.parent.is_dir():
                continue  # the folder that it stood in never reached the disk
            if number is None:
                path.mkdir(exist_ok=True)
            elif (kept := self.bytes[number]) is None:
                path.touch()
            else:
                shutil.copyfile(kept, path)


def after_cuts(base: Path, store: Path, folder: Path) -> Iterator[Left]:
    """Each state that a cut may leave, once; the last is what is sure when all is done.

    ``base`` is what was there before, ``store`` what the shim wrote down of calls in ``folder``.
    """
    now, held = _held(base)  # names as the program sees them; bytes that are on disk
    sure, waiting = dict(now), list[Change]()
    numbers, seen = count(len(held)), set[object]()
    for calls, line in enumerate((store / "trace").read_text().splitlines(), start=1):
        what, one, two = line.split("\t")
        name = one.removeprefix(f"{folder}/") if one != str(folder) else "."
        if what == "sync":
            if (number := now.get(name)) is not None:
                held[number] = store / two
        elif what == "syncdir":
            waiting = _sync_folder(sure, waiting, name)
        elif (change := _change(what, name, two.removeprefix(f"{folder}/"), now, numbers)) is None:
            if what == "empty" and (number := now.get(name)) is not None:
                held[number] = None
        else:
            if change.number is not None:
                held[change.number] = None
            _apply(now, change)
            waiting.append(change)
        state = dict(sure)
        for reached in (None, *waiting):
            if reached is not None:
                _apply(state, reached)
            told = frozenset((n, i if i is None else held[i]) for n, i in state.items())
            if told not in seen:
                seen.add(told)
                yield Left(calls, dict(state), dict(held))
    yield Left(calls, sure, held)


def _held(base: Path) -> tuple[Names, Bytes]:
    names, held = Names(), Bytes()
    for path in sorted(base.rglob("*")):
        name = str(path.relative_to(base))
        names[name] = None
        if not path.is_dir():
            number = names[name] = len(held)
            held[number] = path
    return names, held


def _change(what: str, name: str, to: str, now: Names, numbers: Iterator[int]) -> Change | None:
    """What a call does to names; None if nothing."""
    if what in ("open", "empty"):
        return None if name in now else Change("make", name, number=next(numbers))
    if what == "mkdir":
        return Change("make", name)
    if what == "unlink":
        return Change("remove", name)
    assert what in ("rename", "swap", "write"), what
    return Change(what, name, to) if what != "write" else None


def _apply(names: Names, change: Change) -> None:
    if change.what == "make":
        names[change.name] = change.number
        return
    taken = _taken(names, change.name)
    if change.what == "remove" or not taken:
        return
    there = _taken(names, change.to)
    names |= {change.to + rest: number for rest, number in taken.items()}
    if change.what == "swap":
        names |= {change.name + rest: number for rest, number in there.items()}


def _taken(names: Names, folder: str) -> Names:
    """A name and what is below it, taken out; by what follows the name."""
    found = [name for name in names if _below(name, folder)]
    return {name[len(folder) :]: names.pop(name) for name in found}


def _below(name: str, folder: str) -> bool:
    return name == folder or name.startswith(folder + "/")


def _sync_folder(sure: Names, waiting: list[Change], folder: str) -> list[Change]:
    """Names of a folder become sure -> the changes that are not yet; they follow what they are in.

    A folder that was renamed takes along what is waiting in it.
    """
    rest: list[Change] = []
    for change in waiting:
        if change.folder != folder:
            rest.append(change)
            continue
        _apply(sure, change)
        if change.what in ("rename", "swap"):
            rest = [_moved(one, change) for one in rest]
    return rest


def _moved(one: Change, by: Change) -> Change:
    def path(name: str) -> str:
        return by.to + name[len(by.name) :] if name and _below(name, by.name) else name

    return replace(one, name=path(one.name), to=path(one.to))

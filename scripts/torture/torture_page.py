"""What torture found, as a page."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Key = tuple[object, ...]

HEAD = """# Broken off at any moment

Written by `python scripts/torture/torture.py page` from `torture.jsonl` (`make torture`; further
breaks are added to the log, with the commit of the code). Of a break that was made again the newest
counts.

- kill -9: the command is killed at a moment drawn at random.
- disk error, no room, read-only: the n-th call that changes a file fails so. Half written: the disk
  becomes full in the middle of the n-th call, where it is a write. Each n fails in one of these
  ways, in turn, where a row has fewer than the command has calls.
- power cut: the disk holds what it may hold if the power goes after the n-th call. Only bytes and
  names that were brought to disk are sure; later ones may be lost, names may be there without their
  bytes. At the end: what is sure once the command has ended is its result.

After each of these what was there loads and evaluates, what must not change has not, and the same
command again ends with the same weights or files as one that was never broken. What `tune` and
`reproduce` find depends on the clock: they end with a recipe and with all cells, and trials and
cells that were finished before the break are there unchanged.

Not broken off here are checkpoints that ranks share ([kills.md](kills.md) has their kills), the map
and the decisions of a review (tests of their own), and the tables that `predict` and `align` write
by the same writer as `discover --out`. Rows without a commit are older than those that tell one.

Some commands end well all the same: before the moment of the kill, or because the call that fails
only clears away, or keeps beside a run what was answered too (which is told).

| command | break | times | ended well all the same | lost |
|---|---|---|---|---|
"""

MENDED = """
## Found, mended, and repeated

Breaks by which something was lost, or that did not end in one of hale's own errors, and that were
made again since and lost nothing:

| command | times | what it was, first |
|---|---|---|
"""

BYTES = """
## Wrong bytes

One byte of a file of a small run is changed by one bit; then the run is loaded, evaluated and
asked, and its checkpoint, calibration, path rules, review and map are read.

| file | bytes changed | error | warning | no other answer | not noticed |
|---|---|---|---|---|---|
"""

LONGEST = 160  # letters of what was lost
KILL, BYTE = "kill -9", "a wrong byte"
TIMED = ("tune", "reproduce")
CUT, END = "power cut", "power cut at the end"


def page(log: Path) -> str:
    """The tables of a log."""
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    newest, mended = newest_of(rows)
    found: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in newest:
        found[row["task"], row["break"]].append(row)
    text, times, lost = HEAD, 0, 0
    for (task, kind), some in sorted(found.items()):
        if kind == BYTE:
            continue
        gone = sum(row["lost"] is not None for row in some)
        early = sum(row.get("status") == 0 for row in some)
        text += f"| {task} | {kind} | {len(some)} | {early} | {gone} |\n"
        times, lost = times + len(some), lost + gone
    text += f"\n{times:,} breaks, {lost:,} lost. {_commits(newest)}\n"
    text += _unwatched(newest)
    if lacking := [*unfinished(newest, rows)]:
        text += "\nNot complete:\n\n" + "".join(f"- {one}\n" for one in lacking)
    if mended:
        text += MENDED + _mended(mended)
    flips = {task: some for (task, kind), some in sorted(found.items()) if kind == BYTE}
    if flips:
        text += BYTES + "".join(_file(task, some) for task, some in flips.items())
        changed = sum(row["times"] for some in flips.values() for row in some)
        missed = sum(row["losses"] for some in flips.values() for row in some)
        text += f"\n{changed:,} bytes changed, {missed:,} not noticed.\n"
    return text


def newest_of(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """The newest row of each break, and older ones that were lost where the newest is not."""
    kept: dict[Key, Row] = {}
    lost: dict[Key, list[Row]] = defaultdict(list)
    for key, row in _keyed(rows):
        kept.pop(key, None)  # in the order of time
        kept[key] = row
        if row["lost"] is not None:
            lost[key].append(row)
    mended = [row for key, some in lost.items() if kept[key]["lost"] is None for row in some]
    return [*kept.values()], mended


def _keyed(rows: Iterable[Row]) -> Iterable[tuple[Key, Row]]:
    """Rows with what makes two of them the same break.

    So many calls before a cut may leave several states. Older rows do not say which theirs is: the
    how-manieth it is of its pass.
    """
    last: dict[str, int] = {}
    states: dict[str, Counter[int]] = defaultdict(Counter)
    for row in rows:
        kind, task, number = row["break"], row["task"], int(row.get("number", 0))
        if kind in (BYTE, END):  # how many calls there are is no part of what was done
            yield (kind, task), row
        elif kind == CUT and "state" not in row:
            if number < last.get(task, 0):
                states[task].clear()
            last[task] = number
            states[task][number] += 1
            yield (kind, task, number, states[task][number]), row
        else:
            yield (kind, task, number, row.get("state")), row
        if kind == END:
            states[task].clear()


def unfinished(newest: Iterable[Row], rows: Sequence[Row]) -> Iterable[str]:
    """What was begun and not gone through to its end, in words."""
    last_cut, last_end = (
        {row["task"]: place for place, row in enumerate(rows) if row["break"] == kind}
        for kind in (CUT, END)
    )
    some: dict[str, list[Row]] = defaultdict(list)
    for row in newest:
        some[row["task"]].append(row)
    for task, made in sorted(some.items()):
        if all(row["break"] == BYTE for row in made):
            yield from _bytes_left(task, made)
            continue
        faults = [row for row in made if row["break"] not in (KILL, CUT, END)]
        if not faults:
            yield f"{task}: no call failed yet"
        else:
            calls = faults[-1]["of"]
            tried = {row["number"] for row in faults if row["number"] <= calls}
            if len(tried) < calls:
                yield f"{task}: {len(tried):,} of {calls:,} calls failed"
        cuts = [row for row in made if row["break"] == CUT]
        if not cuts:
            yield f"{task}: no power cut yet"
        elif last_cut[task] > last_end.get(task, -1):
            yield f"{task}: the pass of power cuts was broken off"
        elif len(cuts) < (states := cuts[-1].get("of", 0)):
            yield f"{task}: {len(cuts):,} of {states:,} states of power cuts"


def _bytes_left(file: str, rows: Iterable[Row]) -> Iterable[str]:
    for row in rows:
        if row["times"] < row.get("of", 0):
            yield f"{file}: {row['times']:,} of {row['of']:,} bytes changed"


def _commits(newest: Iterable[Row]) -> str:
    """How many rows were made with which code."""
    found = Counter(row.get("commit") for row in newest)
    told = [f"{commit or 'not told'} ({count:,})" for commit, count in found.items()]
    return f"Rows by commit: {', '.join(told)}."


def _unwatched(newest: Iterable[Row]) -> str:
    """What the first rows of what depends on the clock do not say."""
    found = [row for row in newest if row["task"] in TIMED and "commit" not in row]
    if not found:
        return ""
    return (
        f"\n{len(found):,} of `tune` and `reproduce` were made before what was finished was\n"
        "compared: they ended with a recipe, or with all cells.\n"
    )


def _mended(rows: Iterable[Row]) -> str:
    by_task: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_task[row["task"]].append(row)
    return "".join(
        f"| {task} | {len(some)} | {_first_line(some[0]['lost'])} |\n"
        for task, some in sorted(by_task.items())
    )


def _first_line(lost: str) -> str:
    """What a table says of it; of a traceback its last line too."""
    lines = lost.strip().splitlines()
    text = f"{lines[0]} {lines[-1]}" if lines[0].endswith(":") and lines[1:] else lines[0]
    return (text if len(text) <= LONGEST else f"{text[:LONGEST]}...").replace("|", "\\|")


def _file(name: str, rows: list[Row]) -> str:
    counts = [
        sum(row.get(key, 0) for row in rows)
        for key in ("times", "error", "warning", "same", "losses")
    ]
    return f"| {name} | {' | '.join(f'{count:,}' for count in counts)} |\n"

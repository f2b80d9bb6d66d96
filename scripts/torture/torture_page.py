"""What torture found, as a page."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

HEAD = """# Broken off at any moment

Written by `python scripts/torture/torture.py page` from `torture.jsonl` (`make torture`; further
breaks are added to the log).

- kill -9: the command is killed at a moment drawn at random.
- disk error, no room, read-only: the n-th call that changes a file fails so. Half written: the disk
  becomes full in the middle of the n-th call, where it is a write.
- power cut: the disk holds what it may hold if the power goes after the n-th call. Only bytes and
  names that were brought to disk are sure; later ones may be lost, names may be there without their
  bytes. At the end: what is sure once the command has ended is its result.

After each of these what was there loads and evaluates, what must not change has not, and the same
command again ends with the same weights or files as one that was never broken.

Some commands end well all the same: before the moment of the kill, or because the call that fails
only clears away, or keeps beside a run what was answered too (which is told).

| command | break | times | ended well all the same | lost |
|---|---|---|---|---|
"""

BYTES = """
One byte of a file of a small run is changed by one bit; then the run is loaded, evaluated and
asked, and its checkpoint, calibration, review and map are read.

| file | bytes changed | error | warning | no other answer | not noticed |
|---|---|---|---|---|---|
"""


def page(log: Path) -> str:
    """The tables of a log."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for line in log.read_text().splitlines():
        row = json.loads(line)
        found[row["task"], row["break"]].append(row)
    flips = {task: rows for (task, kind), rows in found.items() if kind == "a wrong byte"}
    text, times, lost = HEAD, 0, 0
    for (task, kind), rows in sorted(found.items()):
        if kind == "a wrong byte":
            continue
        gone = sum(row["lost"] is not None for row in rows)
        early = sum(row.get("status") == 0 for row in rows)
        text += f"| {task} | {kind} | {len(rows)} | {early} | {gone} |\n"
        times, lost = times + len(rows), lost + gone
    text += f"\n{times:,} breaks, {lost:,} lost.\n"
    if flips:
        text += BYTES + "".join(_file(task, rows) for task, rows in sorted(flips.items()))
        changed = sum(row["times"] for rows in flips.values() for row in rows)
        missed = sum(row["losses"] for rows in flips.values() for row in rows)
        text += f"\n{changed:,} bytes changed, {missed:,} not noticed.\n"
    return text


def _file(name: str, rows: list[dict[str, Any]]) -> str:
    counts = [
        sum(row.get(key, 0) for row in rows)
        for key in ("times", "error", "warning", "same", "losses")
    ]
    return f"| {name} | {' | '.join(f'{count:,}' for count in counts)} |\n"

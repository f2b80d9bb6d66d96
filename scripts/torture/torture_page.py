"""What torture found, as a page."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

HEAD = """# Broken off at any moment

Written by `python scripts/torture/torture.py page` from `torture.jsonl`, a line a break (`make
torture`). Commands are killed (kill -9) at random moments, or the n-th call that changes a file
fails: no room, an error of the disk, a disk that has become read-only. After each break what was
there loads and evaluates, what must not change has not, and the same command again ends with the
same weights or files as one that was never broken.

| command | break | times | ended before it was reached | lost |
|---|---|---|---|---|
"""


def page(log: Path) -> str:
    """The table of a log."""
    found: dict[tuple[str, str], list[dict[str, object]]] = defaultdict(list)
    for line in log.read_text().splitlines():
        row = json.loads(line)
        found[row["task"], row["break"]].append(row)
    text, times, lost = HEAD, 0, 0
    for (task, kind), rows in sorted(found.items()):
        gone = sum(row["lost"] is not None for row in rows)
        early = sum(row.get("status") == 0 for row in rows)
        text += f"| {task} | {kind} | {len(rows)} | {early} | {gone} |\n"
        times, lost = times + len(rows), lost + gone
    return text + f"\n{times:,} breaks, {lost:,} lost.\n"

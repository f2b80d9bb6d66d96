"""What drawn commands and broken files came to: kept as JSON, and shown as a page."""

from __future__ import annotations

import fcntl
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

ALLOWED = ("0", "2", "130")  # ends of a call
RESULTS = Path(__file__).parents[2] / "docs/results"
HEAD = """# Drawn commands and broken files

Written by `make fuzz` from `fuzz.json`, which both programs add to. Counts grew with the code:
earlier calls and inputs met earlier states of it. `--fresh` begins anew.
"""
COMMANDS = """
## Commands

`python scripts/fuzz/commands.py`: a generator reads what the commands declare and draws calls: with
options in any number and order, values that fit, at an edge, of another kind, huge, negative, nan,
empty, in odd scripts, files and folders of all kinds, missing ones, and runs that are broken. A
call may end with 0, with 2 and one message, or with 130 after Ctrl-C, which all get that take
longer than 1.5 s; within 20 s it ends (with ranks 60 s); it prints no traceback, leaves no process
and no file half written, and where it is refused everything stays as it was, byte for byte. Its
memory is bounded to 3 GB beside what the imports take. It has no network; of ranks it asks for two
at most, and not for network namespaces.

Counted is how each call ended when it was first made; one that broke a rule is made again, word by
word, until it breaks none.

| command | calls | 0 | 2 | 130 | other |
|---|---|---|---|---|---|
"""
READERS = """
## Readers

`python scripts/fuzz/inputs.py`: bytes to everything that reads what others wrote. Some inputs are
led by which lines of hale they reach (atheris), the others are good files changed by chance. Each
is read or refused by an error of hale's own, within 5 s, in a process of at most 3 GB.

| reader | inputs | led | refused | longest, s | peak, MB | broken |
|---|---|---|---|---|---|---|
"""


def read_results(folder: Path = RESULTS) -> dict[str, Any]:
    """All that was counted so far."""
    kept = folder / "fuzz.json"
    return dict(json.loads(kept.read_text() or "{}")) if kept.exists() else {}


def write_result(kind: str, name: str, told: Any, folder: Path = RESULTS) -> None:
    """Keep what was counted beside what else there is, and write the page of all."""
    with (folder / "fuzz.json").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # commands and readers may run at once
        kept = read_results(folder)
        kept.setdefault(kind, {})[name] = told
        file.truncate(0)
        file.write(json.dumps(kept, indent=1) + "\n")
        (folder / "fuzz.md").write_text(page(kept))


def page(kept: dict[str, Any]) -> str:
    """The tables."""
    text = HEAD
    if commands := kept.get("commands"):
        text += COMMANDS + _commands(commands)
    if readers := kept.get("readers"):
        text += READERS + _readers(readers)
    return text


def _commands(told: dict[str, Any]) -> str:
    text, all_ends = "", defaultdict[str, Counter[str]](Counter)
    for row in told.values():
        for name, ends in row["ends"].items():
            all_ends[name].update(ends)
    for name, ends in sorted(all_ends.items()):
        known = [ends.get(status, 0) for status in ALLOWED]
        calls = sum(ends.values())
        row = [name, *(f"{number:,}" for number in (calls, *known, calls - sum(known)))]
        text += f"| {' | '.join(row)} |\n"
    calls = sum(row["calls"] for row in told.values())
    broken = [
        f"- seed {seed}, {one['number']}: {'; '.join(one['faults'])}\n"
        for seed, row in told.items()
        for one in row["broken"]
    ]
    return text + f"\n{calls:,} calls. {_first_made(told)}\n" + "".join(broken)


def _first_made(told: dict[str, Any]) -> str:
    """How many calls broke a rule when they were first made, and what is known of them since."""
    broken = [one for row in told.values() for one in row["broken"]]
    mended = [one for row in told.values() for one in row.get("mended", [])]
    kept = sum(
        any(fault.startswith(("status ", "it hangs")) for fault in one["faults"])
        for one in (*broken, *mended)
    )
    lost = max(0, _others(told) - kept)
    first = len(broken) + len(mended) + lost
    if not first:
        return "None broke a rule."
    least = "At least " if lost else ""  # one may also break a rule and end as it may
    parts = [f"{least}{first} of them broke a rule when first made"]
    if mended:
        parts.append(f"{len(mended)} were mended and the same call repeated, which breaks none")
    if lost:
        parts.append(
            f"of {lost}, whose words were not kept, it is not known whether the same call was "
            "repeated"
        )
    return f"{'; '.join(parts)}; {len(broken)} break one still."


def _others(told: dict[str, Any]) -> int:
    """Calls with an end that no call may have."""
    return sum(
        number
        for row in told.values()
        for ends in row["ends"].values()
        for status, number in ends.items()
        if status not in ALLOWED
    )


def _readers(told: dict[str, Any]) -> str:
    text = ""
    for name, row in told.items():
        numbers = f"{row['inputs']:,} | {row['led']:,} | {row['refused']:,} | {row['longest_s']}"
        text += f"| {name} | {numbers} | {row['peak_mb']:,} | {len(row['broken'])} |\n"
    total = sum(row["inputs"] for row in told.values())
    broken = [f"- {name}: {one['what']}\n" for name, row in told.items() for one in row["broken"]]
    return text + f"\n{total:,} inputs, {len(broken)} places broke.\n" + "".join(broken)

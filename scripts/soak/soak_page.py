"""What a long load showed: whether memory was flat, and the page that tells it."""

from __future__ import annotations

from statistics import median
from typing import Any

GROWTH = 0.02  # of memory, after the warm-up
WARM_UP = 0.2  # of the rounds
# Threads that a pool may start late, when requests meet; a leak has more with every round.
POOL = 3
PROCESSES = {"python": "train, update, predict in one process", "serve": "hale serve"}


def judged(found: dict[str, Any]) -> dict[str, Any]:
    """Memory at the begin and the end (medians of a fifth of the rounds), and all faults."""
    rows = found["rows"]
    if len(rows) < 10:
        return {"rounds": len(rows), "grown": {}, "faults": ["fewer than ten rounds: too short"]}
    warm = rows[int(len(rows) * WARM_UP) :]
    part = max(1, len(warm) // 5)
    begin, end = warm[:part], warm[-part:]
    faults, grown = [], {}
    for name, words in PROCESSES.items():
        first, last = (median(row[f"{name}_mb"] for row in some) for some in (begin, end))
        grown[name] = {"first_mb": first, "last_mb": last, "share": last / first - 1}
        if last > (1 + GROWTH) * first:
            faults.append(f"{words}: memory grew from {first:.1f} to {last:.1f} MB")
        for what in ("handles", "threads"):
            before, after = (max(row[f"{name}_{what}"] for row in some) for some in (begin, end))
            if after > before + (POOL if what == "threads" else 0):
                faults.append(f"{words}: {what} grew from {before} to {after}")
    if found["differed"]:
        faults.append(f"answers differed from the first in {found['differed']} rounds")
    return {"rounds": len(rows), "grown": grown, "faults": faults}


def page(told: dict[str, Any]) -> str:
    """The page."""
    here = told["machine"]
    text = f"""# Long load

Written by `make soak` (`scripts/soak/soak.py`) on {here["cpu"]}: {told["seconds"]:,} s,
{told["rounds"]:,} rounds. In a round one Python process trains a run, evaluates, updates, loads and
asks it, and `hale serve` answers {told["requests_a_round"]} requests of all kinds, wrong ones among
them. Memory is taken after each round, of the one process after a collection of garbage, of
`hale serve` as it stands: nobody collects there but Python itself. Told is the median of a fifth of
the rounds: the first after the warm-up ({WARM_UP:.0%} of the rounds), and the last. Handles may not
become more, threads by {POOL} at most: a pool starts them when requests meet.

| process | MB, first | MB, last | growth | handles, first / last | threads, first / last |
|---|---|---|---|---|---|
"""
    rows = told["rows"]
    first, last = rows[int(len(rows) * WARM_UP)], rows[-1]
    for name, words in PROCESSES.items():
        if row := told["grown"].get(name):
            text += (
                f"| {words} | {row['first_mb']:.1f} | {row['last_mb']:.1f} | {row['share']:+.2%} | "
                f"{first[f'{name}_handles']} / {last[f'{name}_handles']} | "
                f"{first[f'{name}_threads']} / {last[f'{name}_threads']} |\n"
            )
    text += f"\nAnswers that differed from those of the first round: {told['differed']} rounds.\n"
    faults = "".join(f"- {fault}\n" for fault in told["faults"])
    return text + (f"\nFaults:\n\n{faults}" if faults else "\nNo faults.\n")

"""Measure the engine and write docs/results/engine.md from what was measured.

    python benchmarks/engine.py                  measure everything (about 15 minutes), then render
    python benchmarks/engine.py kernel step      measure some again, then render
    python benchmarks/engine.py --render         render what is there

Each measurement is one `hale bench` command; its rows lie beside the page as JSON.
WN18RR is found as `hale` finds it (HALE_DATA, the cache, a download).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
COMMANDS = {
    "kernel": ["kernel"],
    "step": ["step", "wn18rr"],
    "step-all": ["step", "wn18rr", "--block", "all", "--queries", "100"],
    "block": ["block"],
    "evaluate": ["evaluate", "wn18rr"],
    "growth": ["growth", "--plot", str(RESULTS / "growth.png")],
    "race": ["race", "wn18rr", "--seconds", "120", "--plot", str(RESULTS / "race.png")],
    "race-40s": ["race", "wn18rr", "--seconds", "40", "--rivals", "hale,pykeen-mure-adversarial"],
}


def measure(name: str) -> None:
    """Run one benchmark; its rows go to docs/results/NAME.json."""
    command = [sys.executable, "-m", "hale", "bench", *COMMANDS[name]]
    subprocess.run([*command, "--out", str(RESULTS / f"{name}.json")], check=True)


def rows_of(name: str) -> list[dict[str, Any]]:
    """The rows of a finished benchmark, or none."""
    path = RESULTS / f"{name}.json"
    found: list[dict[str, Any]] = json.loads(path.read_text())["rows"] if path.exists() else []
    return found


def machine_of(name: str) -> str:
    """Where a benchmark was run: not all need be of one machine."""
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return "Not run yet."
    found = json.loads(path.read_text())["machine"]
    return f"Machine: {found['cpu']}, {found['threads']} threads, torch {found['torch']}."


def table(rows: list[dict[str, Any]], columns: dict[str, str]) -> str:
    """Rows as Markdown; ``columns`` maps keys to formats."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    for row in rows:
        cells = [
            "-" if row[key] is None else format(row[key], form) for key, form in columns.items()
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def meeting(rows: list[dict[str, Any]]) -> str:
    """From the least to the most that the meeting of sums takes of the native kernel's time."""
    shares = [row["meeting"] for row in rows if row["rival"] == "native"]
    return f"{min(shares):.1%} to {max(shares):.1%}"


def ratios(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How many times faster the native kernel is than each rival, by medians of one run."""
    native = {(row["n"], row["d"]): row for row in rows if row["rival"] == "native"}
    shapes: dict[tuple[int, int], dict[str, Any]] = {}
    for row in rows:
        shape = shapes.setdefault(
            (row["n"], row["d"]), {"N": row["n"], "d": row["d"], "share of peak": 0.0}
        )
        own = native[row["n"], row["d"]]
        shape["share of peak"] = own["share_of_peak"]
        shape["native ms"] = own["median_ms"]
        if row["rival"] != "native":
            shape[f"x {row['rival']}"] = row["median_ms"] / own["median_ms"]
    return list(shapes.values())


def render() -> str:
    """The page, from the files that are there."""
    parts = [
        "# The engine, measured",
        "",
        "Written by `python benchmarks/engine.py` from the JSON files beside it.",
        "",
        "## The kernel",
        "",
        "`hale bench kernel`, m = 100, forward and backward, rivals in turns. How many times "
        "faster the native kernel is (medians), and its share of the machine's matrix-product "
        "peak, as torch's matrix product reaches it between the turns (best against best; above "
        f"one where the kernel does better than that). {machine_of('kernel')}",
        "",
        table(
            ratios(rows_of("kernel")),
            {
                "N": ",",
                "d": "",
                "native ms": ".1f",
                "x autograd": ".1f",
                "x compile": ".1f",
                "x tiles": ".1f",
                "share of peak": ".2f",
            },
        ),
        "",
        "What keeps it from the peak: the share grows with d, because every pair costs two "
        "exponentials and a reciprocal, and a slope that goes to memory and comes back (no entity "
        "can be pushed before every query's sum is known), whatever d is. Where d is large, the "
        "three products are what is left, in tiles of 120 entities.",
        "",
        "Sums that threads share meet in an order that no number of threads changes: in the "
        f"shapes above that takes {meeting(rows_of('kernel'))} of the kernel's time.",
        "",
        "## A step",
        "",
        "`hale bench step wn18rr`: RotL, d = 32, with the settings of its recipe, call by call of "
        f"the kernel. {machine_of('step')}",
        "",
        table(rows_of("step"), {"part": "", "median_ms": ".2f"}),
        "",
        f"The whole step takes {rows_of('step')[0]['step_over_kernels']:.2f} times its kernels. "
        "The same without a block (`--block all --queries 100`), by autograd and the usual Adam:",
        "",
        table(rows_of("step-all"), {"part": "", "median_ms": ".2f"}),
        "",
        "## Blocks",
        "",
        "`hale bench block`: 40,943 drawn vectors, 500 blocks, 32 queries that leave out one "
        "entity in a hundred. Mean error of the estimated sum Z and its standard error, spread as "
        "a share of Z (mean and largest of the queries), and the bound that no vectors can pass.",
        "",
        table(
            rows_of("block"),
            {
                "activation": "",
                "gamma": ".3g",
                "block": ",",
                "bias": ".4f",
                "standard_error": ".4f",
                "spread": ".3f",
                "largest_spread": ".3f",
                "bound": ".3f",
            },
        ),
        "",
        "## Ranking",
        "",
        "`hale bench evaluate wn18rr`: the test split, both directions, filtered. "
        f"{machine_of('evaluate')}",
        "",
        table(
            rows_of("evaluate"),
            {"ranks": ",", "entities": ",", "median_s": ".2f", "peak_mb": ".0f"},
        ),
        "",
        "## Growth",
        "",
        "`hale bench growth`: a step of RotL, d = 32, m = 100, batch 4096, on synthetic graphs, "
        "with a block of entities and with all of them. "
        f"{machine_of('growth')}",
        "",
        table(
            rows_of("growth"),
            {"block": "", "n": ",", "median_ms": ".1f", "us_per_entity": ".2f", "peak_mb": ",.0f"},
        ),
        "",
        "![Time and memory of a step over the number of entities](growth.png)",
    ]
    if race := rows_of("race"):
        marks = [key for key in race[0] if "@" in key and key.endswith("s")]
        parts += [
            "",
            "## A race",
            "",
            f"`hale bench race wn18rr`: {race[0]['metric']} on 500 validation triples over "
            "training time, d = 32, the same cores and clock for all; seconds to "
            f"{race[0]['target']}, by a straight line between two validations. hale has the "
            "settings that `hale train` takes, found on WN18RR's validation triples; PyKEEN the "
            f"best of a few that were tried by hand. {machine_of('race')}",
            "",
            table(race, {"rival": "", "seconds_to_target": ".1f", **dict.fromkeys(marks, ".3f")}),
            "",
            "![Quality over training time](race.png)",
        ]
    if race := rows_of("race-40s"):
        hale, other = (row["seconds_to_target"] for row in race)
        parts += [
            "",
            "## A short race",
            "",
            f"`hale bench {' '.join(COMMANDS['race-40s'])}`: the same against the PyKEEN "
            "setting that was fastest in the long race, once: "
            f"{hale:.2f} against {other:.1f} s to {race[0]['target']}, {other / hale:.0f} times as "
            f"long. {machine_of('race-40s')}",
        ]
    return "\n".join(parts) + "\n"


def main() -> None:
    """Measure what is asked for, then render."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", help=f"any of {', '.join(COMMANDS)}")
    parser.add_argument("--render", action="store_true", help="only write the page")
    options = parser.parse_args()
    for name in options.names:
        if name not in COMMANDS:
            parser.error(f"unknown: {name}; there are {', '.join(COMMANDS)}")
    if not options.render:
        for name in options.names or COMMANDS:
            measure(name)
    (RESULTS / "engine.md").write_text(render())


if __name__ == "__main__":
    main()

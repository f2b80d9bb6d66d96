"""Measure hale on a real graph of three sizes, as a user meets it, and write docs/results/scale.md.

    python scripts/build_debian.py small runs/debian/small          and medium, and large
    python benchmarks/scale.py                                      everything, then render
    python benchmarks/scale.py small large --graphs FOLDER          some of it
    python benchmarks/scale.py small --again                        once more what is there
    python benchmarks/scale.py --render                             render what is there

Each size is trained on, evaluated, asked one question and updated by the `hale` command, each in a
process of its own: its wall time, its peak memory, and what it says. What was measured is kept
command by command in docs/results/scale.json; a finished one is not run again unless asked to, so
that a measurement of hours can be taken up where it was left.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hale.lab.bench.machine import machine

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"
COMMANDS = ("train", "evaluate", "predict", "update")
NEW_FACTS = 500
POINTS = 6  # of a curve on the page; scale.json has all


class Size(NamedTuple):
    """What a size is measured with: a run for each block (None: whatever hale takes by itself)."""

    blocks: tuple[str | None, ...]
    train: tuple[str, ...]
    update: tuple[str, ...]


SIZES = {
    "small": Size(("4096", "all"), ("--dim", "32", "--budget", "60s"), ("--budget", "10s")),
    "medium": Size(("4096",), ("--dim", "32", "--budget", "120s"), ("--budget", "20s")),
    "large": Size(("4096",), ("--dim", "32", "--budget", "120s"), ("--budget", "30s")),
}
Found = dict[str, dict[str, dict[str, Any]]]


def commands(size: Size, block: str | None, graph: Path, run: Path) -> Iterator[list[str]]:
    """What a user types after `hale`: train, evaluate, predict, update."""
    choice = [] if block is None else ["--block", block]
    yield ["train", str(graph), "--out", str(run), "--overwrite", *choice, *size.train]
    yield ["evaluate", str(run)]
    head, relation, _ = next(triples(graph / "test.txt"))
    yield ["predict", str(run), "--head", head, "--relation", relation, "-k", "10"]
    updated = run.with_name(f"{run.name}-updated")
    facts = run.with_name("new-facts.tsv")
    yield ["update", str(run), str(facts), "--out", str(updated), "--overwrite", *size.update]


def triples(path: Path) -> Iterator[tuple[str, str, str]]:
    """The facts of a file, one by one."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            head, relation, tail = line.rstrip("\n").split("\t")
            yield head, relation, tail


def write_new_facts(graph: Path, target: Path, count: int) -> None:
    """Facts of entities that the graph has not: each like one that validation knows."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("w", encoding="utf-8") as file:
        for i, (_, relation, tail) in zip(range(count), triples(graph / "valid.txt"), strict=False):
            file.write(f"new:{i}\t{relation}\t{tail}\n")


def measure(arguments: Sequence[str]) -> dict[str, Any]:
    """Run hale once: seconds, peak memory of the process, when it had read the graph, its answer.

    `wait4` tells of this child alone; `resource` would tell of the largest child so far. Linux
    counts the memory of this process in until the child is hale: that much, a few hundred MB for
    torch, hale needs as well.
    """
    command = [sys.executable, "-m", "hale", *arguments, "--json"]
    loaded = None
    said: list[str] = []
    with tempfile.TemporaryFile("w+", encoding="utf-8") as answer:
        began = time.perf_counter()
        child = subprocess.Popen(command, stdout=answer, stderr=subprocess.PIPE, text=True)
        assert child.stderr is not None
        for line in child.stderr:
            said.append(line)
            if loaded is None and line.startswith("Graph("):
                loaded = time.perf_counter() - began
        child.stderr.close()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        answer.seek(0)
        text = answer.read()
    if child.returncode:
        raise SystemExit(f"hale {' '.join(arguments)}\nfailed:\n{''.join(said)[-2000:]}")
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return {
        "seconds": seconds,
        "peak_mb": usage.ru_maxrss / unit,
        **({} if loaded is None else {"load_seconds": loaded}),
        "answer": json.loads(text.splitlines()[-1]),
    }


def kept(command: str, row: dict[str, Any], run: Path) -> dict[str, Any]:
    """Of what a command answered, the figures."""
    answer = row.pop("answer")
    if command == "train":
        training = answer["training"]
        lines = (run / "history.jsonl").read_text().splitlines()
        row |= {
            "mrr": answer["mrr"],
            "hits@10": answer["hits@10"],
            "steps": training["steps"],
            "epochs": training["epochs"],
            "training_seconds": training["seconds"],
            "steps_a_second": training["steps"] / training["seconds"],
            "settings": answer["settings"],
            "curve": [
                {"seconds": point["seconds"], "mrr": point["metrics"]["mrr"]}
                for point in map(json.loads, lines)
                if point["metrics"]
            ],
        }
    elif command == "evaluate":
        row |= {name: answer[name] for name in ("mrr", "hits@10", "count")}
    return row | {"machine": machine()}


def measure_all(
    name: str, graph: Path, runs: Path, found: Found, file: Path, *, again: bool = False
) -> None:
    """Every command of a size that has not been measured, each kept as soon as it is done."""
    for block in SIZES[name].blocks:
        label = f"{name}, block {block or 'by default'}"
        run = runs / label.replace(", ", "-").replace(" ", "-")
        cells = found.setdefault(label, {})
        if again or not run.exists():
            cells.clear()  # what was measured on an earlier run is not of the new one
        about = json.loads((graph / "about.json").read_text())
        cells["graph"] = {part: about[part] for part in ("entities", "facts", "splits")}
        write_new_facts(graph, run.with_name("new-facts.tsv"), NEW_FACTS)
        for arguments in commands(SIZES[name], block, graph, run):
            command = arguments[0]
            if command in cells:
                continue
            cells[command] = kept(command, measure(arguments), run)
            print(f"{label}: {command} {cells[command]['seconds']:.1f} s", flush=True)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(found, indent=1) + "\n")


def render(found: Found) -> str:
    """The page, from what was measured."""
    here = next(cells["train"]["machine"] for cells in found.values() if "train" in cells)
    lines = [
        "# Scale, measured",
        "",
        "Written by `python benchmarks/scale.py` from scale.json beside it. Machine: "
        f"{here['cpu']}, {here['cores']} cores, {here['threads']} threads, torch {here['torch']}. "
        "The graphs are made from Debian's package indices by `python scripts/build_debian.py`. "
        "Each command runs in a process of its own: wall time from the start of Python to its "
        "end, and the most memory that it held. `hale train` ends with ranking the test split. "
        f"`hale predict` is asked one question; `hale update` adds {NEW_FACTS} entities with a "
        "fact each.",
        "",
        "## Time",
        "",
        "| | entities | facts | graph read, s | steps a second | train, s | evaluate, s "
        "| predict, s | update, s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for label, cells in found.items():
        train, graph = cells.get("train", {}), cells["graph"]
        figures = [figure(train, "load_seconds"), figure(train, "steps_a_second")]
        figures += [figure(cells.get(command, {}), "seconds") for command in COMMANDS]
        counts = f"{graph['entities']:,} | {graph['facts']:,}"
        lines.append(f"| {label} | {counts} | {' | '.join(figures)} |")
    lines += [
        "",
        "## Peak memory, MB",
        "",
        f"| | {' | '.join(COMMANDS)} |",
        "|---|---|---|---|---|",
    ]
    for label, cells in found.items():
        peaks = [figure(cells.get(command, {}), "peak_mb", ",.0f") for command in COMMANDS]
        lines.append(f"| {label} | {' | '.join(peaks)} |")
    lines += [
        "",
        "## Quality over time",
        "",
        "MRR on a sample of validation facts at seconds of training, and on all test facts, in "
        "both directions, filtered, over all entities.",
        "",
        "| | validation | test MRR | test Hits@10 |",
        "|---|---|---|---|",
    ]
    for label, cells in found.items():
        train = cells.get("train", {})
        points = ", ".join(
            f"{p['mrr']:.4f} at {p['seconds']:.0f} s" for p in some(train.get("curve", []))
        )
        figures = [figure(train, name, ".4f") for name in ("mrr", "hits@10")]
        lines.append(f"| {label} | {points} | {' | '.join(figures)} |")
    return "\n".join([*lines, ""])


def figure(row: dict[str, Any], name: str, form: str = ",.1f") -> str:
    """A figure, or nothing where it was not measured."""
    return format(row[name], form) if name in row else ""


def some(curve: Sequence[dict[str, float]]) -> list[dict[str, float]]:
    """At most POINTS of a curve, evenly, the last among them."""
    wanted = min(POINTS, len(curve))
    return [curve[(i + 1) * len(curve) // wanted - 1] for i in range(wanted)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is asked for, keep it, render."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sizes", nargs="*", help=f"{', '.join(SIZES)} (default: all)")
    parser.add_argument("--graphs", type=Path, default=ROOT / "runs" / "debian", metavar="FOLDER")
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "scale", metavar="FOLDER")
    parser.add_argument("--again", action="store_true", help="measure what is there once more")
    parser.add_argument("--render", action="store_true", help="measure nothing")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.sizes) - set(SIZES):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(SIZES)}")
    file = RESULTS / "scale.json"
    found: Found = json.loads(file.read_text()) if file.exists() else {}
    for name in [] if asked.render else asked.sizes or SIZES:
        graph = asked.graphs / name
        if not (graph / "about.json").exists():
            parser.error(f"{graph} is not there: python scripts/build_debian.py {name} {graph}")
        measure_all(name, graph, asked.runs, found, file, again=asked.again)
    if not found:
        parser.error(f"nothing is measured yet: {file.name} is not there")
    (RESULTS / "scale.md").write_text(render(found))


if __name__ == "__main__":
    main()

"""What is broken off: every command that writes, what may be found after it, and how it goes on."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

Command = list[str]
FEW = ["--dim", "8", "--batch-size", "256", "--queries", "16", "--threads", "1"]
EPOCHS = ["--epochs", "6", "--validate-every", "1"]


def digest(*paths: Path) -> str:
    """Of the contents of files, and of all files below folders, with their names."""
    found = hashlib.sha256()
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                found.update(f"{file.relative_to(path.parent)}\0".encode())
                found.update(file.read_bytes())
    return found.hexdigest()


@dataclass(frozen=True)
class Task:
    """A command that is broken off in a folder of its own.

    ``made`` by commands once, ``command`` is what is broken off, ``after`` are commands that must
    succeed then, as far as what they are about is there (``there``: its path, and the commands);
    ``again`` finishes the work, after which ``result`` must be what an unbroken command leaves.
    """

    name: str
    made: tuple[Command, ...]
    command: Command
    again: Callable[[Path], Command]
    result: Callable[[Path], str]
    there: tuple[tuple[str, Command], ...] = ()
    stays: tuple[str, ...] = ()  # files that the command must never change
    old_or_new: bool = False  # the result is that of before or of after, whole, at any moment
    timed: bool = field(default=False)  # its result depends on the clock, and is not compared


def write_graph(folder: Path, *, seed: int = 0) -> None:
    """A graph with a pattern: 300 entities in five families, some facts to add and to remove."""
    draw = random.Random(seed)  # noqa: S311
    facts = [
        (f"e{i}", f"r{step}", f"e{(i + 7 * step) % 300}") for i in range(300) for step in range(5)
    ]
    draw.shuffle(facts)
    parts = {"train": facts[:1300], "valid": facts[1300:1400], "test": facts[1400:]}
    (folder / "graph").mkdir(parents=True)
    for name, rows in parts.items():
        _write(folder / "graph" / f"{name}.tsv", rows)
    shutil.copytree(folder / "graph", folder / "data/wn18rr")
    _write(folder / "new.tsv", [(f"n{i}", "r1", f"e{i}") for i in range(20)])
    _write(folder / "gone.tsv", facts[:20])


def _write(path: Path, rows: list[tuple[str, str, str]]) -> None:
    path.write_text("".join("\t".join(row) + "\n" for row in rows))


def _weights(name: str) -> Callable[[Path], str]:
    return lambda folder: digest(folder / name / "model.safetensors")


def _train_again(folder: Path) -> Command:
    if (folder / "run/settings.json").exists():
        return ["train", "--resume", "--out", "run"]
    return ["train", "graph", *EPOCHS, *FEW, "--out", "run"]


TRAIN = ["train", "graph", *EPOCHS, *FEW, "--out", "run"]
HELD_OUT = ("graph/valid.tsv", "graph/test.tsv")
LOADS = (["show", "run"], ["evaluate", "run"])
UPDATE = ["update", "run", "new.tsv", "--remove", "gone.tsv", "--epochs", "4", "--threads", "1"]
SEARCH = ["tune", "graph", "--dim", "8", "--threads", "1", "--trial", "0.3s", "--budget", "1s"]
CELL = [
    *("reproduce", "table3", "--dataset", "wn18rr", "--model", "rotl", "--strategy", "hale"),
    *("--scale", "0.0005", "--out", "results", "--runs", "cells"),
]
OTHER = ["train", "graph", *EPOCHS, *FEW, "--seed", "7", "--out", "run", "--overwrite"]

TASKS = (
    Task(
        "train",
        (),
        TRAIN,
        _train_again,
        _weights("run"),
        there=(("run", LOADS[0]), ("run", LOADS[1])),
    ),
    Task(
        "train --overwrite",
        (TRAIN,),
        OTHER,
        lambda _: OTHER,
        _weights("run"),
        there=(("run", LOADS[0]), ("run", LOADS[1])),
    ),
    Task(
        "update",
        (TRAIN,),
        [*UPDATE, "--out", "updated"],
        lambda _: [*UPDATE, "--out", "updated", "--overwrite"],
        _weights("updated"),
        there=(("run", LOADS[1]), ("updated", ["evaluate", "updated"])),
        stays=("run/model.safetensors", "run/entities.txt", "run/settings.json"),
    ),
    Task(
        "export",
        (TRAIN, ["export", "run", "--format", "csv", "--out", "vectors"]),
        ["export", "run", "--format", "npy", "--out", "vectors", "--overwrite"],
        lambda _: ["export", "run", "--format", "npy", "--out", "vectors", "--overwrite"],
        lambda folder: digest(folder / "vectors"),
        there=(("run", LOADS[0]),),
        stays=("run/model.safetensors",),
        old_or_new=True,
    ),
    Task(
        "calibrate",
        (TRAIN, ["calibrate", "run"]),
        ["calibrate", "run", "--seed", "3"],
        lambda _: ["calibrate", "run", "--seed", "3"],
        lambda folder: digest(folder / "run/calibration.json"),
        there=(("run", ["predict", "run", "--head", "e1", "--relation", "r1"]),),
        stays=("run/model.safetensors",),
        old_or_new=True,
    ),
    Task(
        "evaluate",
        (TRAIN,),
        ["evaluate", "run", "--split", "valid"],
        lambda _: ["evaluate", "run", "--split", "valid"],
        lambda folder: _metrics(folder / "run/metrics.json"),
        there=(("run", LOADS[0]),),
        stays=("run/model.safetensors",),
        old_or_new=True,
    ),
    Task(
        "discover --out",
        (TRAIN, ["discover", "run", "-k", "5", "--out", "facts.parquet"]),
        ["discover", "run", "-k", "50", "--out", "facts.parquet"],
        lambda _: ["discover", "run", "-k", "50", "--out", "facts.parquet"],
        lambda folder: digest(folder / "facts.parquet"),
        stays=("run/model.safetensors",),
        old_or_new=True,
    ),
    Task(
        "classify --out",
        (
            TRAIN,
            ["calibrate", "run"],
            ["classify", "run", "graph/valid.tsv", "--out", "judged.csv"],
        ),
        ["classify", "run", HELD_OUT[1], "--out", "judged.csv"],
        lambda _: ["classify", "run", HELD_OUT[1], "--out", "judged.csv"],
        lambda folder: digest(folder / "judged.csv"),
        stays=("run/model.safetensors", "run/calibration.json"),
        old_or_new=True,
    ),
    Task(
        "export, index",
        (TRAIN,),
        ["export", "run", "--format", "index", "--out", "index"],
        lambda _: ["export", "run", "--format", "index", "--out", "index", "--overwrite"],
        lambda folder: digest(folder / "index"),
        stays=("run/model.safetensors",),
    ),
    Task(
        "evaluate --paths",
        (TRAIN,),
        ["evaluate", "run", "--split", "valid", "--paths"],
        lambda _: ["evaluate", "run", "--split", "valid", "--paths"],
        lambda folder: digest(folder / "run/paths.json"),
        there=(("run", LOADS[0]), ("run", LOADS[1])),
        stays=("run/model.safetensors",),
    ),
    Task(
        "compress",
        (TRAIN,),
        ["compress", "run", "--dim", "4", "--epochs", "3", "--out", "small"],
        lambda folder: [
            *("compress", "run", "--dim", "4", "--epochs", "3", "--out", "small"),
            *(["--overwrite"] if (folder / "small").exists() else []),
        ],
        _weights("small"),
        there=(("run", LOADS[1]), ("small", ["evaluate", "small"])),
        stays=("run/model.safetensors",),
    ),
    Task(
        "tune",
        (),
        [*SEARCH, "--out", "search"],
        lambda _: [*SEARCH, "--out", "search"],
        lambda folder: _is_recipe(folder / "search"),
        timed=True,
    ),
    Task(
        "reproduce",
        (),
        CELL,
        lambda _: CELL,
        lambda folder: _cells(folder / "results"),
        timed=True,
    ),
    Task(
        "download",
        (),
        ["train", "served", "--epochs", "1", *FEW, "--out", "run"],
        lambda _: ["train", "served", "--epochs", "1", *FEW, "--out", "run", "--overwrite"],
        lambda folder: digest(folder / "cache/served"),
    ),
)


def _metrics(path: Path) -> str:
    """Of every split that was ranked, without how long it took."""
    told = json.loads(path.read_text())
    ranked = {split: report for split, report in told.items() if "mrr" in report}
    return json.dumps({split: [report["mrr"], report["count"]] for split, report in ranked.items()})


def _is_recipe(search: Path) -> str:
    found = sorted(search.glob("*.toml"))
    return "a recipe" if found else "no recipe"


def _cells(results: Path) -> str:
    found = [p for p in (results / "cells").glob("*.json") if not p.stem.endswith("points")]
    finished = [json.loads(path.read_text())["metrics"]["mrr"] > 0 for path in found]
    return f"{sum(finished)} finished of {len(found)}"


def fresh(base: Path, folder: Path) -> None:
    """A copy of what a task starts from."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(base, folder, symlinks=True)

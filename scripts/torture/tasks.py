"""What is broken off: every command that writes, what may be found after it, and how it goes on."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
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

    ``made`` by commands and ``given`` as files once, ``command`` is what is broken off. Commands
    that must succeed then are ``there``, each as far as the path that it is about is. ``again``, or
    else the same command, finishes the work: then ``result`` must be what an unbroken command
    leaves, and what was ``finished`` before must be there as it was.
    """

    name: str
    made: tuple[Command, ...]
    command: Command
    result: Callable[[Path], str]
    again: Callable[[Path], Command] | None = None
    there: tuple[tuple[str, Command], ...] = ()
    stays: tuple[str, ...] = ()  # files that the command must never change
    old_or_new: bool = False  # the result is that of before or of after, whole, at any moment
    given: tuple[tuple[str, Callable[[], str]], ...] = ()  # files, and what they hold
    finished: Callable[[Path], dict[str, bytes]] = lambda _: {}  # parts of the work, by name

    def goes_on(self, folder: Path) -> Command:
        """The command that finishes the work in a folder."""
        return self.command if self.again is None else self.again(folder)


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


def _trials(journal: Path) -> dict[str, bytes]:
    """The lines of a search's journal that say how a trial ended well, by their trial."""
    set_state, complete = 6, 1  # of optuna's operations, and of its states
    found = {}
    for line in journal.read_bytes().split(b"\n")[:-1] if journal.exists() else []:
        told = json.loads(line)
        if told["op_code"] == set_state and told.get("state") == complete:
            found[f"trial {told['trial_id']}"] = line
    return found


def _cells(results: Path) -> dict[str, bytes]:
    """The files of cells that were trained and ranked, by name."""
    found = {}
    for path in (results / "cells").glob("*.json"):
        held = path.read_bytes()
        with suppress(ValueError, KeyError, TypeError):  # points, or what a power cut left
            if json.loads(held)["metrics"]["mrr"] > 0:
                found[path.name] = held
    return found


def _decisions() -> str:
    """A review of two facts, as people write it in the browser."""
    from hale.runs.seal import sealed

    about = {"time": "2026-11-18T12:00:00.000+00:00", "who": "ada", "relation": "r1"}
    facts = (("accept", "e1", "e9"), ("reject", "e2", "e5"))
    told = [about | {"decision": word, "head": h, "tail": t} for word, h, t in facts]
    return "".join(json.dumps(sealed(one)) + "\n" for one in told)


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
        _weights("run"),
        _train_again,
        there=(("run", LOADS[0]), ("run", LOADS[1])),
    ),
    Task(
        "train --overwrite",
        (TRAIN,),
        OTHER,
        _weights("run"),
        there=(("run", LOADS[0]), ("run", LOADS[1])),
        stays=("run/review.jsonl",),
        given=(("run/review.jsonl", _decisions),),
    ),
    Task(
        "update",
        (TRAIN,),
        [*UPDATE, "--out", "updated"],
        _weights("updated"),
        lambda _: [*UPDATE, "--out", "updated", "--overwrite"],
        there=(("run", LOADS[1]), ("updated", ["evaluate", "updated"])),
        stays=("run/model.safetensors", "run/entities.txt", "run/settings.json"),
    ),
    Task(
        "export",
        (TRAIN, ["export", "run", "--format", "csv", "--out", "vectors"]),
        ["export", "run", "--format", "npy", "--out", "vectors", "--overwrite"],
        lambda folder: digest(folder / "vectors"),
        there=(("run", LOADS[0]),),
        stays=("run/model.safetensors",),
        old_or_new=True,
    ),
    Task(
        "calibrate",
        (TRAIN, ["calibrate", "run"]),
        ["calibrate", "run", "--seed", "3"],
        lambda folder: digest(folder / "run/calibration.json"),
        there=(("run", ["predict", "run", "--head", "e1", "--relation", "r1"]),),
        stays=("run/model.safetensors",),
        old_or_new=True,
    ),
    Task(
        "evaluate",
        (TRAIN,),
        ["evaluate", "run", "--split", "valid"],
        lambda folder: _metrics(folder / "run/metrics.json"),
        there=(("run", LOADS[0]),),
        stays=("run/model.safetensors",),
        old_or_new=True,
    ),
    Task(
        "discover --out",
        (TRAIN, ["discover", "run", "-k", "5", "--out", "facts.parquet"]),
        ["discover", "run", "-k", "50", "--out", "facts.parquet"],
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
        lambda folder: digest(folder / "judged.csv"),
        stays=("run/model.safetensors", "run/calibration.json"),
        old_or_new=True,
    ),
    Task(
        "export, index",
        (TRAIN,),
        ["export", "run", "--format", "index", "--out", "index"],
        lambda folder: digest(folder / "index"),
        lambda _: ["export", "run", "--format", "index", "--out", "index", "--overwrite"],
        stays=("run/model.safetensors",),
    ),
    Task(
        "evaluate --paths",
        (TRAIN,),
        ["evaluate", "run", "--split", "valid", "--paths"],
        lambda folder: digest(folder / "run/paths.json"),
        there=(("run", LOADS[0]), ("run", LOADS[1])),
        stays=("run/model.safetensors",),
    ),
    Task(
        "compress",
        (TRAIN,),
        ["compress", "run", "--dim", "4", "--epochs", "3", "--out", "small"],
        _weights("small"),
        lambda folder: [
            *("compress", "run", "--dim", "4", "--epochs", "3", "--out", "small"),
            *(["--overwrite"] if (folder / "small").exists() else []),
        ],
        there=(("run", LOADS[1]), ("small", ["evaluate", "small"])),
        stays=("run/model.safetensors",),
    ),
    Task(
        "tune",
        (),
        [*SEARCH, "--out", "search"],
        lambda folder: _is_recipe(folder / "search"),
        finished=lambda folder: _trials(folder / "search/trials.journal"),
    ),
    Task(
        "reproduce",
        (),
        CELL,
        lambda folder: f"{len(_cells(folder / 'results'))} finished",
        finished=lambda folder: _cells(folder / "results"),
    ),
    Task(
        "download",
        (),
        ["train", "served", "--epochs", "1", *FEW, "--out", "run"],
        lambda folder: digest(folder / "cache/served"),
        lambda _: ["train", "served", "--epochs", "1", *FEW, "--out", "run", "--overwrite"],
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


def fresh(base: Path, folder: Path) -> None:
    """A copy of what a task starts from."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(base, folder, symlinks=True)

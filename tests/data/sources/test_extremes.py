"""Long names and many relations."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import hale
from hale.data.graph import Graph

LONG = "n" + "é" * 32_767 + "x"  # 65,536 bytes
FACTS = [(LONG, "r", "b"), ("b", "r", "c"), ("c", LONG, "a"), ("a", "r", LONG)]


def _write(path: Path) -> None:
    if path.suffix == ".parquet":
        columns = ["head", "relation", "tail"]
        pl.DataFrame(FACTS, schema=columns, orient="row").write_parquet(path)
        return
    write = {
        ".tsv": "\t".join,
        ".csv": lambda fact: ",".join(f'"{name}"' for name in fact),
        ".jsonl": json.dumps,
        ".nt": lambda fact: " ".join(f"<http://x/{name}>" for name in fact) + " .",
    }[path.suffix]
    path.write_text("".join(write(fact) + "\n" for fact in FACTS), encoding="utf-8")


@pytest.mark.filterwarnings("ignore::hale.errors.HaleWarning")
@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".jsonl", ".parquet", ".nt"])
def test_names_of_64_kilobytes_are_read(tmp_path: Path, suffix: str) -> None:
    assert len(LONG.encode()) == 65_536
    path = tmp_path / f"facts{suffix}"
    _write(path)
    graph = hale.load(path, holdout=0)
    start = "http://x/" if suffix == ".nt" else ""
    assert start + LONG in graph.entities
    assert start + LONG in graph.relations
    assert len(graph.train) == 4


@pytest.mark.filterwarnings("ignore::hale.errors.HaleWarning")
def test_a_run_with_long_names_is_kept_and_asked(tmp_path: Path) -> None:
    graph = hale.load(pl.DataFrame(FACTS, schema=["head", "relation", "tail"], orient="row"))
    hale.train(graph, epochs=1, dim=2, out=tmp_path / "run")
    run = hale.load_run(tmp_path / "run")
    assert LONG in run.graph.entities
    answers = hale.predict(run, head="c", relation=LONG, k=4)
    assert LONG in {answer.entity for answer in answers}


@pytest.mark.filterwarnings("ignore::hale.errors.HaleWarning")
def test_a_hundred_thousand_relations(tmp_path: Path) -> None:
    count = 100_000
    path = tmp_path / "facts.tsv"
    path.write_text("".join(f"e{i % 50}\tr{i}\te{(i + 1) % 50}\n" for i in range(count)))
    graph: Graph = hale.load(path, holdout=0)
    assert len(graph.relations) == count
    run = hale.train(graph, model="transe", epochs=1, dim=2, batch_size=8192, queries=8)
    (answer,) = hale.predict(run, head="e7", relation="r99999", k=1, known="drop")
    assert answer.entity in graph.entities
    assert len(hale.evaluate(run, split="train", sample=100).by_relation) == 100

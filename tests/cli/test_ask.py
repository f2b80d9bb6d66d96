"""predict, discover, neighbors and why as a user meets them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from typer.testing import CliRunner, Result

import hale
from hale.cli import app
from hale.data.graph import Graph, Vocabulary
from hale.models import make_model
from hale.runs.folder import RunFolder
from hale.settings import make_settings


def ask(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def as_json(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) == 1, "one object, one line"
    found: dict[str, Any] = json.loads(lines[0])
    return found


def names(found: dict[str, Any]) -> list[tuple[int, str]]:
    """Ranks and names; scores differ in their last digits with the size of a batch."""
    return [(answer["rank"], answer["entity"]) for answer in found["answers"]]


def saved(path: Path, graph: Graph) -> Path:
    """A run with an untrained model: answers need not be good, only the same everywhere."""
    torch.manual_seed(0)
    weights = make_model("rotl", graph.size, 8).state_dict()
    RunFolder.create(path, make_settings(model="rotl", dim=8), graph, weights)
    return path


@pytest.fixture
def run(tmp_path: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    saved(tmp_path / "run", graph)
    return Path("run")


def test_relations_of_two_entities(run: Path) -> None:
    found = as_json(ask("predict", run, "--head", "e003", "--tail", "e004", "--json"))
    assert (found["head"], found["relation"], found["tail"]) == ("e003", None, "e004")
    assert {a["relation"]: a["known"] for a in found["answers"]} == {"next": True, "skip": False}
    shown = ask("predict", run, "--head", "e003", "--tail", "the first")
    assert "e003  ?  e000 (the first)" in shown.stdout
    left = as_json(
        ask("predict", run, "--head", "e003", "--tail", "e004", "--known", "drop", "--json")
    )
    assert [a["relation"] for a in left["answers"]] == ["skip"]


QUERIES = "e003\tnext\t?\n?\tskip\te005\ne001\t?\te002\n"


def test_a_file_of_queries(run: Path) -> None:
    Path("queries.tsv").write_text(QUERIES)
    found = as_json(ask("predict", run, "--queries", "queries.tsv", "-k", 2, "--json"))["queries"]
    asked = [("e003", "next", None), (None, "skip", "e005"), ("e001", None, "e002")]
    assert [(q["head"], q["relation"], q["tail"]) for q in found] == asked
    single = as_json(ask("predict", run, "--relation", "skip", "--tail", "e005", "-k", 2, "--json"))
    assert names(found[1]) == names(single)
    shown = ask("predict", run, "--queries", "queries.tsv", "-k", 2).stdout.splitlines()
    assert len(shown) == 3 * (2 + 2)  # a title, a header and two answers each


@pytest.mark.parametrize("name", ["answers.csv", "answers.tsv", "answers.parquet"])
def test_answers_to_a_file(run: Path, name: str) -> None:
    Path("queries.tsv").write_text(QUERIES)
    options = ("--queries", "queries.tsv", "-k", 2)
    written = ask("predict", run, *options, "--out", name)
    assert written.stdout == f"{name}: 3 queries, 6 answers\n"
    if name.endswith("parquet"):
        table = pl.read_parquet(name)
    else:
        table = pl.read_csv(name, separator="," if name.endswith("csv") else "\t")
    found = as_json(ask("predict", run, *options, "--json"))["queries"]
    labels = {"e000": "the first", "e001": "twin", "e002": "twin"}
    rows = []
    for query in found:
        asked = next(place for place in ("head", "relation", "tail") if query[place] is None)
        for answer in query["answers"]:
            fact = {**query, asked: answer.get("entity") or answer["relation"]}
            rows.append(
                (
                    *(fact[place] for place in ("head", "relation", "tail")),
                    *(labels.get(fact[place]) for place in ("head", "tail")),
                    asked,
                    answer["rank"],
                    answer["known"],
                )
            )
    assert table.with_columns(pl.col("known").is_not_null()).drop("score").rows() == rows
    scores = [answer["score"] for query in found for answer in query["answers"]]
    assert table["score"].to_list() == pytest.approx(scores, rel=1e-6)


def test_bad_lines_are_all_told_or_skipped(run: Path) -> None:
    Path("queries.tsv").write_text("nonsense\n" + QUERIES + "e03\tnext\t?\n")
    refused = ask("predict", run, "--queries", "queries.tsv")
    assert refused.exit_code == 2
    assert "line 1: Expected 3 columns" in refused.stderr
    assert "line 5: Unknown entity 'e03'. Did you mean" in refused.stderr
    assert refused.stdout == ""
    skipped = ask("predict", run, "--queries", "queries.tsv", "--skip-bad", "--json")
    assert len(as_json(skipped)["queries"]) == 3
    assert "warning: queries.tsv, line 1: Expected 3 columns" in skipped.stderr
    assert "warning: queries.tsv, line 5: Unknown entity 'e03'" in skipped.stderr


def test_all_queries_of_a_relation(run: Path) -> None:
    arguments = ("predict", run, "--relation", "next", "--all", "-k", 1, "--json")
    tails = as_json(ask(*arguments))["queries"]
    assert [q["head"] for q in tails] == [f"e{n:03}" for n in range(24)]
    assert {q["tail"] for q in tails} == {None}
    heads = as_json(ask(*arguments, "--direction", "head"))["queries"]
    assert [q["tail"] for q in heads] == [f"e{n:03}" for n in range(24)]
    one = as_json(ask("predict", run, "--relation", "next", "--tail", "e007", "-k", 1, "--json"))
    assert names(heads[7]) == names(one)


def test_discover(run: Path) -> None:
    facts = as_json(ask("discover", run, "--relation", "skip", "-k", 5, "--json"))["facts"]
    expected = hale.discover(hale.load_run(run), ["skip"], k=5)
    assert facts == [fact.as_dict() for fact in expected]
    assert [fact["rank"] for fact in facts] == [1, 2, 3, 4, 5]
    shown = ask("discover", run, "--relation", "skip", "--relation", "next", "-k", 5)
    assert len(shown.stdout.splitlines()) == 2 + 10
    written = ask("discover", run, "--relation", "skip", "-k", 5, "--out", "facts.parquet")
    assert written.stdout == "facts.parquet: 5 facts\n"
    table = pl.read_parquet("facts.parquet")
    for row, fact in zip(table.rows(named=True), facts, strict=True):
        assert row == {**fact, "score": pytest.approx(fact["score"], rel=1e-6)}
    assert len(as_json(ask("discover", run, "--json"))["facts"]) == 100


def test_discover_per_query(run: Path) -> None:
    told = as_json(ask("discover", run, "--per-query", 3, "--out", "each.csv", "--json"))
    assert told == {"run": "run", "out": "each.csv", "answers": 24 * 4 * 3}
    expected = pl.concat(hale.discover_each(hale.load_run(run), k=3))
    assert pl.read_csv("each.csv").drop("score").rows() == expected.drop("score").rows()


def test_neighbors(run: Path) -> None:
    found = as_json(ask("neighbors", run, "the first", "-k", 4, "--metric", "cosine", "--json"))
    expected = hale.neighbors(hale.load_run(run), "e000", k=4, metric="cosine")
    assert found["entity"] == "e000"
    assert found["neighbors"] == [neighbor.as_dict() for neighbor in expected]
    shown = ask("neighbors", run, "e000", "-k", 100).stdout.splitlines()
    assert shown[0].strip() == "e000 (the first), nearest by l2 distance"
    assert len(shown) == 2 + 23


def test_why(run: Path) -> None:
    found = as_json(ask("why", run, "e003", "next", "e004", "-k", 2, "--json"))
    assert found["split"] == "train"
    assert len(found["support"]) == 2
    assert found == {
        "run": "run",
        **hale.why(hale.load_run(run), "e003", "next", "e004", k=2).as_dict(),
    }
    shown = ask("why", run, "e003", "next", "the first").stdout
    for words in ("e003  next  e000 (the first)", "known", "no", "rank of the tail", "of 24"):
        assert words in shown
    assert "nearest facts of train with next" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predict", "run", "--head", "e003"], "either a head or a tail"),
        (["predict", "run", "--relation", "next"], "--relation goes with --head, --tail or --all"),
        (["predict", "run", "--queries", "q.tsv", "--head", "e003"], "--queries stands alone"),
        (["predict", "run", "--queries", "q.tsv"], "there is no such file"),
        (["predict", "run", "--all"], "--all goes with --relation"),
        (["predict", "run", "--all", "--relation", "next", "--tail", "e003"], "--all goes with"),
        (["predict", "run", "--all", "--relation", "nxt"], "Did you mean 'next'"),
        (
            ["predict", "run", "--all", "--relation", "next", "--direction", "up"],
            "Unknown direction 'up'",
        ),
        (["predict", "run", "--head", "a", "--tail", "b", "--direction", "head"], "--all"),
        (["predict", "run", "--head", "a", "--tail", "b", "--skip-bad"], "--queries"),
        (["predict", "run", "--head", "e003", "--relation", "next", "-k", "0"], "at least 1"),
        (["predict", "run", "--head", "e1", "--tail", "e2", "--known", "dorp"], "mean 'drop'"),
        (["predict", "run", "--head", "e1", "--tail", "e2", "--out", "x.xls"], "Choose from: .csv"),
        (["predict", "run/none", "--head", "e1", "--tail", "e2"], "There is no run"),
        (["discover", "run", "--relation", "nxt"], "Did you mean 'next'"),
        (["discover", "run", "-k", "0"], "at least 1"),
        (["discover", "run", "--per-query", "3"], "--per-query K goes with --out"),
        (["discover", "run", "--per-query", "0", "--out", "x.csv"], "at least 1"),
        (["discover", "run", "--per-query", "3", "--out", "x.xls"], "Choose from: .csv"),
        (["neighbors", "run", "e0033"], "Did you mean 'e003'"),
        (["neighbors", "run", "e003", "--metric", "l1"], "Choose from: l2, cosine"),
        (["neighbors", "run", "e003", "-k", "0"], "at least 1"),
        (["why", "run", "e003", "next", "e0044"], "Did you mean 'e004'"),
        (["why", "run", "e003", "nxt", "e004"], "Did you mean 'next'"),
        (["why", "run", "e003", "next", "twin"], "2 entities are labelled 'twin'"),
    ],
)
def test_bad_input_is_one_message_and_status_2(
    run: Path, arguments: list[str], message: str
) -> None:
    result = ask(*arguments)
    assert result.exit_code == 2, result.output
    assert message in result.stderr.replace("\n", " ")
    assert "Traceback" not in result.output
    assert result.stdout == ""
    assert [path.name for path in Path().iterdir()] == ["run"]


@pytest.mark.parametrize("command", ["predict", "discover", "neighbors", "why"])
@pytest.mark.parametrize("name", ["settings.json", "model.safetensors", "relations.txt"])
def test_a_damaged_run_names_its_file(run: Path, command: str, name: str) -> None:
    (run / name).write_bytes(b"\x80junk")
    options = {
        "predict": ["--head", "e003", "--relation", "next"],
        "discover": [],
        "neighbors": ["e003"],
        "why": ["e003", "next", "e004"],
    }[command]
    result = ask(command, run, *options)
    assert result.exit_code == 2
    assert name in result.stderr


def test_ctrl_c_is_one_line_and_leaves_no_half_file(tmp_path: Path) -> None:
    num_entities = 20_000
    graph = Graph(
        "large",
        Vocabulary([f"e{n}" for n in range(num_entities)], "entity"),
        Vocabulary(["r"], "relation"),
        train=np.array([[0, 0, 1]]),
        valid=np.empty((0, 3)),
        test=np.empty((0, 3)),
    )
    saved(tmp_path / "run", graph)
    command = [sys.executable, "-m", "hale", "discover", "run", "--per-query", "500"]
    with subprocess.Popen(
        [*command, "--out", "each.csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONWARNINGS": "error"},
        # a shell's background jobs ignore Ctrl-C, and so would their children
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as child:
        deadline = time.monotonic() + 60
        while not (tmp_path / ".each.csv.new").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        child.send_signal(signal.SIGINT)
        output, errors = child.communicate(timeout=60)
    assert child.returncode == 130, errors
    assert errors == "interrupted\n"
    assert output == ""
    assert [path.name for path in tmp_path.iterdir()] == ["run"]

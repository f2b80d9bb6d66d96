"""hale discover as a user meets it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hale as api
from hale.data.graph import Graph, Vocabulary
from tests.cli.invoke import as_json, assert_refused, hale, save_untrained


def test_discover(run: Path) -> None:
    facts = as_json(hale("discover", run, "--relation", "skip", "-k", 5, "--json"))["facts"]
    expected = api.discover(api.load_run(run), ["skip"], k=5)
    assert facts == [fact.as_dict() for fact in expected]
    assert [fact["rank"] for fact in facts] == [1, 2, 3, 4, 5]
    shown = hale("discover", run, "--relation", "skip", "--relation", "next", "-k", 5)
    assert len(shown.stdout.splitlines()) == 2 + 10
    written = hale("discover", run, "--relation", "skip", "-k", 5, "--out", "facts.parquet")
    assert written.stdout == "facts.parquet: 5 facts\n"
    table = pl.read_parquet("facts.parquet")
    for row, fact in zip(table.rows(named=True), facts, strict=True):
        assert row == {**fact, "score": pytest.approx(fact["score"], rel=1e-6)}
    assert len(as_json(hale("discover", run, "--json"))["facts"]) == 100
    more = ("discover", run, "--relation", "skip", "-k", 1000, "--json")
    assert len(as_json(hale(*more))["facts"]) == 20 * 23 - 20, "20 of 24 heads are in train"
    assert len(as_json(hale(*more, "--anything"))["facts"]) == 24 * 23 - 24


def test_discover_per_query(run: Path) -> None:
    told = as_json(hale("discover", run, "--per-query", 3, "--out", "each.csv", "--json"))
    assert told == {"run": "run", "out": "each.csv", "answers": 20 * 4 * 3}, "20 of 24 are in train"
    expected = pl.concat(api.discover_each(api.load_run(run), k=3))
    assert pl.read_csv("each.csv").drop("score").rows() == expected.drop("score").rows()
    everything = ("--per-query", 3, "--anything", "--out", "each.csv", "--json")
    assert as_json(hale("discover", run, *everything))["answers"] == 24 * 4 * 3


def test_tails_of_a_type_or_a_set(typed: Path) -> None:
    def found(*options: object) -> set[tuple[str, str]]:
        asked = ("discover", typed, "--relation", "lives", "-k", 1000, "--json", *options)
        return {(fact["head"], fact["tail"]) for fact in as_json(hale(*asked))["facts"]}

    assert len(found()) == 12, "twelve persons, and one town of three that each does not live in"
    Path("some.txt").write_text("e13\ne4\n")
    some = {(f"e{i}", "e13") for i in (2, 5, 8, 11)}
    assert found("--within", "some.txt") == some
    assert found("--within", "some.txt", "--type", "town") == some
    written = ("discover", typed, "--relation", "lives", "--per-query", 5, "--out", "each.csv")
    hale(*written, "--within", "some.txt")
    rows = pl.read_csv("each.csv").select("head", "tail", "asked").rows()
    assert {row[:2] for row in rows if row[2] == "tail"} == some
    assert {row[0] for row in rows if row[2] == "head"} == {"e4"}, "heads are answers there"
    assert_refused(
        ["discover", "run", "--relation", "lives", "--type", "person"], "nobody is left to answer"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["discover", "run", "--relation", "nxt"], "Did you mean 'next'"),
        (["discover", "run", "-k", "0"], "at least 1"),
        (["discover", "run", "--per-query", "3"], "--per-query K goes with --out"),
        (["discover", "run", "--per-query", "0", "--out", "x.csv"], "at least 1"),
        (["discover", "run", "--per-query", "3", "--out", "x.xls"], "Choose from: .csv"),
    ],
)
def test_bad_input_is_one_message_and_status_2(
    run: Path, arguments: list[str], message: str
) -> None:
    assert_refused(arguments, message, beside=["run"])


@pytest.mark.parametrize("name", ["settings.json", "model.safetensors", "relations.txt"])
def test_a_damaged_run_names_its_file(run: Path, name: str) -> None:
    (run / name).write_bytes(b"\x80junk")
    result = hale("discover", run)
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
    save_untrained(tmp_path / "run", graph)
    command = [sys.executable, "-m", "hale", "discover", "run", "--anything"]
    with subprocess.Popen(
        [*command, "--per-query", "500", "--out", "each.csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONWARNINGS": "error"},
        # a shell's background jobs ignore Ctrl-C, and so would their children
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as child:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob(".each.csv.*")) and time.monotonic() < deadline:
            time.sleep(0.02)
        child.send_signal(signal.SIGINT)
        output, errors = child.communicate(timeout=60)
    assert child.returncode == 130, errors
    assert errors == "interrupted\n"
    assert output == ""
    assert [path.name for path in tmp_path.iterdir()] == ["run"]

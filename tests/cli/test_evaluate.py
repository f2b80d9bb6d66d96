"""hale evaluate as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.invoke import as_json, assert_refused, hale


def test_evaluate(trained: Path) -> None:
    found = as_json(hale("evaluate", trained, "--split", "test", "--json"))
    assert 0 < found["mrr"] <= 1
    assert set(found["by_direction"]) == {"tail", "head"}
    assert set(found["by_relation"]) == {"skip"}
    shown = hale("evaluate", trained, "--split", "valid", "--by-relation")
    assert shown.exit_code == 0
    assert "next" in shown.stdout
    optimistic = as_json(hale("evaluate", trained, "--ties", "optimistic", "--json"))
    assert optimistic["mrr"] >= found["mrr"]
    stored = json.loads((trained / "metrics.json").read_text())
    assert set(stored) == {"training", "test", "valid", "checksum"}
    assert stored["test"]["ties"] == "mean"


def test_typed_figures_are_told_apart(typed: Path) -> None:
    ordinary = as_json(hale("evaluate", typed, "--split", "train", "--json"))
    asked = ("evaluate", typed, "--split", "train", "--typed")
    found = as_json(hale(*asked, "--json"))
    assert found["candidates"] == "of the answers' types"
    assert "candidates" not in ordinary
    assert found["mrr"] > ordinary["mrr"], "towns are told from persons beforehand"
    shown = hale(*asked)
    assert "train split, filtered, among entities of the answers' types" in shown.stdout
    assert "2 targets were no candidates" in shown.stderr, "e15, known and knowing, has no type"
    stored = json.loads((typed / "metrics.json").read_text())
    assert stored["train"]["mrr"] == ordinary["mrr"]
    assert "candidates" not in stored["train"]
    assert stored["train (typed)"]["mrr"] == found["mrr"]
    assert stored["train (typed)"]["candidates"] == found["candidates"]
    assert "train (typed) split" in hale("show", typed).stdout
    Path("some.txt").write_text("e13\ne12\n")
    some = ("evaluate", typed, "--split", "train", "--within", "some.txt")
    assert as_json(hale(*some, "--json"))["count"] == 16, "16 of 24 live there"
    assert "among entities within some.txt (2 entities)" in hale(*some).stdout
    assert set(json.loads((typed / "metrics.json").read_text())) == set(stored), "not kept"
    assert_refused([*map(str, some), "--typed"], "it goes without a type")
    assert_refused(["evaluate", "run", "--type", "twon"], "Did you mean 'town'")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "data"], "is not a run"),
        (["evaluate", "runs/none"], "There is no run"),
        (["evaluate", "runs/x", "--split", "tset"], "Did you mean 'test'"),
        (["evaluate", "runs/x", "--ties", "worst"], "rule for ties"),
    ],
)
def test_bad_input_is_one_message_and_status_2(
    trained: Path, arguments: list[str], message: str
) -> None:
    assert_refused(arguments, message)


def test_a_run_that_cannot_be_written_is_evaluated_all_the_same(trained: Path) -> None:
    (trained / "metrics.json").unlink()
    (trained / "metrics.json").mkdir()
    (trained / "metrics.json" / "in the way").touch()
    result = hale("evaluate", trained)
    assert result.exit_code == 0
    assert "both directions" in result.stdout
    assert "warning: not kept with the run" in result.stderr


def test_both_ways_of_ranking_are_told(trained: Path) -> None:
    plain = as_json(hale("evaluate", trained, "--no-cardinality", "--json"))
    ruled = as_json(hale("evaluate", trained, "--cardinality", "--json"))
    assert "vectors_alone" not in plain
    assert ruled["vectors_alone"]["mrr"] == plain["mrr"]
    assert "vectors alone" in hale("evaluate", trained, "--cardinality").stdout


def test_what_is_refused_leaves_no_path_rules_behind(trained: Path) -> None:
    assert_refused(["evaluate", str(trained), "--paths", "--split", "torn"], "Unknown split 'torn'")
    assert not (trained / "paths.json").exists()
    assert hale("evaluate", trained, "--paths").exit_code == 0
    assert (trained / "paths.json").is_file()

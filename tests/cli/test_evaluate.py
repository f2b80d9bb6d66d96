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
    assert set(stored) == {"training", "test", "valid"}
    assert stored["test"]["ties"] == "mean"


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

"""hale models, strategies, reproduce and tune, as a user meets them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hale.models import MODELS
from hale.objectives import OBJECTIVES
from tests.cli.test_cli import as_json, folder, hale

__all__ = ["folder"]  # the fixture


def test_models_are_listed_with_their_parameters() -> None:
    listed = as_json(hale("models", "-n", 100, "-r", 5, "-d", 8, "--json"))["models"]
    assert [row["name"] for row in listed] == [*MODELS]
    parameters = {row["name"]: row["parameters"] for row in listed}
    assert parameters["transe"] == 100 * 8 + 10 * 8 + 10  # entities, shifts, scales
    assert parameters["rescal"] == 100 * 8 + 10 * 64 + 10
    text = hale("models").stdout
    assert all(name in text for name in MODELS)


def test_strategies_are_listed_with_their_models() -> None:
    listed = as_json(hale("strategies", "--json"))["strategies"]
    assert [row["name"] for row in listed] == [*OBJECTIVES]
    models = {row["name"]: row["models"] for row in listed}
    assert "roth" not in models["hale"]
    assert models["samneg"] == [*MODELS]
    assert models["allneg-square"] == ["transe", "distmult", "complex"]
    assert all(name in hale("strategies").stdout for name in OBJECTIVES)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--model", "roth", "--strategy", "hale"], "Take --model rote"),
        (["--model", "rotl", "--strategy", "allneg-square"], "It takes transe"),
        (["--model", "complex", "--activation", "hanon"], "--similarity l2"),
        (["--strategy", "samnegg"], "Did you mean 'samneg'"),
    ],
)
def test_what_cannot_be_combined_is_told_before_anything_is_read(
    arguments: list[str], says: str
) -> None:
    result = hale("train", "no-such-graph", *arguments)
    assert result.exit_code == 2
    assert says in " ".join(result.stderr.split())


def test_a_baseline_by_the_command_line(folder: Path) -> None:
    found = as_json(
        hale(
            *("train", folder, "--model", "roth", "--strategy", "samneg", "--negatives", 5),
            *("--activation", "identity", "--epochs", 2, "--dim", 8, "--out", "runs/y", "--json"),
        )
    )
    assert found["settings"]["strategy"] == "samneg"
    assert found["settings"]["negatives"] == 5
    assert set(found["training"]) >= {"steps", "seconds"}


def test_reproduce_lists_renders_and_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    listed = hale("reproduce", "table3", "--dataset", "wn18rr", "--model", "rotl", "--list")
    assert "wn18rr-hale-rotl-32-s0-x1" in listed.stdout
    assert "2 cells" in listed.stdout
    row = hale(
        "reproduce", "table5", "--dataset", "wn18rr", "--system", "hale-rotl-square", "--list"
    )
    assert "1 cells" in row.stdout
    page = as_json(hale("reproduce", "--render", "--out", "results", "--json"))["page"]
    assert "not run yet" in Path(page).read_text()
    for arguments, says in (
        (["table9"], "Did you mean"),
        ([], "Name a table or figure"),
        (["table3", "--dataset", "codex-s"], "No cell of table3"),
        (["table3", "--system", "hale-rotl-no-squares"], "Did you mean"),
        (["table3", "--recipe", "mine"], "Unknown recipe"),
    ):
        result = hale("reproduce", *arguments)
        assert result.exit_code == 2
        assert says in result.stderr


def test_tune_writes_a_recipe_and_refuses_nonsense(folder: Path) -> None:
    found = as_json(
        hale(
            "tune", folder, "--dim", 4, "--budget", "1s", "--trial", "0.3s", "--out", "t", "--json"
        )
    )
    assert 0 < found["mrr"] <= 1
    assert "[hale.rotl]" in Path(found["recipe"]).read_text()
    result = hale("tune", folder, "--budget", "soon")
    assert result.exit_code == 2
    assert "a time looks like" in result.stderr

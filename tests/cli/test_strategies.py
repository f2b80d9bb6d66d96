"""hale strategies as a user meets it."""

from __future__ import annotations

from hale.models import MODELS
from hale.objectives import OBJECTIVES
from tests.cli.invoke import as_json, hale


def test_strategies_are_listed_with_their_models() -> None:
    listed = as_json(hale("strategies", "--json"))["strategies"]
    assert [row["name"] for row in listed] == [*OBJECTIVES]
    models = {row["name"]: row["models"] for row in listed}
    assert "roth" not in models["hale"]
    assert models["samneg"] == [*MODELS]
    assert models["allneg-square"] == ["transe", "distmult", "complex"]
    assert all(name in hale("strategies").stdout for name in OBJECTIVES)

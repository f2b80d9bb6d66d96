"""hale strategies as a user meets it."""

from __future__ import annotations

from hale.models import MODELS
from hale.objectives import DISTILLATIONS, OBJECTIVES
from tests.cli.invoke import as_json, hale


def test_strategies_are_listed_with_their_models() -> None:
    listed = as_json(hale("strategies", "--json"))["strategies"]
    assert [row["name"] for row in listed] == [*OBJECTIVES, *DISTILLATIONS]
    assert len(listed) >= 8
    models = {row["name"]: row["models"] for row in listed}
    assert "roth" not in models["hale"]
    assert models["samneg"] == [*MODELS]
    assert models["allneg-square"] == ["transe", "distmult", "complex", "rgcn"]
    shown = hale("strategies").stdout
    assert all(name in shown for name in (*OBJECTIVES, *DISTILLATIONS))

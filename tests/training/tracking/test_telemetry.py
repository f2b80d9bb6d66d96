"""MLflow tells its makers nothing of a run of hale's, unless it is asked to."""

from __future__ import annotations

import importlib
import os
from types import SimpleNamespace

import pytest

from hale.training.tracking.to_mlflow import MLflow

VARIABLE = "MLFLOW_DISABLE_TELEMETRY"


@pytest.mark.parametrize(("given", "met"), [(None, "true"), ("false", "false")])
def test_it_is_told_before_it_is_imported(
    monkeypatch: pytest.MonkeyPatch, given: str | None, met: str
) -> None:
    seen: list[str | None] = []

    def imported(name: str) -> SimpleNamespace:
        seen.append(os.environ.get(VARIABLE))
        return SimpleNamespace(name=name)

    monkeypatch.setenv(VARIABLE, given or "")
    if given is None:
        monkeypatch.delenv(VARIABLE)
    monkeypatch.setattr(importlib, "import_module", imported)
    assert MLflow.package().name == "mlflow"
    assert seen == [met]

"""Runs of MLflow, read back by MLflow itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hale
from hale.data.graph import Graph
from tests.training.tracking.test_tracker import FAST

mlflow = pytest.importorskip("mlflow", reason="the extra mlflow is not installed")
pytest.importorskip("sqlalchemy", reason="MLflow's own store needs it")
pytestmark = pytest.mark.filterwarnings("ignore")  # of a package that is not ours


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    return mlflow.MlflowClient()


def test_a_run_with_settings_and_metrics(client: Any, graph: Graph) -> None:
    run = hale.train(graph, out="runs/x", track="mlflow", validate_every=2, **FAST)
    (found,) = client.search_runs([client.get_experiment_by_name("hale").experiment_id])
    assert found.info.status == "FINISHED"
    assert found.info.run_name == "x"
    assert found.data.params["dim"] == "8"
    assert found.data.tags["hale.stopped_by"] == "epochs"
    told = client.get_metric_history(found.info.run_id, "valid/mrr")
    assert sorted((one.step, one.value) for one in told) == [
        (record.step, record.metrics["mrr"]) for record in run.history
    ]


def test_a_run_that_is_open_is_written_to_and_left_open(client: Any, graph: Graph) -> None:
    with mlflow.start_run() as mine:
        hale.train(graph, track="mlflow", **FAST)
        assert mlflow.active_run().info.run_id == mine.info.run_id
        assert client.get_run(mine.info.run_id).info.status == "RUNNING"
    assert "valid/mrr" in client.get_run(mine.info.run_id).data.metrics
    assert client.get_experiment_by_name("hale") is None

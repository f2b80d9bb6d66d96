"""MLflow: a run in the store that MLflow is set up with."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hale.runs.run import Summary
from hale.training.tracking.tracker import Tracker

EXPERIMENT = "hale"


class MLflow(Tracker):
    """A run of its own, or the one that is open; MLFLOW_TRACKING_URI says in which store.

    Without MLFLOW_EXPERIMENT_NAME the experiment is called hale. MLflow counts by itself how it is
    used, and tells its makers, unless MLFLOW_DISABLE_TELEMETRY says otherwise: here it does, where
    nobody has set it.
    """

    needs = "mlflow"
    extra = "mlflow"

    @classmethod
    def package(cls) -> Any:
        """MLflow, which decides while it is imported what it tells."""
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        return super().package()

    def begin(self, name: str, settings: Mapping[str, Any], folder: Path, step: int) -> None:
        """Open the run and write down the settings."""
        mlflow = self.package()
        self.client = mlflow.MlflowClient()
        open_run = mlflow.active_run()
        self.is_own = open_run is None
        run = open_run or self.client.create_run(self._experiment(), run_name=name)
        self.run_id = run.info.run_id
        known = self.client.get_run(self.run_id).data.params
        told = {key: str(value) for key, value in settings.items() if key not in known}
        parameters = [mlflow.entities.Param(key, value) for key, value in told.items()]
        self.client.log_batch(self.run_id, params=parameters)
        self.client.set_tag(self.run_id, "hale.folder", str(folder))
        self.client.set_tag(self.run_id, "hale.step", str(step))

    def _experiment(self) -> str:
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
        found = self.client.get_experiment_by_name(name)
        return str(found.experiment_id if found else self.client.create_experiment(name))

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """A metric each."""
        metric, now = self.package().entities.Metric, int(time.time() * 1000)
        metrics = [metric(name, value, now, step) for name, value in values.items()]
        self.client.log_batch(self.run_id, metrics=metrics)

    def end(self, summary: Summary | None) -> None:
        """Close a run of our own; one that was open stays so."""
        how = "error" if summary is None else summary.stopped_by
        self.client.set_tag(self.run_id, "hale.stopped_by", how)
        if self.is_own:
            status = {"error": "FAILED", "interrupt": "KILLED"}.get(how, "FINISHED")
            self.client.set_terminated(self.run_id, status=status)

    @classmethod
    def where(cls, folder: Path) -> str:  # noqa: ARG003
        """The command that shows it."""
        return f"mlflow ui --backend-store-uri {cls.package().get_tracking_uri()}"

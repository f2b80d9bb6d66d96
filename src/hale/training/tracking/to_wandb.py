"""Weights & Biases: an offline run, which `wandb sync` sends when it is wanted."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hale.runs.run import Summary
from hale.training.tracking.tracker import Tracker

PROJECT = "hale"


class WeightsAndBiases(Tracker):
    """An offline run in FOLDER/wandb, or the one that is open; WANDB_MODE=online sends it at once.

    Without WANDB_PROJECT the project is called hale.
    """

    needs = "wandb"
    extra = "wandb"

    def begin(self, name: str, settings: Mapping[str, Any], folder: Path, step: int) -> None:
        """Open the run and write down the settings."""
        wandb = self.package()
        self.is_own = wandb.run is None
        self.run = wandb.run or wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            name=name,
            dir=str(folder),
            mode=os.environ.get("WANDB_MODE", "offline"),
            settings=wandb.Settings(silent=True, console="off"),
        )
        self.run.config.update({**settings, "from_step": step}, allow_val_change=True)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """All numbers of a step."""
        self.run.log(dict(values), step=step)

    def end(self, summary: Summary | None) -> None:
        """Close a run of our own; one that was open stays so."""
        self.run.summary["stopped_by"] = "error" if summary is None else summary.stopped_by
        if self.is_own:
            self.run.finish(exit_code=int(summary is None))

    @classmethod
    def where(cls, folder: Path) -> str:
        """The command that sends it."""
        return f"wandb sync {folder / 'wandb'}/offline-run-*"

"""TensorBoard: event files in the run's folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hale.runs.run import Summary
from hale.training.tracking.tracker import Tracker


class TensorBoard(Tracker):
    """Event files in FOLDER/tensorboard; a run that goes on does so at its step."""

    needs = "tensorboard"
    extra = "tensorboard"

    def begin(self, name: str, settings: Mapping[str, Any], folder: Path, step: int) -> None:
        """Open a new event file."""
        from torch.utils.tensorboard import SummaryWriter

        self.writer: Any = SummaryWriter(str(folder / "tensorboard"), purge_step=step or None)
        text = json.dumps({"run": name, **settings}, indent=2)
        self.writer.add_text("settings", f"```json\n{text}\n```", step)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """A scalar each."""
        for name, value in values.items():
            self.writer.add_scalar(name, value, step)

    def end(self, summary: Summary | None) -> None:
        """Say how it ended."""
        how = "error" if summary is None else summary.stopped_by
        self.writer.add_text("stopped_by", how, 0 if summary is None else summary.steps)
        self.writer.close()

    @classmethod
    def where(cls, folder: Path) -> str:
        """The command that shows it."""
        return f"tensorboard --logdir {folder / 'tensorboard'}"

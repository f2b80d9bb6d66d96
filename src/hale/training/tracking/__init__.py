"""Tracking: a run's numbers, written where other programs look for them while it trains.

tracker          what is told, and when
to_tensorboard   event files for TensorBoard (extra 'tensorboard')
to_mlflow        a run of MLflow (extra 'mlflow')
to_wandb         a run of Weights & Biases, offline (extra 'wandb')
"""

from __future__ import annotations

from hale.errors import UnknownNameError
from hale.training.tracking.to_mlflow import MLflow
from hale.training.tracking.to_tensorboard import TensorBoard
from hale.training.tracking.to_wandb import WeightsAndBiases
from hale.training.tracking.tracker import Tracker

TRACKERS: dict[str, type[Tracker]] = {
    "tensorboard": TensorBoard,
    "mlflow": MLflow,
    "wandb": WeightsAndBiases,
}


def tracker_class(name: str) -> type[Tracker]:
    """The tracker of that name; an error if there is none, or its package is not installed."""
    if name not in TRACKERS:
        raise UnknownNameError("tracker", name, TRACKERS)
    TRACKERS[name].package()
    return TRACKERS[name]

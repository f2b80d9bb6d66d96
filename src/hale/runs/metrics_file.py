"""metrics.json of a run: how training went, and the reports of evaluations, one a split.

Several may evaluate a run at once, each with what it read when it loaded the run: who keeps a
report reads the file again, under the run's lock, and changes that one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from hale.errors import HaleWarning, RunError
from hale.runs.file_names import METRICS
from hale.runs.folder import RunFolder

T = TypeVar("T")


def read_or_warn(folder: RunFolder, name: str, read: Callable[[], T], nothing: T) -> T:
    """What a file tells of a run, which answers without it too: a damaged one is warned of."""
    if not folder.has(name):
        return nothing
    try:
        with folder.blaming(name):
            return read()
    except RunError as error:
        warnings.warn(f"{error} What it told is left out.", HaleWarning, stacklevel=3)
        return nothing


def read_metrics(folder: RunFolder) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """How training went, as it was written down, and the reports by split."""
    found: dict[str, Any] = {}
    found = read_or_warn(folder, METRICS, lambda: {**folder.read_json(METRICS)}, found)
    return found.pop("training", None), found


def write_metrics(
    folder: RunFolder, training: Mapping[str, Any], reports: Mapping[str, Any]
) -> None:
    """The whole file anew."""
    folder.write_json(METRICS, {"training": dict(training), **reports})


def reports_of(folder: RunFolder, kept_step: int) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """The same as ``read_metrics``, if it was said of the weights of that step; else nothing."""
    training, reports = read_metrics(folder)
    if isinstance(training, dict) and training.get("kept_step") == kept_step:
        return training, reports
    return None, {}

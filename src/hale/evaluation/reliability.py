"""Reliability: how often verdicts are right, and whether probabilities mean what they say."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hale.errors import InputError

Floats = NDArray[np.float64]
Labels = NDArray[np.bool_]

BINS = 10
BANDS = ((0.9, 1.0), (0.5, 0.9), (0.0, 0.5))  # 1 belongs to the first


@dataclass(frozen=True)
class Bin:
    """The triples whose probability falls into one tenth."""

    count: int
    probability: float  # their mean
    share: float  # of them that are true


@dataclass(frozen=True)
class Quality:
    """Of verdicts and probabilities against the truth."""

    count: int
    positives: int
    accuracy: float
    f1: float
    precision: float
    recall: float
    calibration_error: float
    bins: tuple[Bin, ...]

    @classmethod
    def of(cls, labels: Labels, verdicts: Labels, probabilities: Floats) -> Quality:
        """Compare labels (n,), verdicts (n,) and probabilities (n,), n >= 1.

            F1 = 2 TP / (2 TP + FP + FN)
            calibration error = sum_b |bin b| / n * |share true in b - mean probability in b|

        over ten bins of equal width (the expected calibration error, ECE, of the
        probability of 'true'). Where nothing is called true, or is true, precision,
        recall and F1 are 0.
        """
        if not len(labels):
            raise InputError("There are no labelled triples to compare with.")
        hits = int((labels & verdicts).sum())
        called, positives = int(verdicts.sum()), int(labels.sum())
        bins = _bins(labels, probabilities)
        return cls(
            count=len(labels),
            positives=positives,
            accuracy=float((labels == verdicts).mean()),
            f1=2 * hits / (called + positives) if called + positives else 0.0,
            precision=hits / called if called else 0.0,
            recall=hits / positives if positives else 0.0,
            calibration_error=_error(bins, len(labels)),
            bins=bins,
        )

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {**asdict(self), "bins": [asdict(part) for part in self.bins]}


@dataclass(frozen=True)
class Band:
    """The answers shown with a probability from ``low`` to before ``high``."""

    low: float
    high: float
    count: int
    probability: float | None  # their mean; None where there are none
    share: float | None  # of them that are true


@dataclass(frozen=True)
class Reliability:
    """Whether the probabilities of shown answers mean what they say."""

    count: int
    hits: int
    calibration_error: float
    log_loss: float
    bands: tuple[Band, ...]

    @classmethod
    def of(cls, labels: Labels, probabilities: Floats) -> Reliability:
        """Compare labels (n,) and probabilities (n,), n >= 1, in the bands of BANDS.

        The calibration error is that of ``Quality``.
        """
        found = []
        for low, high in BANDS:
            mine = (probabilities >= low) & ((probabilities < high) | (high == 1))
            some = bool(mine.any())
            found.append(
                Band(
                    low=low,
                    high=high,
                    count=int(mine.sum()),
                    probability=float(probabilities[mine].mean()) if some else None,
                    share=float(labels[mine].mean()) if some else None,
                )
            )
        right = np.clip(np.where(labels, probabilities, 1 - probabilities), 1e-9, 1)
        return cls(
            count=len(labels),
            hits=int(labels.sum()),
            calibration_error=_error(_bins(labels, probabilities), len(labels)),
            log_loss=float(-np.log(right).mean()),
            bands=tuple(found),
        )

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {**asdict(self), "bands": [asdict(band) for band in self.bands]}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Reliability:
        """Back from ``as_dict``."""
        return cls(**{**values, "bands": tuple(Band(**band) for band in values["bands"])})


def _error(bins: tuple[Bin, ...], count: int) -> float:
    return sum(part.count / count * abs(part.share - part.probability) for part in bins)


def _bins(labels: Labels, probabilities: Floats) -> tuple[Bin, ...]:
    """The bins that hold something, lowest first; a probability of 1 falls into the last."""
    place = np.minimum((probabilities * BINS).astype(np.int64), BINS - 1)
    found = []
    for number in np.unique(place).tolist():
        mine = place == number
        found.append(
            Bin(int(mine.sum()), float(probabilities[mine].mean()), float(labels[mine].mean()))
        )
    return tuple(found)

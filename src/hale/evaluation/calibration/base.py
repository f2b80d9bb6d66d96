"""Calibration: how a run's scores become probabilities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hale.data.graph import Graph
from hale.data.keys import Codes, Ids
from hale.evaluation.calibration.listing import Listed, Listing
from hale.runs.run import Run

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Judgement:
    """What is made of claims (n,): how likely, and whether true.

    ``thresholds`` are scores from which a claim counts as true; None where scores do not decide.
    """

    scores: Floats
    probabilities: Floats
    true: NDArray[np.bool_]
    thresholds: Floats | None = None


class Judge(ABC):
    """A calibration together with the run that it belongs to, ready to be asked."""

    @abstractmethod
    def answers(self, triples: Ids, asked: Codes, listed: Listed | None = None) -> Floats:
        """Probabilities of answers, put into their queries: (n, 3) -> (n,).

        ``asked`` (n,) is the column that each query left open: 0, 1 or 2. ``listed`` has what a
        ``listing`` made for the questions of the answers for entities.
        """

    def listing(self, given: Ids, relations: Ids, depth: int) -> Listing | None:  # noqa: ARG002
        """What is to see the scores of questions (n,), (n,) while their ``depth`` best are found.

        None where probabilities do not rest on other candidates.
        """
        return None

    @abstractmethod
    def claims(self, triples: Ids) -> Judgement:
        """What is made of triples (n, 3) that nobody asked for."""


@dataclass(frozen=True, repr=False)
class Calibration(ABC):
    """How a run's scores become probabilities; ``meaning`` says what they are shares of."""

    kind: ClassVar[str]
    meaning: ClassVar[str]
    of_train: ClassVar[str] = ""  # what is to be said beside it of facts that train holds
    command: ClassVar[str]  # what makes it again, after 'hale calibrate RUN'

    step: int  # the kept step of the run
    weights: str  # fingerprint of the weights that gave the scores

    def __repr__(self) -> str:
        return f"{type(self).__name__}(of step {self.step}: {self.meaning})"

    @abstractmethod
    def judge(self, run: Run) -> Judge:
        """Ready to be asked about the run that it was made for."""

    @abstractmethod
    def as_dict(self, graph: Graph) -> dict[str, Any]:
        """Ready for JSON, with the relations by name."""

    @classmethod
    @abstractmethod
    def from_dict(cls, values: dict[str, Any], graph: Graph) -> Calibration:
        """Back from ``as_dict``."""

    def probability_of(self, run: Run, triples: Ids) -> Floats:
        """Probabilities of triples of ids: (n, 3) -> (n,)."""
        return self.judge(run).claims(triples).probabilities

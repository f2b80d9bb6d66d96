"""Metrics: what ranks say of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hale.data.results import Framed
from hale.evaluation.ranks import Ties

HITS = (1, 3, 10)


@dataclass(frozen=True)
class Metrics:
    """Quality of a set of ranks."""

    count: int
    mrr: float
    mean_rank: float
    hits: Mapping[int, float]

    @classmethod
    def of(cls, ranks: NDArray[np.float64]) -> Metrics:
        """Mean reciprocal rank, mean rank and Hits@k of ranks (n,), n >= 1."""
        return cls(
            count=len(ranks),
            mrr=float((1 / ranks).mean()),
            mean_rank=float(ranks.mean()),
            hits={k: float((ranks <= k).mean()) for k in HITS},
        )

    def as_dict(self) -> dict[str, Any]:
        """Flat and ready for JSON: mrr, mean_rank, hits@1, hits@3, hits@10, count."""
        hits = {f"hits@{k}": share for k, share in self.hits.items()}
        return {"mrr": self.mrr, "mean_rank": self.mean_rank, **hits, "count": self.count}


@dataclass(frozen=True)
class Sample:
    """Where only some triples of a split were ranked: how many, of how many, how sure that is."""

    triples: int
    of: int
    mrr_standard_error: float

    @classmethod
    def of_ranks(cls, ranks: NDArray[np.float64], whole: int) -> Sample:
        """Of the ranks (2 n,) of n triples, both ways, of ``whole``.

        The two ranks of a triple go together, so their mean is what is spread.
        """
        each = (1 / ranks).reshape(2, -1).mean(axis=0)
        spread = float(each.std(ddof=1)) if len(each) > 1 else 0.0
        return cls(len(each), whole, spread / len(each) ** 0.5)


@dataclass(frozen=True, repr=False)
class Report(Framed):
    """The metrics of one split: of all ranks, by direction and by relation."""

    split: str
    ties: Ties
    overall: Metrics
    by_direction: Mapping[str, Metrics]
    by_relation: Mapping[str, Metrics]
    seconds: float
    sample: Sample | None = None  # None where all triples were ranked
    # Who was ranked, where that is not all entities, and how many targets were not among them:
    # such a figure and the ordinary one are not comparable.
    candidates: str | None = None
    missed: int = 0
    # Without the cardinality rule; None where ranks are by the vectors alone anyway.
    vectors_alone: Metrics | None = None

    @property
    def mrr(self) -> float:
        """Mean reciprocal rank over both directions."""
        return self.overall.mrr

    @property
    def mean_rank(self) -> float:
        """Mean rank over both directions."""
        return self.overall.mean_rank

    @property
    def hits(self) -> Mapping[int, float]:
        """Hits@k over both directions, by k."""
        return self.overall.hits

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON; the overall metrics stand at the top."""
        limited = {"candidates": self.candidates, "missed": self.missed} if self.candidates else {}
        return {
            "split": self.split,
            **self.overall.as_dict(),
            "ties": self.ties,
            "by_direction": {name: part.as_dict() for name, part in self.by_direction.items()},
            "by_relation": {name: part.as_dict() for name, part in self.by_relation.items()},
            "seconds": self.seconds,
            **({} if self.sample is None else {"sample": asdict(self.sample)}),
            **limited,
            **self._ruled(),
        }

    def _ruled(self) -> dict[str, Any]:
        """The rule that ranked, and the metrics without it."""
        if self.vectors_alone is None:
            return {}
        return {"cardinality": True, "vectors_alone": self.vectors_alone.as_dict()}

    def to_polars(self) -> pl.DataFrame:
        """A row of metrics for all ranks, each direction and each relation; null means all."""
        rows = [
            {"relation": None, "direction": None, **self.overall.as_dict()},
            *({"direction": name, **part.as_dict()} for name, part in self.by_direction.items()),
            *({"relation": name, **part.as_dict()} for name, part in self.by_relation.items()),
        ]
        return pl.DataFrame(
            rows, schema_overrides=dict.fromkeys(("relation", "direction"), pl.String)
        )

    def __repr__(self) -> str:
        hits = ", ".join(f"Hits@{k} {share:.4f}" for k, share in self.hits.items())
        some = "" if self.sample is None else f", of {self.sample.triples:,} of {self.sample.of:,}"
        count = f"{self.overall.count:,} ranks{some}"
        rule = ""
        if self.vectors_alone is not None:
            rule = f", with the cardinality rule; {self.vectors_alone.mrr:.4f} without"
        return f"Report({self.split} split: MRR {self.mrr:.4f}{rule}, {hits}; {count})"

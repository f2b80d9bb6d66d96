"""Evaluator: filtered ranks over all entities, in both directions -> metrics."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hale.data.graph import Graph, Ids, KnownAnswers
from hale.errors import EvaluationError, InputError, UnknownNameError
from hale.models import Model
from hale.runs.run import Run

Ties = Literal["mean", "optimistic", "pessimistic"]
HITS = (1, 3, 10)

# Scores held at once: 16 MB in float32, whatever the number of entities (at least one query).
CHUNK_ELEMENTS = 1 << 22


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
class Report:
    """The metrics of one split: of all ranks, by direction and by relation."""

    split: str
    ties: Ties
    overall: Metrics
    by_direction: Mapping[str, Metrics]
    by_relation: Mapping[str, Metrics]
    seconds: float

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
        return {
            "split": self.split,
            **self.overall.as_dict(),
            "ties": self.ties,
            "by_direction": {name: part.as_dict() for name, part in self.by_direction.items()},
            "by_relation": {name: part.as_dict() for name, part in self.by_relation.items()},
            "seconds": self.seconds,
        }


def evaluate(run: Run, split: str = "test", *, ties: Ties = "mean") -> Report:
    """Rank every triple of a split, filtered by all known triples, and report.

    Each triple asks for its tail and for its head. All entities are candidates,
    except the other known answers (train, valid and test) of the same query.
    """
    return evaluate_model(run.model, run.graph, split, ties=ties)


def evaluate_model(model: Model, graph: Graph, split: str, *, ties: Ties = "mean") -> Report:
    """The report of a bare model on a graph; see ``evaluate``."""
    triples = graph.split(split)
    if not len(triples):
        raise InputError(
            f"The graph {graph.name!r} has no {split} triples to evaluate on; "
            "give a folder with that split, or a single file with a held-out share."
        )
    if ties not in get_args(Ties):
        raise UnknownNameError("rule for ties", ties, get_args(Ties))
    begun = time.perf_counter()
    ranks = filtered_ranks(model, graph.both_directions(triples), graph.known(), ties=ties)
    tails, heads = ranks[: len(triples)], ranks[len(triples) :]
    by_relation = {}
    for relation in np.unique(triples[:, 1]):
        mine = triples[:, 1] == relation
        name = graph.relations[int(relation)]
        by_relation[name] = Metrics.of(np.concatenate([tails[mine], heads[mine]]))
    return Report(
        split=split,
        ties=ties,
        overall=Metrics.of(ranks),
        by_direction={"tail": Metrics.of(tails), "head": Metrics.of(heads)},
        by_relation=by_relation,
        seconds=time.perf_counter() - begun,
    )


@torch.inference_mode()
def filtered_ranks(
    model: Model, triples: Ids, known: KnownAnswers, *, ties: Ties = "mean"
) -> NDArray[np.float64]:
    """The rank of each triple's tail among all entities: (n, 3) -> (n,).

    With G the number of candidates that score higher than the target and T that
    of those that score the same (itself included), leaving out the other known
    answers: optimistic 1 + G, pessimistic G + T, mean half of their sum. Scores
    that are not finite are refused, since NaN would rank first everywhere.
    """
    num_entities = model.size.num_entities
    device = model.entities().device
    chunk = max(1, CHUNK_ELEMENTS // num_entities)
    ranks = np.empty(len(triples))
    for start in range(0, len(triples), chunk):
        part = triples[start : start + chunk]
        ids = torch.tensor(part, device=device)
        scores = model.score_all(ids[:, 0], ids[:, 1])
        _refuse_non_finite(scores)
        target = scores.gather(1, ids[:, 2:])
        rows, others = (torch.from_numpy(x).to(device) for x in known.of(part[:, 0], part[:, 1]))
        keep = others != ids[rows, 2]  # the target itself stays a candidate
        rows, others = rows[keep], others[keep]

        higher, no_lower = _count(scores, target)
        beaten, rivals = scores[rows, others], target[rows, 0]
        higher -= torch.bincount(rows[beaten > rivals], minlength=len(part))
        no_lower -= torch.bincount(rows[beaten >= rivals], minlength=len(part))
        rank = {
            "optimistic": 1 + higher,
            "pessimistic": no_lower,
            "mean": (1 + higher + no_lower) / 2,
        }[ties]
        ranks[start : start + chunk] = rank.cpu().numpy()
    return ranks


def _count(scores: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Candidates above, and at or above, the target: (B, N), (B, 1) -> (B,), (B,).

    Comparisons are written as floats and summed: several times faster than
    summing booleans, and exact up to 2^24 candidates in float32.
    """
    exact = torch.float32 if scores.shape[1] < 1 << 24 else torch.float64
    buffer = torch.empty_like(scores, dtype=exact)
    higher = torch.gt(scores, target, out=buffer).sum(dim=1).long()
    no_lower = torch.ge(scores, target, out=buffer).sum(dim=1).long()
    return higher, no_lower


def _refuse_non_finite(scores: Tensor) -> None:
    """Cheap first: one sum is finite only if all scores are (or it overflowed)."""
    if not torch.isfinite(scores.sum()) and not torch.isfinite(scores).all():
        raise EvaluationError(
            "The model gives scores that are not finite, so ranks would mean nothing. "
            "Train again with a lower learning rate, or resume from an earlier state."
        )

"""Why: how a fact ranks, and the known facts that support it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
import torch

from hale.answers.arrays import HEAD, RELATION, TAIL
from hale.answers.neighborhood import distances_from
from hale.answers.paths import PathRule, path_rules
from hale.data.graph import SPLITS, Split
from hale.data.results import Framed, frame_of_records
from hale.errors import InputError
from hale.evaluation.calibration import calibration_of, kept_calibration
from hale.evaluation.cardinality_rule import rule_of
from hale.evaluation.ranks import filtered_ranks
from hale.runs.run import RunSource, open_run


@dataclass(frozen=True)
class Support:
    """A fact of train with the same relation, and how near its entities are.

    distance^2 = ||e_h - e_h'||^2 + ||e_t - e_t'||^2
    """

    head: str
    head_label: str | None
    tail: str
    tail_label: str | None
    distance: float
    head_distance: float
    tail_distance: float


@dataclass(frozen=True, repr=False)
class Explanation(Framed):
    """How a run judges one fact.

    Ranks are filtered, among all entities, ties at their mean: ``tail_rank`` of
    the tail as an answer to (head, relation, ?), ``head_rank`` of the head as one
    to (?, relation, tail).
    """

    head: str
    head_label: str | None
    relation: str
    tail: str
    tail_label: str | None
    score: float  # score(h, r, t), of the fact read from head to tail
    tail_rank: float
    head_rank: float
    num_entities: int
    split: Split | None  # that holds the fact, None if the graph does not know it
    support: tuple[Support, ...]
    probability: float | None = None  # None while the run's scores are not calibrated
    paths: tuple[PathRule, ...] = ()  # rules of train that lead from head to tail

    @property
    def known(self) -> bool:
        """Whether the graph holds the fact, in any split."""
        return self.split is not None

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        found = asdict(self)
        if self.probability is None:
            del found["probability"]
        paths = [
            {
                **asdict(rule),
                "relations": [*rule.relations],
                "through": [*rule.through],
                "confidence": rule.confidence,
            }
            for rule in self.paths
        ]
        return {**found, "support": [asdict(fact) for fact in self.support], "paths": paths}

    def to_polars(self) -> pl.DataFrame:
        """The supporting facts, a row each."""
        return frame_of_records(Support, self.support)

    def __repr__(self) -> str:
        sure = "" if self.probability is None else f", probability {self.probability:.3f}"
        return (
            f"Explanation({self.head} {self.relation} {self.tail}: rank {self.tail_rank:g} of "
            f"{self.num_entities:,} tails, {self.head_rank:g} of heads{sure}, "
            f"{len(self.support)} supporting facts)"
        )


@torch.inference_mode()
def why(run: RunSource, head: str, relation: str, tail: str, *, k: int = 5) -> Explanation:
    """The rank and score of a fact, and the k facts of train nearest to it.

    Nearest are those of the same relation whose head and tail are nearest to the
    fact's own, by the sum of their squared distances. The fact itself is not
    among them. Beside them stand the k most trustworthy rules by which other facts of train lead
    from head to tail (``path_rules``). The probability is that of the calibration kept with the
    run, or of one made now; without validation triples that tell anything there is none.
    """
    if k < 1:
        raise InputError(f"The number of supporting facts is at least 1, got {k}.")
    run = open_run(run)
    graph, model = run.graph, run.model
    fact = np.array([[graph.entity_id(head), graph.relations.id(relation), graph.entity_id(tail)]])
    tail_rank, head_rank = filtered_ranks(
        model, graph.both_directions(fact), graph.known_answers, rule=rule_of(run)
    )
    ids = torch.tensor(fact, device=model.entities().device)
    code = int(graph.split_index.codes(fact)[0])

    same = graph.train[graph.train[:, RELATION] == fact[0, RELATION]]
    same = same[(same != fact[0]).any(axis=1)]
    near = np.stack(
        [
            distances_from(model.places(), same[:, place], int(fact[0, place]))
            for place in (HEAD, TAIL)
        ],
        axis=1,
    )
    distances = np.sqrt(np.square(near, dtype=np.float64).sum(axis=1))
    order = np.argsort(distances, kind="stable")[:k]

    def named(number: int) -> tuple[str, str | None]:
        return graph.entities[number], graph.label(graph.entities[number])

    probability, sure = None, kept_calibration(run)  # one that does not fit is warned of
    if sure is None and len(graph.valid):
        with suppress(InputError):  # validation triples that tell nothing
            sure = calibration_of(run)
    if sure is not None:
        probability = float(sure.probability_of(run, fact)[0])
    return Explanation(
        *named(int(fact[0, HEAD])),
        relation,
        *named(int(fact[0, TAIL])),
        score=float(model.score(*ids.T)),
        tail_rank=float(tail_rank),
        head_rank=float(head_rank),
        num_entities=len(graph.entities),
        split=None if code < 0 else SPLITS[code],
        probability=probability,
        paths=tuple(path_rules(graph, (int(fact[0, 0]), int(fact[0, 1]), int(fact[0, 2])), k=k)),
        support=tuple(
            Support(
                *named(int(same[row, HEAD])),
                *named(int(same[row, TAIL])),
                distance=float(distances[row]),
                head_distance=float(near[row, 0]),
                tail_distance=float(near[row, 1]),
            )
            for row in order
        ),
    )

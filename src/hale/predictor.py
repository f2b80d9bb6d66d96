"""Predictor: the answers that a run gives to one query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from hale.errors import EvaluationError, InputError
from hale.graph import SPLITS, Split
from hale.run import Run


@dataclass(frozen=True)
class Answer:
    """One answer, and the split that holds it if the graph knows the fact already."""

    rank: int
    entity: str
    label: str | None
    score: float  # -||q - e||^2: at most 0, higher is better
    split: Split | None

    @property
    def known(self) -> bool:
        """Whether the graph holds the fact, in any split."""
        return self.split is not None

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "rank": self.rank,
            "entity": self.entity,
            "label": self.label,
            "score": self.score,
            "known": self.known,
        }


@dataclass(frozen=True)
class Answers(Sequence[Answer]):
    """The best answers to a query with one empty place, best first."""

    head: str | None
    relation: str
    tail: str | None
    answers: tuple[Answer, ...]

    def __len__(self) -> int:
        return len(self.answers)

    def __getitem__(self, place: Any) -> Any:
        return self.answers[place]

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.answers)

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "head": self.head,
            "relation": self.relation,
            "tail": self.tail,
            "answers": [answer.as_dict() for answer in self.answers],
        }


@torch.inference_mode()
def predict(
    run: Run,
    *,
    head: str | None = None,
    relation: str | None = None,
    tail: str | None = None,
    k: int = 10,
) -> Answers:
    """The k best tails of (head, relation), or heads of (relation, tail).

    Entities are named by id or by a label that only one of them has. Known
    facts are marked, not left out; more than N answers are not to be had.
    """
    if relation is None or (head is None) == (tail is None):
        raise InputError("A query has a relation and either a head or a tail.")
    if k < 1:
        raise InputError(f"The number of answers is at least 1, got {k}.")
    graph = run.graph
    fact_relation = relation_id = graph.relations.id(relation)
    place = 0 if tail is None else 2  # of the given entity in a triple
    if tail is None:
        assert head is not None
        given = graph.entity_id(head)
        head = graph.entities[given]
    else:  # the reciprocal relation asks for heads
        given = graph.entity_id(tail)
        tail = graph.entities[given]
        relation_id += len(graph.relations)

    device = run.model.entities().device
    query = torch.tensor([given, relation_id], device=device)
    scores = run.model.score_all(query[:1], query[1:])[0]
    if not torch.isfinite(scores).all():
        raise EvaluationError("The model gives scores that are not finite; train it again.")
    best = scores.clamp_max(0).topk(min(k, len(scores)))  # rounding can pass 0
    holders: dict[int, Split] = {}
    for split in reversed(SPLITS):  # a fact in several counts as train's
        triples = graph.split(split)
        mine = triples[(triples[:, 1] == fact_relation) & (triples[:, place] == given)]
        holders |= dict.fromkeys(mine[:, 2 - place].tolist(), split)
    answers = tuple(
        Answer(
            rank=rank,
            entity=graph.entities[entity],
            label=graph.label(graph.entities[entity]),
            score=score,
            split=holders.get(entity),
        )
        for rank, (entity, score) in enumerate(
            zip(best.indices.tolist(), best.values.tolist(), strict=True), start=1
        )
    )
    return Answers(head=head, relation=relation, tail=tail, answers=answers)

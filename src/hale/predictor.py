"""Predictor: the answers that a run gives to one query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from hale.errors import EvaluationError, InputError
from hale.run import Run


@dataclass(frozen=True)
class Answer:
    """One answer; ``known`` if the graph holds the fact already (in any split)."""

    rank: int
    entity: str
    label: str | None
    score: float  # -||q - e||^2: at most 0, higher is better
    known: bool


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
            "answers": [asdict(answer) for answer in self.answers],
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
    relation_id = graph.relations.id(relation)
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
    best = scores.topk(min(k, len(scores)))
    _, known = graph.known().of(np.array([given]), np.array([relation_id]))
    facts = set(known.tolist())
    answers = tuple(
        Answer(
            rank=rank,
            entity=graph.entities[entity],
            label=graph.label(graph.entities[entity]),
            score=score,
            known=entity in facts,
        )
        for rank, (entity, score) in enumerate(
            zip(best.indices.tolist(), best.values.tolist(), strict=True), start=1
        )
    )
    return Answers(head=head, relation=relation, tail=tail, answers=answers)

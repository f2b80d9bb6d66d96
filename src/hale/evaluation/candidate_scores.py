"""The scores of the candidates of many queries, and the best of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hale.data.keys import Ids, places_in
from hale.data.known_answers import KnownAnswers
from hale.engine.group import ALONE, Group
from hale.engine.shards import Span
from hale.engine.topk import merged, merged_over, top
from hale.evaluation.candidates import Candidates
from hale.evaluation.cardinality_rule import CardinalityRule
from hale.evaluation.spans import (
    by_vectors_alone,
    chunk_size,
    chunks_of,
    held,
    refuse_non_finite,
    score_queries,
    spans_of,
    widest_span,
    width_of,
)
from hale.models import Model
from hale.models.base import LAST

# Rows are gathered where candidates are at most this share of all entities; else all are scored,
# and the others left out. Gathered rows cost a copy more than those that lie side by side.
GATHERED = 0.5


class CandidateScores(NamedTuple):
    """Some queries with the scores of a part of the entities."""

    rows: Ids  # (b,) which of the queries
    scores: Tensor  # (b, K), minus infinity where an entity is no candidate
    entities: Tensor  # (K,) of the columns, ascending
    known: tuple[Tensor, Tensor]  # rows and columns of the scores that are known answers
    last: bool  # whether these queries have no other part


def score_candidates(
    model: Model,
    given: Ids,
    relations: Ids,
    candidates: Candidates,
    known: KnownAnswers | None = None,
) -> Iterator[CandidateScores]:
    """The scores of the candidates of queries (n,), (n,), block after block.

    Queries of a relation with few candidates are scored against those alone, so they cost what
    the candidates cost; the others against all entities. So the blocks do not come in the order
    of the queries, but each query's one after the other; one without candidates has none.
    ``known`` tells which answers to find among them. Memory is that of ``score_queries``. Of
    entities that ranks of a group share, the blocks have those held here, perhaps none.
    """
    asked, which = np.unique(relations, return_inverse=True)
    allowed = [candidates.of(relation) for relation in asked.tolist()]
    # a model with scores of its own (another library's) has no rows to gather
    most = GATHERED * model.size.num_entities if by_vectors_alone(model) else -1
    narrow = np.array([ids is not None and len(ids) <= most for ids in allowed], dtype=bool)
    blocks = [_all_entities(model, given, relations, allowed, which, ~narrow, known)]
    order = np.argsort(which, kind="stable")
    ends = np.cumsum(np.bincount(which, minlength=len(asked))).tolist()
    for ids, few, start, end in zip(allowed, narrow, [0, *ends], ends, strict=False):
        if few and ids is not None:
            blocks.append(_gathered(model, given, relations, ids, order[start:end], known))
    for scored in (block for part in blocks for block in part):
        scores = scored.scores
        # the given entity where it is no answer to its own query
        own = torch.from_numpy(given[scored.rows]).to(scores.device)
        columns, there = columns_of(scored.entities, own)
        barred = torch.from_numpy(~candidates.loops[relations[scored.rows]]).to(scores.device)
        out = (barred & there).nonzero().squeeze(1)
        scores.index_put_((out, columns[out]), scores.new_tensor(-torch.inf))
        yield scored


def _all_entities(
    model: Model,
    given: Ids,
    relations: Ids,
    allowed: list[Ids | None],
    which: Ids,
    wide: NDArray[np.bool_],
    known: KnownAnswers | None,
) -> Iterator[CandidateScores]:
    """Queries whose relation, the ``which``-th, is ``wide``; who may not answer is left out."""
    rows = np.flatnonzero(wide[which])
    for scored in score_queries(model, given[rows], relations[rows], known):
        scores, first = scored.scores, scored.first
        span = Span(first, first + scores.shape[1])
        here, own = np.unique(which[rows[scored.part]], return_inverse=True)
        limits = [allowed[number] for number in here.tolist()]
        if any(ids is not None for ids in limits):
            out = torch.from_numpy(np.stack([_outside(ids, span) for ids in limits]))
            out = out.to(scores.device)
            scores.masked_fill_(out[torch.from_numpy(own)] if len(out) > 1 else out, -torch.inf)
        entities = torch.arange(*span, device=scores.device)
        last = span.last == held(model).last
        yield CandidateScores(rows[scored.part], scores, entities, scored.known, last)


def _gathered(
    model: Model,
    given: Ids,
    relations: Ids,
    ids: Ids,
    rows: Ids,
    known: KnownAnswers | None,
) -> Iterator[CandidateScores]:
    """Queries (m,) ``rows`` of one relation, against the rows of its candidates (K,) alone."""
    if not len(ids):
        return
    device = model.entities().device
    widest = widest_span(0, len(ids), width_of(model))
    ids = ids[slice(*np.searchsorted(ids, held(model)))]  # those that are held here
    spans = spans_of(0, len(ids), width_of(model)) or [Span(0, 0)]
    entities = torch.from_numpy(ids).to(device)
    for part in chunks_of(given[rows], relations[rows], chunk_size(widest), known):
        mine = rows[part]
        head, relation = (torch.from_numpy(x[mine]).to(device) for x in (given, relations))
        barred = model.ruled_out(relation)
        at = columns = np.empty(0, dtype=np.int64)
        if known is not None:
            at, answers = known.of(given[mine], relations[mine])
            columns = places_in(ids, answers)  # -1, inside no span, if it is no candidate
        for span in spans:
            some = entities[slice(*span)]
            scores = model.score_rows(head, relation, some)
            refuse_non_finite(scores)
            if barred is not None:  # the run's own rule, as among all entities
                itself = barred[:, None] & (head[:, None] == some)
                scores = scores.masked_fill(itself, LAST)
            inside = (columns >= span.first) & (columns < span.last)
            pairs = at[inside], columns[inside] - span.first
            here, there = (torch.from_numpy(x).to(device) for x in pairs)
            yield CandidateScores(mine, scores, some, (here, there), span == spans[-1])


class Onlooker(Protocol):
    """Somebody else who has use for the blocks of a pass, and looks up answers in some facts."""

    known: KnownAnswers

    def add(self, block: CandidateScores) -> None:
        """Look at a block, and leave it as it is."""


class BestOf:
    """The k best candidates of some queries (n,), (n,), from their blocks, under a rule or none.

    Taken and free candidates are kept apart till the last block, so that only the best of the
    taken ones have to be moved back. Ranks of a ``group`` that share the candidates find the same.
    """

    def __init__(
        self,
        k: int,
        given: Ids,
        relations: Ids,
        rule: CardinalityRule | None,
        group: Group = ALONE,
    ) -> None:
        self.k, self.given, self.relations, self.rule = k, given, relations, rule
        self.group = group
        self._free: tuple[Tensor, Tensor] | None = None
        self._taken: tuple[Tensor, Tensor] | None = None

    def add(self, block: CandidateScores) -> tuple[Tensor, Tensor] | None:
        """The best, (b, j) scores and entities, best first, with the last block; None before."""
        given, relations = self.given[block.rows], self.relations[block.rows]
        marks = None
        if self.rule is not None:
            marks = self.rule.marks(given, relations, block.entities.cpu().numpy())
        free = block.scores
        if marks is not None:
            free = block.scores.masked_fill(marks, -torch.inf)
            taken = block.scores.masked_fill(~marks, -torch.inf)
            self._taken = self._with(self._taken, taken, block.entities)
        self._free = self._with(self._free, free, block.entities)
        if not block.last:
            return None
        best, self._free = merged_over(self.group, self._free, self.k), None
        if self._taken is not None and self.rule is not None:
            others, self._taken = merged_over(self.group, self._taken, self.k), None
            best = self._joined(best, others, relations, self.rule)
        return best

    def _with(
        self, best: tuple[Tensor, Tensor] | None, scores: Tensor, entities: Tensor
    ) -> tuple[Tensor, Tensor]:
        values, columns = top(scores, self.k)
        return merged(best, (values, entities[columns]), self.k)

    def _joined(
        self,
        free: tuple[Tensor, Tensor],
        taken: tuple[Tensor, Tensor],
        relations: Ids,
        rule: CardinalityRule,
    ) -> tuple[Tensor, Tensor]:
        """Both by where they stand, with the scores that they have."""
        width = taken[0].shape[1]
        moved = rule.lowered(taken[0].flatten(), relations.repeat(width)).view_as(taken[0])
        values, entities = (torch.cat(pair, dim=1) for pair in zip(free, taken, strict=True))
        standing = torch.cat((free[0], moved), dim=1)
        # as everywhere, equal ones by their ids
        by_id = entities.argsort(dim=1)
        order = standing.gather(1, by_id).sort(dim=1, descending=True, stable=True).indices
        places = by_id.gather(1, order)[:, : self.k]
        return values.gather(1, places), entities.gather(1, places)


def best_candidates(
    model: Model,
    given: Ids,
    relations: Ids,
    k: int,
    candidates: Candidates,
    without: KnownAnswers | None = None,
    rule: CardinalityRule | None = None,
    beside: Onlooker | None = None,
) -> Iterator[tuple[Ids, Tensor, Tensor]]:
    """The k best answers to queries (n,), (n,), a chunk of them after the other, best first.

    -> which of the queries (b,), scores (b, j) and entities (b, j), j at most k. A place that no
    candidate fills is minus infinity, and so is what the model rules out; a query without
    candidates does not come. The answers that ``without`` knows of are left out. Under a ``rule``
    the order is its own, and the scores are still those of the model. Who stands ``beside`` sees
    every block before answers are left out.
    """
    best = BestOf(k, given, relations, rule, model.entity.group)
    known = beside.known if without is None and beside is not None else without
    for block in score_candidates(model, given, relations, candidates, known):
        if beside is not None:
            beside.add(block)
        if without is not None:
            block.scores.index_put_(block.known, block.scores.new_tensor(-torch.inf))
        found = best.add(block)
        if found is not None:
            values, entities = found
            yield block.rows, values.masked_fill(values <= LAST / 2, -torch.inf), entities


def columns_of(entities: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """Where ids (b,) stand among entities (K,), ascending, and whether they do: (b,), (b,)."""
    columns = torch.searchsorted(entities, wanted)
    if not len(entities):
        return columns, torch.zeros_like(columns, dtype=torch.bool)
    columns = columns.clamp_max(len(entities) - 1)
    return columns, entities[columns] == wanted


def _outside(ids: Ids | None, span: Span) -> NDArray[np.bool_]:
    """Which entities of a span are not among some (ascending): -> (K,)."""
    out = np.full(span.last - span.first, ids is not None)
    if ids is not None:
        start, end = np.searchsorted(ids, span)
        out[ids[start:end] - span.first] = False
    return out

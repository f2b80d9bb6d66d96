"""Counts by kind: taken entities meet one level of a query, free ones another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from hale.data.keys import Ids
from hale.engine.counting import Comparison, Marked, count_above, score_pairs
from hale.evaluation.cardinality_rule import CardinalityRule, Levels


def count_kinds(
    compared: Comparison,
    levels: Levels,
    triples: Ids,
    rule: CardinalityRule | None,
    first: int,
    last: int,
) -> tuple[Tensor, Tensor, bool]:
    """Entities above, and at or above, the level of their kind, and if all scores are finite.

    -> (m,), (m,) and a yes or no; where it is no, the counts mean nothing.
    The queries of a relation meet the same taken entities, but for those of their own heads.
    """
    relations = triples[:, 1]
    kinds = np.full(len(triples), -1) if rule is None else rule.acting(relations)
    higher, no_lower = (torch.zeros(len(triples), dtype=torch.long) for _ in range(2))
    finite = True
    for relation in np.unique(kinds).tolist():
        mine = torch.from_numpy(np.flatnonzero(kinds == relation))
        own = None if compared.own is None else compared.own[mine]
        some = replace(compared, queries=compared.queries[mine], own=own)
        marked = None
        if rule is not None and relation >= 0:
            marks = rule.answering(relation, np.arange(first, last))
            marked = Marked(torch.from_numpy(marks), levels.taken[mine])
        above, beside, each = count_above(some, levels.free[mine], marked)
        finite = finite and bool(each.all())
        higher[mine], no_lower[mine] = above, beside
    if rule is not None:
        pairs = rule.exceptions(triples[:, 0], relations)
        rows, entities = (torch.from_numpy(ids) for ids in pairs)
        inside = (entities >= first) & (entities < last)
        rows, entities = rows[inside], entities[inside]
        scores = score_pairs(compared, rows, entities - first)
        take_away(higher, no_lower, rows, scores, levels.taken[rows])
        take_away(higher, no_lower, rows, scores, levels.free[rows], back=True)
    return higher, no_lower, finite


def take_away(
    higher: Tensor,
    no_lower: Tensor,
    rows: Tensor,
    scores: Tensor,
    limits: Tensor,
    *,
    back: bool = False,
) -> None:
    """Take scores (p,) out of the counts (b,) of their queries ``rows`` (p,); or put them back."""
    sign = 1 if back else -1
    higher += sign * torch.bincount(rows[scores > limits], minlength=len(higher))
    no_lower += sign * torch.bincount(rows[scores >= limits], minlength=len(no_lower))

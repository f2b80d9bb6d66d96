"""Ranks among candidates: where a target stands among those that are of its type, or of a set.

Apart from the ordinary ranks (hale.evaluation.ranks), which count all entities: the two are not
comparable.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hale.data.keys import Ids
from hale.data.known_answers import KnownAnswers
from hale.evaluation.candidate_scores import CandidateScores, columns_of, score_candidates
from hale.evaluation.candidates import Candidates
from hale.evaluation.cardinality_rule import CardinalityRule
from hale.evaluation.ranks import Rivals, Ties, count_above, rank_of, summed_over, told_to_all
from hale.evaluation.spans import Scored
from hale.models import Model


@torch.inference_mode()
def ranks_among(
    model: Model,
    triples: Ids,
    candidates: Candidates,
    known: KnownAnswers,
    *,
    ties: Ties = "mean",
    rule: CardinalityRule | None = None,
) -> NDArray[np.float64]:
    """The rank of each triple's tail among its candidates, the other known answers left out.

    (n, 3) -> (n,). A tail that is no candidate cannot be found among them: its rank is infinite.
    """
    heads, relations, tails = triples.T
    group, device = model.entity.group, model.entities().device
    target = model.entities().new_full((len(triples),), torch.nan)
    higher = torch.zeros(len(triples), dtype=torch.long, device=device)
    no_lower = torch.zeros_like(higher)

    def blocks(asked: Ids) -> Iterator[CandidateScores]:
        for block in score_candidates(model, heads[asked], relations[asked], candidates, known):
            yield block._replace(rows=asked[block.rows])

    def count(block: CandidateScores) -> None:
        rows = torch.from_numpy(block.rows).to(device)
        columns, _ = _columns(block, tails[block.rows])
        scored = Scored(slice(0, len(rows)), block.scores, block.known)
        limits = target[rows, None]
        if rule is not None:
            asked = triples[block.rows]
            levels = rule.levels(asked, target[rows])
            there = block.entities.cpu().numpy()
            limits = rule.limits(levels, asked[:, 0], asked[:, 1], there)
        above, beside = count_above(scored, limits, columns)
        higher[rows] += above
        no_lower[rows] += beside

    several: list[Ids] = []  # queries with more than one block, which are scored again
    whole = True
    for block in blocks(np.arange(len(triples))):
        columns, inside = _columns(block, tails[block.rows])
        rows = torch.from_numpy(block.rows).to(device)
        target[rows[inside]] = block.scores[inside, columns[inside]]
        if whole and block.last and group.size == 1:
            count(block)
        elif block.last:
            several.append(block.rows)
        whole = block.last
    mine = (~target.isnan()).nonzero().squeeze(1)
    target = told_to_all(group, len(target), mine, target[mine])
    for again in several:
        for block in blocks(again):
            count(block)
    _, higher, no_lower = summed_over(group, Rivals(target, higher, no_lower))
    ranks = rank_of(higher, no_lower, ties).cpu().numpy().astype(np.float64)
    found = torch.isfinite(target).cpu().numpy()  # minus infinity is one that was left out
    return np.where(found, ranks, np.inf)


def _columns(block: CandidateScores, tails: Ids) -> tuple[Tensor, Tensor]:
    """The columns of tails (b,) in a block, and the rows whose tail has one: (b,), (b',)."""
    wanted = torch.from_numpy(tails).to(block.entities.device)
    columns, there = columns_of(block.entities, wanted)
    return torch.where(there, columns, -1), there.nonzero().squeeze(1)

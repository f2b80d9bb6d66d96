"""The known answers of a batch's queries, as pairs to leave out of sums over all entities."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hale.data.keys import Ids, pair_keys, pairs_of
from hale.data.known_answers import KnownAnswers
from hale.errors import InputError


def known_pairs(
    known: KnownAnswers | None,
    triples: Tensor,
    num_entities: int,
    *,
    keep_tail: bool = False,
    ruled_out: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """(query, entity) pairs that train answers, for the queries of triples (B, 3), in order.

    With ``keep_tail`` a triple's own tail is not among them. The head itself is among them where
    it is ``ruled_out`` (B,) as an answer. A query that would be left no entity keeps them all: a
    sum needs at least one term.
    """
    if known is None:
        raise InputError("leave_out_known needs the known answers of the training triples.")
    ids = triples.cpu().numpy()
    rows, answers = known.of(ids[:, 0], ids[:, 1])
    if keep_tail:
        others = answers != ids[rows, 2]
        rows, answers = rows[others], answers[others]
    if ruled_out is not None:
        rows, answers = _with_heads(rows, answers, ids[:, 0], ruled_out.cpu().numpy(), num_entities)
    counts = np.diff(np.searchsorted(rows, np.arange(len(ids) + 1)))
    if counts.max(initial=0) >= num_entities:
        partial = (counts < num_entities)[rows]
        rows, answers = rows[partial], answers[partial]
    return (
        torch.from_numpy(rows).to(triples.device),
        torch.from_numpy(answers).to(triples.device),
    )


def _with_heads(
    rows: Ids, answers: Ids, heads: Ids, chosen: NDArray[np.bool_], num_entities: int
) -> tuple[Ids, Ids]:
    """Pairs in order, with the pairs (i, heads[i]) of those chosen, each once."""
    more = np.flatnonzero(chosen)
    sizes = (len(heads), num_entities)
    keys = np.union1d(pair_keys(rows, answers, sizes), pair_keys(more, heads[more], sizes))
    return pairs_of(keys, num_entities)

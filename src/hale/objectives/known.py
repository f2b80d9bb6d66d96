"""The known answers of a batch's queries, as pairs to leave out of sums over all entities."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from hale.errors import InputError
from hale.graph import KnownAnswers


def known_pairs(
    known: KnownAnswers | None, triples: Tensor, num_entities: int, *, keep_tail: bool = False
) -> tuple[Tensor, Tensor]:
    """(query, entity) pairs that train answers, for the queries of triples (B, 3).

    With ``keep_tail`` a triple's own tail is not among them. A query that every entity
    answers keeps them all: a sum needs at least one term.
    """
    if known is None:
        raise InputError("leave_out_known needs the known answers of the training triples.")
    ids = triples.cpu().numpy()
    rows, answers = known.of(ids[:, 0], ids[:, 1])
    if keep_tail:
        others = answers != ids[rows, 2]
        rows, answers = rows[others], answers[others]
    counts = np.diff(np.searchsorted(rows, np.arange(len(ids) + 1)))
    if counts.max(initial=0) >= num_entities:
        partial = (counts < num_entities)[rows]
        rows, answers = rows[partial], answers[partial]
    return (
        torch.from_numpy(rows).to(triples.device),
        torch.from_numpy(answers).to(triples.device),
    )

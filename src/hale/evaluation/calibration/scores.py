"""The score of a triple that is calibrated."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from hale.data.graph import Ids
from hale.errors import EvaluationError
from hale.models import Model

Floats = NDArray[np.float64]

CHUNK = 1 << 16  # triples at once: 8 MB a table at d = 32


@torch.inference_mode()
def triple_scores(model: Model, triples: Ids) -> Floats:
    """The mean score of both directions: (n, 3) -> (n,).

    s = (score(h, r, t) + score(t, r + R, h)) / 2

    Both, since each asks what the other does not: does the tail fit, does the
    head fit.
    """
    device = model.entities().device
    num_relations = model.size.num_relations
    scores = np.empty(len(triples))
    for start in range(0, len(triples), CHUNK):
        head, relation, tail = torch.tensor(triples[start : start + CHUNK], device=device).T
        forward = model.score(head, relation, tail).double()
        backward = model.score(tail, relation + num_relations, head).double()
        scores[start : start + CHUNK] = ((forward + backward) / 2).cpu().numpy()
    if not np.isfinite(scores).all():
        raise EvaluationError("The model gives scores that are not finite; train it again.")
    return scores

"""Counterparts: for vectors of two sets in one space, the nearest of the other set.

By cross-domain similarity local scaling (CSLS; Lample et al., ICLR 2018):

    csls(x, y) = 2 cos(x, y) - r(x) - r(y)

r is the mean cosine of a vector with its k nearest of the other set. It takes away what a vector
that is near to everybody would win by that alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from hale.data.keys import Ids
from hale.engine.topk import merged, top
from hale.evaluation.spans import CHUNK_ELEMENTS

NEAREST = 10  # of the other set, by which it is told how crowded a place is


@dataclass(frozen=True)
class Nearest:
    """For each of n vectors the k nearest of the other set, best first: places and scores."""

    places: Ids  # (n, k)
    scores: NDArray[np.float64]  # (n, k)


class Spaces:
    """Two sets of vectors (n, d) and (m, d), compared by CSLS in blocks of bounded size."""

    def __init__(self, left: Tensor, right: Tensor) -> None:
        self.left = functional.normalize(left.detach().float(), dim=1)
        self.right = functional.normalize(right.detach().float(), dim=1)
        self.left_crowd = _crowd(self.left, self.right)
        self.right_crowd = _crowd(self.right, self.left)

    def nearest(self, k: int, *, of_right: bool = False) -> Nearest:
        """The k best of the right for each of the left, or the other way round."""
        ours, theirs = self._sides(of_right)
        values, places = _best(ours, theirs, k)
        return Nearest(places.numpy(), values.double().numpy())

    def ranks(self, rows: Ids, targets: Ids, *, of_right: bool = False) -> NDArray[np.float64]:
        """The rank of the target (n,) of each of some rows (n,), ties counted by half: -> (n,)."""
        ours, theirs = self._sides(of_right)
        found = np.empty(len(rows))
        size = max(1, CHUNK_ELEMENTS // len(theirs[0]))
        for start in range(0, len(rows), size):
            part = slice(start, start + size)
            own = torch.from_numpy(rows[part])
            scores = _scores((ours[0][own], ours[1][own]), theirs)
            target = scores.gather(1, torch.from_numpy(targets[part])[:, None])
            above, equal = (scores > target).sum(dim=1), (scores == target).sum(dim=1)
            found[part] = (1 + above + (equal - 1) / 2).numpy()
        return found

    def _sides(self, of_right: bool) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        left, right = (self.left, self.left_crowd), (self.right, self.right_crowd)
        return (right, left) if of_right else (left, right)


def _scores(ours: tuple[Tensor, Tensor], theirs: tuple[Tensor, Tensor]) -> Tensor:
    return 2 * (ours[0] @ theirs[0].T) - ours[1][:, None] - theirs[1]


def _best(
    ours: tuple[Tensor, Tensor], theirs: tuple[Tensor, Tensor], k: int
) -> tuple[Tensor, Tensor]:
    """The k best scores of each row, and whose they are; no more than a block is held at once."""
    rows = max(1, min(len(ours[0]), 1 << 10))
    columns = max(1, CHUNK_ELEMENTS // rows)
    values, places = [], []
    for start in range(0, len(ours[0]), rows):
        own = (ours[0][start : start + rows], ours[1][start : start + rows])
        best: tuple[Tensor, Tensor] | None = None
        for first in range(0, len(theirs[0]), columns):
            some = (theirs[0][first : first + columns], theirs[1][first : first + columns])
            found, at = top(_scores(own, some), k)
            best = merged(best, (found, at + first), k)
        assert best is not None
        values.append(best[0])
        places.append(best[1])
    return torch.cat(values), torch.cat(places)


def _crowd(ours: Tensor, theirs: Tensor) -> Tensor:
    """r: the mean cosine of each row with its nearest of the other set, (n, d), (m, d) -> (n,)."""
    nothing, none = torch.zeros(len(ours)), torch.zeros(len(theirs))
    values, _ = _best((ours, nothing), (theirs, none), min(NEAREST, len(theirs)))
    return values.mean(dim=1) / 2


def mutual(left: Nearest, right: Nearest) -> tuple[Ids, Ids, NDArray[np.float64]]:
    """Pairs of which each is the other's nearest -> places left and right, and their margin.

    The margin is by how much the pair's score is above the better of both second bests.
    """
    ours = np.arange(len(left.places))
    theirs = left.places[:, 0]
    both = right.places[theirs, 0] == ours
    ours, theirs = ours[both], theirs[both]
    second = [
        side.scores[rows, 1] if side.scores.shape[1] > 1 else np.full(len(rows), -2.0)
        for side, rows in ((left, ours), (right, theirs))
    ]
    return ours, theirs, left.scores[ours, 0] - np.maximum(*second)

"""What any model can be asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict, get_args

Similarity = Literal["l2", "dot", "hyperbolic", "projected", "network"]
SIMILARITIES: tuple[Similarity, ...] = get_args(Similarity)
# Those that are minus a squared distance, on which an activation acts.
BY_DISTANCE: tuple[Similarity, ...] = ("l2", "hyperbolic", "projected")


Composition = Literal["sub", "mult", "corr"]


@dataclass(frozen=True)
class Encoding:
    """What a graph encoder can be asked for; None is as it comes."""

    layers: int | None = None
    bases: int | None = None
    composition: Composition | None = None


class Options(TypedDict, total=False):
    """What any model can be asked for beside its size."""

    init_scale: float
    near: float
    similarity: Similarity | None  # the model's own where None
    biases: bool | None
    dropout: float
    heights: bool
    loops: bool
    residual: int

"""What any model can be asked for."""

from __future__ import annotations

from typing import Literal, TypedDict, get_args

Similarity = Literal["l2", "dot", "hyperbolic"]
SIMILARITIES: tuple[Similarity, ...] = get_args(Similarity)


class Options(TypedDict, total=False):
    """What any model can be asked for beside its size."""

    init_scale: float
    near: float
    similarity: Similarity | None  # the model's own where None
    biases: bool | None
    dropout: float
    heights: bool
    loops: bool

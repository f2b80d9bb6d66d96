"""Encoder: what turns trained rows and facts into the vectors that a model computes with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor, nn

from hale.data.graph import GraphSize
from hale.models.dropout import Dropout
from hale.models.encoders.edges import Ways
from hale.models.model_options import Encoding


class Encoder(nn.Module, ABC):
    """Layers that pass messages along the training facts, d numbers wide throughout.

    Facts run both ways: (h, r, t) tells t of h under r, and h of t under r + R. The last layer
    starts with vectors of size ``start`` in a coordinate, where it normalises; ``dropout`` is the
    model's own.
    """

    name: ClassVar[str]
    formula: ClassVar[str]  # of one layer
    source: ClassVar[str]
    uses: ClassVar[frozenset[str]] = frozenset()  # of an Encoding, beside its layers
    layers: ClassVar[int] = 1  # unless told otherwise
    encodes_relations: ClassVar[bool] = False

    def __init__(
        self, size: GraphSize, dim: int, encoding: Encoding, *, start: float, dropout: Dropout
    ) -> None:
        super().__init__()
        self.size = size
        self.dim = dim
        self.start = start
        self.dropout = dropout
        self.depth = encoding.layers or type(self).layers

    @abstractmethod
    def forward(
        self, entities: Tensor, relations: Tensor | None, ways: Ways
    ) -> tuple[Tensor, Tensor | None]:
        """Rows (N, d) and, where they are encoded, (2R, d) -> the vectors of both, as many."""


def glorot(rows: int, columns: int) -> nn.Parameter:
    """A matrix that keeps the size of what it is multiplied with (Glorot & Bengio, 2010)."""
    return nn.Parameter(nn.init.xavier_normal_(torch.empty(rows, columns)))

"""ConvE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Unpack

import torch
from torch import Tensor, nn
from torch.nn import functional

from hale.data.graph import GraphSize
from hale.errors import SettingsError
from hale.models.base import Model
from hale.models.model_options import Options
from hale.models.norm import Norm
from hale.models.tables import relation_table
from hale.models.tucker import start_size

CHANNELS = 32
KERNEL = 3


class ConvE(Model):
    """Stack head and relation as an image, convolve it, and project back.

    q = f(vec(f(norm([e_h; r] * w))) W), f a rectifier       (Dettmers et al. 2018)

    32 filters of 3 x 3, batch normalisation, and dropout three times, as in the original. Under L2
    distance, and so under HaLE, the last rectifier is left out: it would keep queries in one
    corner of the space that the entities fill.
    """

    name = "conve"
    formula = "q = f(vec(f([e_h; r] * w)) W)"
    source = "Dettmers et al., AAAI 2018"
    cost = "32 d (9 x 2 + 2 d)"
    relation_vector = "relation"
    similarities = ("dot", "l2")
    defaults: ClassVar[Mapping[str, Mapping[str, object]]] = {"allneg": {"dropout": 0.2}}
    own_biases = True
    drops_queries = False  # its three stand before: on the image, the features and the projection

    def __init__(self, size: GraphSize, dim: int, **options: Unpack[Options]) -> None:
        super().__init__(size, dim, **options)
        self.height, self.width = image_shape(dim)
        self.relation = relation_table(size, dim)
        nn.init.normal_(self.relation.weight, std=self.init_scale)
        inside = (2 * self.height - KERNEL + 1) * (self.width - KERNEL + 1)
        self.image_norm = nn.BatchNorm2d(1)
        self.filters = nn.Conv2d(1, CHANNELS, KERNEL)
        self.filter_norm = nn.BatchNorm2d(CHANNELS)
        self.project = nn.Linear(CHANNELS * inside, dim)
        self.after = Norm(dim)
        nn.init.constant_(self.after.weight, start_size(self))

    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """(B, d), (B,) -> (B, d)."""
        pair = torch.stack((vectors, self.relation(relation)), dim=1)
        image = pair.view(len(vectors), 1, 2 * self.height, self.width)
        seen = self.filters(self.dropout(self.image_norm(image)))
        seen = torch.relu(self.filter_norm(seen))
        seen = functional.dropout2d(seen, self.dropout.share, self.training)
        queries: Tensor = self.after(self.dropout(self.project(seen.flatten(1))))
        return queries if self.similarity == "l2" else torch.relu(queries)

    def relation_rows(self) -> list[Tensor]:
        """The relations' vectors."""
        return [self.relation.rows()]


def image_shape(dim: int) -> tuple[int, int]:
    """The most square (height, width) with height * width = dim, width at least a filter's."""
    shapes = [
        (height, dim // height)
        for height in range(2, int(dim**0.5) + 1)
        if dim % height == 0 and dim // height >= KERNEL
    ]
    if not shapes:
        raise SettingsError(
            [f"ConvE needs a dim that is an image, such as 32 = 4 x 8, 200 or 256; got {dim}"]
        )
    return shapes[-1]

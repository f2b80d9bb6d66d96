"""Conv-TransE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Unpack

import torch
from torch import Tensor, nn

from hale.data.graph import GraphSize
from hale.models.base import Model
from hale.models.model_options import Options
from hale.models.norm import Norm
from hale.models.tables import relation_table
from hale.models.tucker import start_size

CHANNELS = 50
KERNEL = 5


class ConvTransE(Model):
    """Convolve head and relation side by side, and project back.

    q = f(vec(f(norm([e_h; r] * w))) W), f a rectifier       (Shang et al. 2019)

    As ConvE without the image: 50 filters of 2 x 5 run along the coordinates of both, padded, so
    that coordinate i meets its like as in e_h + r. Batch normalisation and dropout stand where the
    authors' code has them. Under L2 distance, and so under HaLE, the last rectifier is left out, as
    with ConvE.
    """

    name = "convtranse"
    formula = "q = f(vec(f([e_h; r] * w)) W), w along both"
    source = "Shang et al., AAAI 2019"
    cost = "50 d (10 + d)"
    similarities = ("dot", "l2")
    defaults: ClassVar[Mapping[str, Mapping[str, object]]] = {"allneg": {"dropout": 0.2}}
    drops_queries = False  # its three stand before: on the pair, the features and the projection
    relation_vector = "relation"

    def __init__(self, size: GraphSize, dim: int, **options: Unpack[Options]) -> None:
        super().__init__(size, dim, **options)
        self.relation = relation_table(size, dim)
        nn.init.normal_(self.relation.weight, std=self.init_scale)
        self.before = nn.BatchNorm1d(2)
        self.filters = nn.Conv1d(2, CHANNELS, KERNEL, padding=KERNEL // 2)
        self.filter_norm = nn.BatchNorm1d(CHANNELS)
        self.project = nn.Linear(CHANNELS * dim, dim)
        self.after = Norm(dim)
        nn.init.constant_(self.after.weight, start_size(self))

    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """(B, d), (B,) -> (B, d)."""
        pair = torch.stack((vectors, self.relation(relation)), dim=1)
        seen = self.filters(self.dropout(self.before(pair)))
        seen = self.dropout(torch.relu(self.filter_norm(seen)))
        queries: Tensor = self.after(self.dropout(self.project(seen.flatten(1))))
        return queries if self.similarity == "l2" else torch.relu(queries)

    def relation_rows(self) -> list[Tensor]:
        """The relations' vectors."""
        return [self.relation.rows()]

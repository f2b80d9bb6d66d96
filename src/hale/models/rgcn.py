"""R-GCN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hale.models.distmult import DistMult
from hale.models.encoded import Encoded
from hale.models.encoders.relational import Relational
from hale.models.model_options import Similarity


class RGCN(Encoded, DistMult):
    """DistMult over vectors that a relational graph convolution makes of the training facts.

    q = e_h * r,   e = W_0 x + 1/c sum over its facts of W_r x_j      (Schlichtkrull et al. 2018)

    One layer with two bases, as the authors have it for WN18 and FB15k (encoders.relational).
    """

    name = "rgcn"
    formula = "q = e_h * r, e = R-GCN(facts)"
    source = "Schlichtkrull et al., ESWC 2018"
    cost = "d; a step encodes by 2 E d + 3 N d^2"
    similarities: ClassVar[tuple[Similarity, ...]] = ("dot", "l2")
    encoder_kind = Relational
    defaults: ClassVar[Mapping[str, Mapping[str, object]]] = {"allneg": {"batch_size": 2048}}

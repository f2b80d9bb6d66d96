"""CompGCN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hale.models.conve import ConvE
from hale.models.encoded import Encoded
from hale.models.encoders.compositional import Compositional


class CompGCN(Encoded, ConvE):
    """ConvE over entities and relations that a composition-based convolution makes of the facts.

    q = ConvE(e_h, z_r),   e = tanh(norm(sum over its facts of phi(x_j, z_r) W))
                                                                   (Vashishth et al. 2020)

    One layer, and the circular correlation for phi: the authors' best (encoders.compositional).
    """

    name = "compgcn"
    formula = "q = ConvE(e_h, z_r), e and z = CompGCN(facts)"
    source = "Vashishth et al., ICLR 2020"
    cost = "as conve; a step encodes by 2 E d + 3 N d^2"
    encoder_kind = Compositional
    defaults: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "allneg": {"dropout": 0.2, "batch_size": 2048}
    }

"""SACN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hale.models.convtranse import ConvTransE
from hale.models.encoded import Encoded
from hale.models.encoders.weighted import Weighted


class SACN(Encoded, ConvTransE):
    """Conv-TransE over vectors that a weighted graph convolution makes of the training facts.

    q = Conv-TransE(e_h, r),   e = tanh(norm((x + sum over its facts of alpha_r x_j) W)), twice
                                                                        (Shang et al. 2019)

    Two layers, as the authors have it (encoders.weighted); d numbers in both, where theirs grow.
    """

    name = "sacn"
    formula = "q = Conv-TransE(e_h, r), e = WGCN(facts)"
    source = "Shang et al., AAAI 2019"
    cost = "as convtranse; a step encodes by 4 E d + 2 N d^2"
    encoder_kind = Weighted
    defaults: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "allneg": {"dropout": 0.2, "batch_size": 2048}
    }

"""AdvNeg: sampled negatives, the hard ones weighing more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

from torch import Tensor
from torch.nn.functional import softplus

from hale.objectives.samneg import SamNeg
from hale.objectives.scoring import Scoring, scoring_of
from hale.settings import Settings
from hale.settings.space import Choice, Float, Space

_ROTATE: dict[str, object] = {"optimizer": "adam", "learning_rate": 0.00005, "penalty": 0.0}


class AdvNeg(SamNeg):
    """SamNeg with self-adversarial weights: w_pk = softmax_k(temperature f_pk).

        loss = mean_p [-log sigma(f_p + margin) + sum_k w_pk -log sigma(-f_pk - margin)]

    The weights are constants to the gradient. The margin is RotatE's: f_p + margin
    = margin - d^2. Biases are trained as under SamNeg and for the same reason, by Chami et al. too.
    """

    name = "advneg"
    revision = 1
    uses = frozenset({"negatives", "double_negatives", "margin", "temperature"})
    formula = "mean -log s(f_p + margin) + sum_k w_k -log s(-f_k - margin), w a softmax of f_k"
    source = "Sun et al., ICLR 2019"
    defaults: ClassVar[Mapping[str, object]] = {
        "activation": "identity",
        "leave_out_known": False,
        "batch_size": 1024,
        "margin": 1.0,
        "biases": True,
    }
    by_dot: ClassVar[Mapping[str, object]] = {"margin": 0.0}  # it can be anything by itself
    activated: ClassVar[Mapping[str, object]] = {"biases": False, "gamma": 10.0}
    space: ClassVar[Space] = (
        Float("learning_rate", 0.00005, 0.2, log=True),
        *(one for one in SamNeg.space if one.name not in ("learning_rate", "negatives")),
        Choice("negatives", (50, 128, 256, 512, 1024)),
        Choice("temperature", (0.25, 0.5, 1.0, 2.0)),
    )
    # the best of RotatE's code on WN18RR and FB15k-237, at d = 500 and 1,000
    published: ClassVar[tuple[Mapping[str, object], ...]] = (
        _ROTATE | {"batch_size": 512, "negatives": 1024, "margin": 6.0, "temperature": 0.5},
        _ROTATE | {"batch_size": 1024, "negatives": 256, "margin": 9.0, "temperature": 1.0},
    )

    def __init__(
        self,
        scoring: Scoring,
        *,
        negatives: int = 50,
        double_negatives: bool = False,
        margin: float = 0.0,
        temperature: float = 1.0,
    ) -> None:
        super().__init__(
            scoring, negatives=negatives, double_negatives=double_negatives, margin=margin
        )
        self.temperature = temperature

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The objective that the settings describe."""
        return cls(
            scoring_of(settings),
            negatives=settings.negatives,
            double_negatives=settings.double_negatives,
            margin=settings.margin,
            temperature=settings.temperature,
        )

    @property
    def whole(self) -> float:
        """The weights of negatives sum to one."""
        return 1.0

    def weigh(self, scores: Tensor) -> Tensor:
        """The negatives' part for each positive, (B, K) -> (B,); the margin cancels in softmax."""
        weights = (self.temperature * scores.detach()).softmax(dim=1)
        return (weights * softplus(scores)).sum(dim=1)

"""AdvNeg: sampled negatives, the hard ones weighing more."""

from __future__ import annotations

from typing import Self

from torch import Tensor
from torch.nn.functional import softplus

from hale.objectives.samneg import SamNeg
from hale.objectives.scoring import Scoring, scoring_of
from hale.settings import Settings


class AdvNeg(SamNeg):
    """SamNeg with self-adversarial weights: w_pk = softmax_k(temperature f_pk).

    The weights are constants to the gradient. The margin is RotatE's: f_p + margin
    = margin - d^2.
    """

    name = "advneg"
    uses = frozenset({"negatives", "margin", "temperature"})
    formula = "as samneg, with negatives weighed by softmax_k(temperature f_k)"
    source = "Sun et al., ICLR 2019"

    def __init__(
        self,
        scoring: Scoring,
        *,
        negatives: int = 50,
        margin: float = 0.0,
        temperature: float = 1.0,
    ) -> None:
        super().__init__(scoring, negatives=negatives, margin=margin)
        self.temperature = temperature

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The objective that the settings describe."""
        return cls(
            scoring_of(settings),
            negatives=settings.negatives,
            margin=settings.margin,
            temperature=settings.temperature,
        )

    def weigh(self, scores: Tensor) -> Tensor:
        """The negatives' part for each positive, (B, K) -> (B,); the margin cancels in softmax."""
        weights = (self.temperature * scores.detach()).softmax(dim=1)
        return (weights * softplus(scores)).sum(dim=1)

"""SamNeg: binary cross-entropy against uniformly sampled negatives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

import torch
from torch import Tensor
from torch.nn.functional import softplus

from hale.data.graph import KnownAnswers
from hale.engine.blocks import Block
from hale.models import Model, Similarity
from hale.models.model_options import SIMILARITIES
from hale.objectives.base import Loss, Objective
from hale.objectives.scoring import Scoring, scoring_of
from hale.objectives.space import Choice, Float, Space
from hale.objectives.weighing import weighted_mean
from hale.settings import Settings


class SamNeg(Objective):
    """Tell each positive from K entities drawn at random in place of its tail.

        loss = mean_p -log sigma(f_p + margin)
             + mean_p sum_k w_pk -log sigma(-f_pk - margin),   w_pk = 1 / K

    The negatives of a triple are drawn anew in every step, uniformly and with replacement; both
    directions are queries, so heads are corrupted as well. The margin lets distances, whose f is
    at most 0, be told apart at a distance of their own; biases do the same where a model has
    them. Where facts have weights both means are weighted by those of the positives.
    """

    name = "samneg"
    uses = frozenset({"negatives", "margin"})
    formula = "mean -log s(f_p + margin) + mean_K -log s(-f_n - margin)"
    source = "Bordes et al., NeurIPS 2013; Trouillon et al., ICML 2016"
    similarities: ClassVar[tuple[Similarity, ...]] = SIMILARITIES
    defaults: ClassVar[Mapping[str, object]] = {
        "activation": "identity",
        "leave_out_known": False,
        "batch_size": 1024,
        "margin": 1.0,
    }
    by_dot: ClassVar[Mapping[str, object]] = {"margin": 0.0}  # it can be anything by itself
    space: ClassVar[Space] = (
        Choice("batch_size", (256, 512, 1024, 2048)),
        Choice("negatives", (50, 128, 256, 512)),
        Float("margin", 0.0, 9.0),
        Float("learning_rate", 0.0005, 0.05, log=True),
        Float("init_scale", 0.02, 0.3, log=True),
    )

    def __init__(self, scoring: Scoring, *, negatives: int = 50, margin: float = 0.0) -> None:
        self.scoring = scoring
        self.negatives = negatives
        self.margin = margin

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The objective that the settings describe."""
        return cls(scoring_of(settings), negatives=settings.negatives, margin=settings.margin)

    def __call__(
        self,
        model: Model,
        triples: Tensor,
        generator: torch.Generator,
        known: KnownAnswers | None = None,  # noqa: ARG002
        block: Block | None = None,  # noqa: ARG002
        weights: Tensor | None = None,
    ) -> Loss:
        """The loss of positive triples (B, 3)."""
        head, relation, tail = triples.unbind(dim=1)
        drawn = torch.randint(
            model.size.num_entities, (len(triples), self.negatives), generator=generator
        )
        candidates = torch.cat((tail.unsqueeze(1), drawn.to(tail.device)), dim=1)
        scores = self.margin + self.scoring.candidates(model, head, relation, candidates)
        positives = weighted_mean(softplus(-scores[:, 0]), weights)
        negatives = weighted_mean(self.weigh(scores[:, 1:]), weights)
        return Loss(positives + negatives, {"positives": positives, "negatives": negatives})

    def weigh(self, scores: Tensor) -> Tensor:
        """The negatives' part for each positive, from f + margin: (B, K) -> (B,), all alike."""
        return softplus(scores).mean(dim=1)

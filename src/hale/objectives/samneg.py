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
from hale.objectives.weighing import weighted_mean
from hale.settings import Settings
from hale.settings.space import GENERAL, Choice, Float, Space

_KGEMB: dict[str, object] = {"negatives": 50, "margin": 0.0, "init_scale": 0.001, "penalty": 0.0}


class SamNeg(Objective):
    """Tell each positive from K entities drawn at random in place of its tail.

        loss = mean_p [-log sigma(f_p + margin) + sum_k -log sigma(-f_pk - margin)] / (1 + K)

    Every negative weighs as much as a positive, as in the code of Chami et al. (2020): weighed 1/K
    each, they let all answers of a kind stand alike near. The negatives of a triple are drawn anew
    in every step, uniformly and with replacement; both directions are queries, so heads are
    corrupted as well. With ``double_negatives`` each has a head of its own, drawn too, as Chami et
    al. train on WN18RR. Biases of heads and tails are trained too: an f of at most 0 could not say
    that a triple is likely. Beside an activation a margin does so for all alike.
    Where facts have weights both means are weighted by those of the positives.
    """

    name = "samneg"
    revision = 2
    uses = frozenset({"negatives", "double_negatives", "margin"})
    formula = "mean [-log s(f_p + margin) + sum_K -log s(-f_n - margin)] / (1 + K)"
    source = "Trouillon et al., ICML 2016; Chami et al., ACL 2020"
    similarities: ClassVar[tuple[Similarity, ...]] = SIMILARITIES
    defaults: ClassVar[Mapping[str, object]] = {
        "activation": "identity",
        "leave_out_known": False,
        "batch_size": 1024,
        "biases": True,
    }
    activated: ClassVar[Mapping[str, object]] = {"biases": False, "margin": 1.0, "gamma": 10.0}
    space: ClassVar[Space] = (
        Float("learning_rate", 0.0002, 0.2, log=True),
        Float("margin", 0.0, 9.0),
        Float("init_scale", 0.001, 0.3, log=True),
        Choice("negatives", (50, 128, 256, 512)),
        Choice("batch_size", (128, 256, 512, 1024, 2048, 4096)),
        *GENERAL,
    )
    # KGEmb's examples at d = 32: RotE on WN18RR, which has double negatives too, RotH on FB15k-237
    published: ClassVar[tuple[Mapping[str, object], ...]] = (
        _KGEMB | {"optimizer": "adam", "learning_rate": 0.001, "batch_size": 128},
        _KGEMB | {"optimizer": "adagrad", "learning_rate": 0.05, "batch_size": 512},
    )
    paper_space: ClassVar[Space] = (
        Choice("negatives", (50, 256, 512)),
        Choice("learning_rate", (0.0005, 0.001, 0.005)),
        Choice("batch_size", (256, 512, 1024)),
    )

    def __init__(
        self,
        scoring: Scoring,
        *,
        negatives: int = 50,
        double_negatives: bool = False,
        margin: float = 0.0,
    ) -> None:
        self.scoring = scoring
        self.negatives = negatives
        self.double_negatives = double_negatives
        self.margin = margin

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The objective that the settings describe."""
        return cls(
            scoring_of(settings),
            negatives=settings.negatives,
            double_negatives=settings.double_negatives,
            margin=settings.margin,
        )

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
        shape = len(triples), self.negatives
        drawn = torch.randint(model.size.num_entities, shape, generator=generator).to(tail.device)
        if self.double_negatives:
            heads = torch.randint(model.size.num_entities, shape, generator=generator)
            others = heads.to(tail.device).flatten(), relation.repeat_interleave(self.negatives)
            own = self.scoring.candidates(model, head, relation, tail.unsqueeze(1))
            false = self.scoring.candidates(model, *others, drawn.view(-1, 1)).view(shape)
        else:
            candidates = torch.cat((tail.unsqueeze(1), drawn), dim=1)
            scores = self.scoring.candidates(model, head, relation, candidates)
            own, false = scores[:, :1], scores[:, 1:]
        whole = self.whole
        positives = weighted_mean(softplus(-self.margin - own[:, 0]), weights) / whole
        negatives = weighted_mean(self.weigh(self.margin + false), weights) / whole
        return Loss(positives + negatives, {"positives": positives, "negatives": negatives})

    @property
    def whole(self) -> float:
        """What the weights of a positive and its negatives are divided by."""
        return 1 + self.negatives

    def weigh(self, scores: Tensor) -> Tensor:
        """The negatives' part for each positive, from f + margin: (B, K) -> (B,)."""
        return softplus(scores).sum(dim=1)

"""NonNeg: positives alone, and a constraint on the whole table of entities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

import torch
from torch import Tensor

from hale.data.graph import KnownAnswers
from hale.engine.blocks import Block
from hale.models import Model, Similarity
from hale.objectives.base import Loss, Objective
from hale.objectives.scoring import Scoring, scoring_of
from hale.objectives.weighing import weighted_mean
from hale.settings import Settings
from hale.settings.space import GENERAL, Choice, Float, Space


class NonNeg(Objective):
    """Pull positives together; keep every entity at distance one from the table's centre.

        loss = lambda mean_p f_p^2 + mean_j (||e_j - m||^2 - 1)^2,   m = mean_j e_j

    A square loss on the positives and a global term, as the paper describes its NonNeg; the form
    of the global term is ours, the paper gives none. Without it all vectors would fall into
    one point, where every positive is perfect. f is at most 0, so it needs distances.
    """

    name = "nonneg"
    uses = frozenset({"weight"})
    formula = "lambda mean f_p^2 + mean_j (|e_j - centre|^2 - 1)^2"
    source = "after Peng et al., NAACL 2021"
    similarities: ClassVar[tuple[Similarity, ...]] = ("l2", "hyperbolic", "projected")
    takes_biases = False
    in_nats = False
    because = "its square loss pulls a score towards 0, its best value only where it is a distance"
    defaults: ClassVar[Mapping[str, object]] = {
        "activation": "identity",
        "leave_out_known": False,
        "learning_rate": 0.0005,  # faster, and positives end in a few points within the run
    }

    space: ClassVar[Space] = (
        Float("learning_rate", 0.0001, 0.2, log=True),
        Float("weight", 0.05, 20.0, log=True),
        Float("init_scale", 0.001, 0.3, log=True),
        Choice("batch_size", (512, 1024, 2048, 4096)),
        *GENERAL,
    )

    def __init__(self, scoring: Scoring, *, weight: float = 1.0) -> None:
        self.scoring = scoring
        self.weight = weight

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The objective that the settings describe."""
        return cls(scoring_of(settings), weight=settings.weight)

    def __call__(
        self,
        model: Model,
        triples: Tensor,
        generator: torch.Generator,  # noqa: ARG002
        known: KnownAnswers | None = None,  # noqa: ARG002
        block: Block | None = None,  # noqa: ARG002
        weights: Tensor | None = None,
    ) -> Loss:
        """The loss of positive triples (B, 3)."""
        head, relation, tail = triples.unbind(dim=1)
        heads, tails = model.entity(torch.cat((head, tail))).chunk(2)
        queries = model.query_of(heads, relation)
        compared = model.compare(queries, tails.unsqueeze(1), model.comparing(relation))
        scores = self.scoring.activate(model, compared, self.scoring.scale(model, relation))
        alignment = weighted_mean(scores.square().squeeze(1), weights)
        entities = model.places()
        from_centre = (entities - entities.mean(dim=0)).square().sum(dim=1)
        spread = (from_centre - 1).square().mean()
        return Loss(self.weight * alignment + spread, {"alignment": alignment, "spread": spread})

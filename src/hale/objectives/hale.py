"""The HaLE objective: alignment of all positives, uniformity against a few queries."""

from __future__ import annotations

from typing import ClassVar, Self

import torch
from torch import Tensor

from hale import geometry
from hale.activations import Activation, make_activation
from hale.engine import uniformity
from hale.errors import InputError
from hale.graph import KnownAnswers
from hale.models import Model, Similarity
from hale.models.tables import with_rows
from hale.objectives.base import Loss, Objective
from hale.objectives.known import known_pairs
from hale.settings import Settings


class HaLE(Objective):
    """Hardness-aware contrastive loss with query sampling (section 3.3).

        a_p   = h(c_r ||q - e_p||^2)                        positives of the batch
        loss  = lambda mean a_p^2                           alignment
              + mean_i log sum_j exp(-h(c_i ||q_i - e_j||^2))   uniformity, over m sampled queries,
                                                                m given or alpha B

    The paper's last equation carries a minus before lambda; read literally it
    would push positives apart. ``leave_out_known`` drops a query's answers in
    train from its own sum, which the paper does not do.
    """

    name = "hale"
    formula = "lambda mean h(c_r d_p^2)^2 + mean_i log sum_j exp(-h(c_i d_ij^2))"
    source = "Wang et al., WWW 2022"
    similarities: ClassVar[tuple[Similarity, ...]] = ("l2",)
    takes_biases = False
    because = "its uniformity term sums over all entities by squared L2 distance"

    def __init__(
        self,
        activation: Activation,
        *,
        num_queries: int | None = 100,
        alpha: float | None = None,
        weight: float = 1.0,
        square: bool = True,
        relation_scale: bool = True,
        leave_out_known: bool = True,
    ) -> None:
        self.activation = activation
        if (num_queries is None) == (alpha is None):
            raise InputError("HaLE takes a number of sampled queries or their share alpha.")
        self.num_queries = num_queries
        self.alpha = alpha
        self.weight = weight
        self.square = square
        self.relation_scale = relation_scale
        self.leave_out_known = leave_out_known

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The objective that the settings describe."""
        return cls(
            make_activation(settings.activation, beta=settings.beta, gamma=settings.gamma),
            num_queries=settings.queries,
            alpha=settings.alpha,
            weight=settings.weight,
            square=settings.square,
            relation_scale=settings.relation_scale,
            leave_out_known=settings.leave_out_known,
        )

    def __call__(
        self,
        model: Model,
        triples: Tensor,
        generator: torch.Generator,
        known: KnownAnswers | None = None,
    ) -> Loss:
        """The loss of positive triples (B, 3); min(m, B) of their queries are sampled."""
        head, relation, tail = triples.unbind(dim=1)
        entities, rows = with_rows(model.entities(), torch.cat((head, tail)))
        heads, tails = rows.chunk(2)
        queries = model.query_of(heads, relation)  # (B, d)
        scale = self._scale(model, relation, queries)  # (B,)

        distance = geometry.squared_distance(queries, tails)
        activated = self.activation(scale * distance)
        alignment = (activated.square() if self.square else activated).mean()

        count = self.num_queries or max(1, round((self.alpha or 0) * len(triples)))
        drawn = torch.randperm(len(triples), generator=generator)[:count]
        drawn = drawn.to(triples.device)
        spread = uniformity(
            queries.index_select(0, drawn),
            entities,
            scale.index_select(0, drawn),
            self.activation,
            self._left_out(model, triples[drawn], known),
        )
        total = self.weight * alignment + spread
        return Loss(total, {"alignment": alignment, "uniformity": spread})

    def _scale(self, model: Model, relation: Tensor, like: Tensor) -> Tensor:
        return model.scale(relation) if self.relation_scale else like.new_ones(len(relation))

    def _left_out(
        self, model: Model, sampled: Tensor, known: KnownAnswers | None
    ) -> tuple[Tensor, Tensor] | None:
        """(query, entity) pairs to leave out of the sums of the sampled triples (m, 3)."""
        if not self.leave_out_known:
            return None
        return known_pairs(known, sampled, model.size.num_entities)

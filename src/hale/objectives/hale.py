"""The HaLE objective: alignment of all positives, uniformity against a few queries."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from hale import geometry
from hale.activations import Activation
from hale.engine import uniformity
from hale.errors import InputError
from hale.graph import KnownAnswers
from hale.models import Model
from hale.models.tables import with_rows
from hale.objectives.base import Loss, Objective


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

    def __call__(
        self,
        model: Model,
        triples: Tensor,
        generator: torch.Generator,
        known: KnownAnswers | None = None,
    ) -> Loss:
        """The loss of positive triples (B, 3); min(m, B) of their queries are sampled."""
        if self.leave_out_known and known is None:
            raise InputError("leave_out_known needs the known answers of the training triples.")
        head, relation, tail = triples.unbind(dim=1)
        entities, rows = with_rows(model.entities(), torch.cat((head, tail)))
        heads, tails = rows.chunk(2)
        queries = model.transform(heads, relation)  # (B, d)
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
            self._known_pairs(known, triples[drawn], model.size.num_entities),
        )
        total = self.weight * alignment + spread
        return Loss(total, {"alignment": alignment, "uniformity": spread})

    def _scale(self, model: Model, relation: Tensor, like: Tensor) -> Tensor:
        return model.scale(relation) if self.relation_scale else like.new_ones(len(relation))

    def _known_pairs(
        self, known: KnownAnswers | None, sampled: Tensor, num_entities: int
    ) -> tuple[Tensor, Tensor] | None:
        """(query, entity) pairs to leave out of the sums of the sampled triples (m, 3).

        A query that every entity answers keeps them all: a sum needs at least one term.
        """
        if not self.leave_out_known or known is None:
            return None
        ids = sampled.cpu().numpy()
        rows, answers = known.of(ids[:, 0], ids[:, 1])
        partial = np.bincount(rows, minlength=len(ids)) < num_entities
        rows, answers = rows[partial[rows]], answers[partial[rows]]
        return (
            torch.from_numpy(rows).to(sampled.device),
            torch.from_numpy(answers).to(sampled.device),
        )

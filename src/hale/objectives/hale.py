"""The HaLE objective: alignment of all positives, uniformity against a few queries."""

from __future__ import annotations

import torch
from torch import Tensor

from hale import geometry
from hale.activations import Activation
from hale.engine import uniformity
from hale.errors import InputError
from hale.graph import KnownAnswers
from hale.models import Model
from hale.objectives.base import Loss, Objective


class HaLE(Objective):
    """Hardness-aware contrastive loss with query sampling (section 3.3).

        a_p   = h(c_r ||q - e_p||^2)                        positives of the batch
        loss  = lambda mean a_p^2                           alignment
              + mean_i log sum_j exp(-h(c_i ||q_i - e_j||^2))   uniformity, over m sampled queries

    The paper's last equation carries a minus before lambda; read literally it
    would push positives apart. ``leave_out_known`` drops a query's answers in
    train from its own sum, which the paper does not do.
    """

    name = "hale"

    def __init__(
        self,
        activation: Activation,
        *,
        num_queries: int = 100,
        weight: float = 1.0,
        square: bool = True,
        relation_scale: bool = True,
        leave_out_known: bool = True,
    ) -> None:
        self.activation = activation
        self.num_queries = num_queries
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
        queries = model.query(head, relation)  # (B, d)
        scale = self._scale(model, relation, queries)  # (B,)

        distance = geometry.squared_distance(queries, model.entity(tail))
        activated = self.activation(scale * distance)
        alignment = (activated.square() if self.square else activated).mean()

        drawn = torch.randperm(len(triples), generator=generator)[: self.num_queries]
        drawn = drawn.to(triples.device)
        spread = uniformity(
            queries[drawn],
            model.entities(),
            scale[drawn],
            self.activation,
            self._known_pairs(known, triples[drawn]),
        )
        total = self.weight * alignment + spread
        return Loss(total, {"alignment": alignment, "uniformity": spread})

    def _scale(self, model: Model, relation: Tensor, like: Tensor) -> Tensor:
        return model.scale(relation) if self.relation_scale else like.new_ones(len(relation))

    def _known_pairs(
        self, known: KnownAnswers | None, sampled: Tensor
    ) -> tuple[Tensor, Tensor] | None:
        """(query, entity) pairs to leave out of the sums of the sampled triples (m, 3)."""
        if not self.leave_out_known or known is None:
            return None
        ids = sampled.cpu().numpy()
        rows, answers = known.of(ids[:, 0], ids[:, 1])
        return (
            torch.from_numpy(rows).to(sampled.device),
            torch.from_numpy(answers).to(sampled.device),
        )

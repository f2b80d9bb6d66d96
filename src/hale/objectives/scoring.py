"""Scoring: f, the score that the strategies train, from a model and an activation."""

from __future__ import annotations

import torch
from torch import Tensor

from hale.engine.activations import Activation, Identity, make_activation
from hale.models import Model
from hale.settings import Settings


class Scoring:
    """The score f of an entity as the answer to a query, in training.

        f = -h(c_r d^2) + b_h + b_t     d^2 the squared distance, Euclidean or hyperbolic
        f = <q, e> + b_h + b_t          where a model takes the inner product, or a network

    c_r is one unless ``relation_scale``; biases are those that the model has. With the identity
    as h and no scale, f is the model's own score.
    """

    def __init__(self, activation: Activation, *, relation_scale: bool) -> None:
        self.activation = activation
        self.relation_scale = relation_scale

    def scale(self, model: Model, relation: Tensor) -> Tensor | None:
        """c_r: (B,) -> (B, 1), or None where there is none."""
        return model.scale(relation).unsqueeze(-1) if self.relation_scale else None

    def activate(self, model: Model, compared: Tensor, scale: Tensor | None) -> Tensor:
        """The score without biases from s(q, e): (B, K), (B, 1) -> (B, K)."""
        if not model.by_distance:
            return compared
        if scale is not None:
            compared = scale * compared
        if isinstance(self.activation, Identity):
            return compared
        return -self.activation((-compared).clamp_min(0.0))  # rounding can go below zero

    def is_own(self, model: Model) -> bool:
        """Whether f is the model's own score."""
        plain = isinstance(self.activation, Identity) and not self.relation_scale
        return plain or model.similarity == "dot"

    def candidates(
        self, model: Model, head: Tensor, relation: Tensor, candidates: Tensor
    ) -> Tensor:
        """The scores of candidates (B, K) of each query: (B,), (B,), (B, K) -> (B, K).

        Heads and candidates are looked up at once, so that their gradients are summed into one
        table.
        """
        size = candidates.numel()
        rows = model.entity(torch.cat((candidates.flatten(), head)))
        vectors = rows[:size].view(*candidates.shape, -1)
        queries = model.query_of(rows[size:], relation)
        compared = model.compare(queries, vectors, model.comparing(relation))
        scores = self.activate(model, compared, self.scale(model, relation))
        return scores + model.bias(head, candidates)


def scoring_of(settings: Settings) -> Scoring:
    """The score that the settings describe."""
    return Scoring(
        make_activation(settings.activation, beta=settings.beta, gamma=settings.gamma),
        relation_scale=settings.relation_scale,
    )

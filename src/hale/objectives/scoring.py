"""Scoring: f, the score that the strategies train, from a model and an activation."""

from __future__ import annotations

import torch
from torch import Tensor

from hale.data.graph import KnownAnswers
from hale.engine.activations import Activation, Identity, make_activation
from hale.models import Model
from hale.settings import Settings


class Scoring:
    """The score f of an entity as the answer to a query, in training.

        f = -h(c_r d^2) + b_h + b_t     d^2 the squared distance, Euclidean or hyperbolic
        f = <q, e> + b_h + b_t          where a model takes the inner product, or a network

    c_r is one unless ``relation_scale``; biases are those that the model has. With the identity
    as h and no scale, f is the model's own score. ``bounds`` (2R,) are those of h by relation,
    where they differ.
    """

    def __init__(
        self, activation: Activation, *, relation_scale: bool, bounds: Tensor | None = None
    ) -> None:
        self.activation = activation
        self.relation_scale = relation_scale
        self.bounds = bounds

    def scale(self, model: Model, relation: Tensor) -> Tensor | None:
        """c_r: (B,) -> (B, 1), or None where there is none."""
        return model.scale(relation).unsqueeze(-1) if self.relation_scale else None

    def activate(
        self, model: Model, compared: Tensor, scale: Tensor | None, bound: Tensor | None = None
    ) -> Tensor:
        """The score without biases from s(q, e): (B, K), (B, 1), (B, 1) -> (B, K)."""
        if not model.by_distance:
            return compared
        if scale is not None:
            compared = scale * compared
        if isinstance(self.activation, Identity):
            return compared
        return -self.activation((-compared).clamp_min(0.0), bound)  # rounding can go below zero

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
        bound = None
        if self.bounds is not None:
            bound = self.bounds.to(relation.device).index_select(0, relation).unsqueeze(-1)
        scores = self.activate(model, compared, self.scale(model, relation), bound)
        return scores + model.bias(head, candidates)


def activation_of(settings: Settings) -> Activation:
    """The activation that the settings describe."""
    return make_activation(
        settings.activation, beta=settings.beta, gamma=settings.gamma, shape=settings.shape
    )


def scoring_of(settings: Settings, known: KnownAnswers | None = None) -> Scoring:
    """The score that the settings describe.

    With the answers that train knows, relations that run both ways have a bound of their own, as
    under HaLE.
    """
    bounds = None
    if known is not None and settings.gamma_two_way is not None:
        two_way = torch.from_numpy(known.two_way)
        bounds = torch.where(two_way, settings.gamma_two_way, settings.gamma)
    return Scoring(
        activation_of(settings),
        relation_scale=settings.relation_scale,
        bounds=bounds,
    )

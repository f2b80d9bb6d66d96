"""The HaLE objective: alignment of all positives, uniformity against a few queries."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from hale.data.graph import KnownAnswers
from hale.engine import contrast
from hale.engine.activations import Activation
from hale.engine.blocks import Block
from hale.engine.estimate import Estimate, has_floor
from hale.engine.shapes import BY_GAMMA
from hale.errors import InputError
from hale.models import Model, Similarity
from hale.objectives.base import Loss, Objective
from hale.objectives.left_out import LeftOut, left_out, required
from hale.objectives.scoring import activation_of
from hale.settings import Settings
from hale.settings.space import OPTIMIZER, Choice, Float, Space


class HaLE(Objective):
    """Hardness-aware contrastive loss with query sampling (section 3.3).

        a_p   = h(c_r ||q - e_p||^2)                        positives of the batch
        loss  = lambda mean a_p^2                           alignment
              + mean_i log sum_j exp(-h(c_i ||q_i - e_j||^2))   uniformity, over m sampled queries,
                                                                m given or alpha B

    The paper's last equation carries a minus before lambda; read literally it
    would push positives apart. Five things the paper does not do: ``leave_out_known``
    drops a query's answers in train from its own sum; ``gamma_two_way`` is another
    bound for relations that mostly run both ways, where the true answer is to be told
    from its nearest rivals and few of those are answers yet unknown; ``gamma_start`` lets
    both bounds go from there to their own value over the run; ``query_power`` p draws a
    query with k answers in train by k^-p, so that at 1 all distinct queries are drawn alike
    (at 0 all triples are). And the sum may run over a block of the entities that stands for all
    (``block``, see engine.estimate): the paper names such a filter as future work.

    Where facts have weights w, alignment is lambda sum_p w_p a_p^2 / sum_p w_p, and a query is
    drawn by its fact's weight (times k^-p): both as if facts were repeated.
    """

    name = "hale"
    uses = frozenset(
        {
            *("queries", "alpha", "weight", "square", "leave_out_known"),
            *("gamma_start", "gamma_two_way", "query_power", "block"),
        }
    )
    formula = "lambda mean h(c_r d_p^2)^2 + mean_i log sum_j exp(-h(c_i d_ij^2))"
    source = "Wang et al., WWW 2022"
    similarities: ClassVar[tuple[Similarity, ...]] = ("l2",)
    takes_biases = False
    because = "its uniformity term sums over all entities by squared L2 distance"
    space: ClassVar[Space] = (
        Float("learning_rate", 0.002, 0.05, log=True),
        Float("gamma", 3.0, 14.0),
        Float("weight", 0.05, 2.0, log=True),
        Choice("queries", (32, 64, 100, 200, 400, 800)),
        Choice("block", (0.02, 0.05, 0.1, 0.2, 0.4, 1)),  # a share; 1 is all
        Float("init_scale", 0.003, 0.3, log=True),
        Choice("batch_size", (2048, 4096, 8192, 16384)),
        Choice("dropout", (0.0, 0.05, 0.1, 0.2, 0.3)),
        Float("gamma_two_way", 3.0, 14.0),
        Float("near", 0.0, 0.9),
        Choice("square", (False, True)),
        Float("beta", 1.0, 5.0),
        Float("decay", 0.2, 1.0),
        OPTIMIZER,
    )
    paper_space: ClassVar[Space] = (
        Choice("alpha", (0.05, 0.1, 0.2)),
        Choice("weight", (0.1, 0.3, 0.5, 1.0)),
        Choice("gamma", (5.0, 10.0, 20.0)),
        Choice("learning_rate", (0.0005, 0.001, 0.005)),
        Choice("batch_size", (256, 512, 1024)),
    )

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
        gamma_start: float | None = None,
        gamma_two_way: float | None = None,
        query_power: float = 0.0,
    ) -> None:
        self.activation = activation
        self.gamma_start = gamma_start
        self.gamma_two_way = gamma_two_way
        self.query_power = query_power
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
            activation_of(settings),
            num_queries=settings.queries,
            alpha=settings.alpha,
            weight=settings.weight,
            square=settings.square,
            relation_scale=settings.relation_scale,
            leave_out_known=settings.leave_out_known,
            gamma_start=settings.gamma_start,
            gamma_two_way=settings.gamma_two_way,
            query_power=settings.query_power,
        )

    @property
    def bounded(self) -> bool:
        """Whether weights have a floor under the activation and its bounds."""
        return has_floor(max(self.activation.bound, self.gamma_two_way or 0.0))

    def at(self, progress: float) -> Self:
        """The objective at a share of the run: its bounds on the way from gamma_start."""
        start = self.gamma_start
        if start is None or not isinstance(self.activation, BY_GAMMA):
            return self
        moved = copy(self)
        gamma = start + progress * (self.activation.gamma - start)
        moved.activation = replace(self.activation, gamma=gamma)
        if self.gamma_two_way is not None:
            moved.gamma_two_way = start + progress * (self.gamma_two_way - start)
        return moved

    def __call__(
        self,
        model: Model,
        triples: Tensor,
        generator: torch.Generator,
        known: KnownAnswers | None = None,
        block: Block | None = None,
        weights: Tensor | None = None,
    ) -> Loss:
        """The loss of positive triples (B, 3); min(m, B) of their queries are sampled."""
        head, relation, tail = triples.unbind(dim=1)
        entities, heads, tails = model.look_up(block, head, tail)
        queries = model.query_of(heads, relation)  # (B, d)
        scale = self._scale(model, relation, queries)  # (B,)
        drawn = self.draw(triples, generator, known, weights).to(triples.device)
        bounds = self.bounds(known, scale)
        gammas = None if bounds is None else bounds.index_select(0, relation)
        out = self.left_out(model, triples.index_select(0, drawn), known, block)
        found = contrast(
            queries,
            tails,
            entities,
            scale,
            drawn,
            self.activation,
            weight=self.weight,
            square=self.square,
            without=out.pairs(triples.device),
            gammas=gammas,
            estimate=self._estimate(out, block, gammas, drawn),
            weights=weights,
        )
        return Loss(found.total, {"alignment": found.alignment, "uniformity": found.uniformity})

    def _estimate(
        self, out: LeftOut, block: Block | None, gammas: Tensor | None, drawn: Tensor
    ) -> Estimate:
        """How the sums over the block stand for sums over all."""
        bounds = None
        if self.bounded:
            bounds = torch.full((len(drawn),), self.activation.bound, device=drawn.device)
            if gammas is not None:
                bounds = gammas.index_select(0, drawn)
        return out.estimate(block, bounds, drawn.device)

    def bounds(self, known: KnownAnswers | None, like: Tensor) -> Tensor | None:
        """The bound of the activation for each relation (2R,); None where all have the same."""
        if self.gamma_two_way is None or not isinstance(self.activation, BY_GAMMA):
            return None
        if known is None:
            raise InputError("gamma_two_way needs the known answers of the training triples.")
        two_way = torch.from_numpy(known.two_way).to(like.device)
        other, own = like.new_tensor(self.gamma_two_way), like.new_tensor(self.activation.gamma)
        return torch.where(two_way, other, own)

    def draw(
        self,
        triples: Tensor,
        generator: torch.Generator,
        known: KnownAnswers | None,
        weights: Tensor | None = None,
    ) -> Tensor:
        """The places (m,) in the batch (B, 3) whose queries are sampled, none twice."""
        count = self.num_queries or max(1, round((self.alpha or 0) * len(triples)))
        if not self.query_power and weights is None:
            return torch.randperm(len(triples), generator=generator)[:count]
        chances = torch.ones(len(triples), dtype=torch.float64)
        if weights is not None:
            chances = weights.cpu().double()
        if self.query_power:
            if known is None:
                raise InputError("query_power needs the known answers of the training triples.")
            ids = triples.cpu().numpy()
            answers = np.maximum(1, known.counts(ids[:, 0], ids[:, 1]))
            chances = chances * torch.from_numpy(answers.astype(np.float64) ** -self.query_power)
        return torch.multinomial(chances, min(count, len(triples)), generator=generator)

    def _scale(self, model: Model, relation: Tensor, like: Tensor) -> Tensor:
        return model.scale(relation) if self.relation_scale else like.new_ones(len(relation))

    def left_out(
        self, model: Model, sampled: Tensor, known: KnownAnswers | None, block: Block | None
    ) -> LeftOut:
        """What the sums of the sampled triples (m, 3) leave out."""
        return left_out(
            sampled,
            model.size.num_entities,
            known=required(known) if self.leave_out_known else None,
            ruled_out=model.ruled_out(sampled[:, 1]),
            block=block,
            # a bounded sum has what is known of all entities beside what the block tells
            keep="entity" if self.bounded else "column",
        )

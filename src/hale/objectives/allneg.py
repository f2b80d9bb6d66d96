"""AllNeg: cross-entropy of each positive against all entities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self, TypedDict

import torch
from torch import Tensor

from hale.data.graph import KnownAnswers
from hale.engine import mean_log_sum, uniformity
from hale.engine.blocks import Block
from hale.engine.estimate import Estimate, has_floor
from hale.engine.tiles import Pairs
from hale.models import Model, Similarity
from hale.models.model_options import SIMILARITIES
from hale.objectives.base import Loss, Objective
from hale.objectives.left_out import LeftOut, left_out, required
from hale.objectives.scoring import Scoring, scoring_of
from hale.objectives.weighing import weighted_mean
from hale.settings import Settings
from hale.settings.space import GENERAL, Choice, Float, Space

_KBC: dict[str, object] = {
    "optimizer": "adagrad",
    "learning_rate": 0.1,
    "init_scale": 0.001,
    "penalty_power": 3.0,
    "block": 1,
}


class Sums(TypedDict):
    """What the sums over entities leave out, stand for, and have beside."""

    without: Pairs
    estimate: Estimate
    others: Tensor | None


class AllNeg(Objective):
    """Softmax over all entities for every positive of the batch (1-vs-all).

        loss = mean_p [-f_p + log sum_j exp(f_pj)]

    ``leave_out_known`` takes the other known answers of a query out of its sum. Over a ``block``
    of the entities the sum of the others is estimated (see engine.estimate), and the target is
    always a term beside it. The sums go
    through the engine: for squared L2 distances they are the uniformity term over the whole
    batch, for other scores, and where facts have weights, they are taken in chunks; no tensor of
    size B * N is kept. With weights the mean is sum_p w_p [...] / sum_p w_p.
    """

    name = "allneg"
    uses = frozenset({"leave_out_known", "block"})
    formula = "mean -f_p + log sum_j exp(f_j) over all entities"
    source = "Lacroix et al., ICML 2018; Ruffinelli et al., ICLR 2020"
    similarities: ClassVar[tuple[Similarity, ...]] = SIMILARITIES
    defaults: ClassVar[Mapping[str, object]] = {
        "activation": "identity",
        "leave_out_known": False,
        "batch_size": 128,  # every positive of it sums over all entities
    }
    by_dot: ClassVar[Mapping[str, object]] = {"batch_size": 512, "learning_rate": 0.003}
    # of N scores from 0 to -gamma the target has no more than exp(gamma) / (exp(gamma) + N)
    activated: ClassVar[Mapping[str, object]] = {"gamma": 10.0}
    space: ClassVar[Space] = (
        Float("learning_rate", 0.0002, 0.3, log=True),
        Choice("batch_size", (128, 256, 512, 1024, 2048, 4096)),
        Float("init_scale", 0.001, 0.3, log=True),
        Choice("block", (0.02, 0.05, 0.1, 0.2, 0.4, 1)),  # a share; 1 is all
        Choice("leave_out_known", (False, True)),
        *(one for one in GENERAL if one.name != "penalty"),
        Choice("penalty", (0.0, 0.0005, 0.005, 0.05, 0.1)),
    )
    # kbc's ComplEx with the nuclear 3-norm: on WN18RR, and on FB15k-237 with a rank of 1,000
    published: ClassVar[tuple[Mapping[str, object], ...]] = (
        _KBC | {"batch_size": 128, "penalty": 0.1},
        _KBC | {"batch_size": 1024, "penalty": 0.05},
    )
    paper_space: ClassVar[Space] = (
        Choice("learning_rate", (0.0005, 0.001, 0.005)),
        Choice("batch_size", (256, 512, 1024)),
    )

    def __init__(self, scoring: Scoring, *, leave_out_known: bool = False) -> None:
        self.scoring = scoring
        self.leave_out_known = leave_out_known

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The objective that the settings describe."""
        return cls(scoring_of(settings), leave_out_known=settings.leave_out_known)

    def __call__(
        self,
        model: Model,
        triples: Tensor,
        generator: torch.Generator,  # noqa: ARG002
        known: KnownAnswers | None = None,
        block: Block | None = None,
        weights: Tensor | None = None,
    ) -> Loss:
        """The loss of positive triples (B, 3)."""
        head, relation, tail = triples.unbind(dim=1)
        entities, heads, tails = model.look_up(block, head, tail)
        queries = model.query_of(heads, relation)
        beside = model.comparing(relation)
        scale = self.scoring.scale(model, relation)
        compared = model.compare(queries, tails.unsqueeze(1), beside)
        biases = model.bias(head, tail)
        scores = self.scoring.activate(model, compared, scale).squeeze(1) + biases

        out = left_out(
            triples,
            model.size.num_entities,
            known=required(known) if self.leave_out_known else None,
            tails=block is not None,  # of a block's sum it is a term by itself
            block=block,
            keep=None,  # the target is always a term
        )
        sums: Sums = {
            "without": out.pairs(triples.device),
            "estimate": self._estimate(model, out, block),
            "others": None if block is None else scores,
        }
        if model.similarity == "l2" and model.tail_bias is None and weights is None:
            ones = queries.new_ones(len(queries))
            scales = ones if scale is None else scale.squeeze(-1)
            whole = uniformity(queries, entities, scales, self.scoring.activation, **sums)
        else:
            whole = self._log_sum(
                model, head, queries, beside, scale, entities, block, sums, weights
            )
        positives = weighted_mean(scores, weights)
        return Loss(whole - positives, {"positives": -positives, "all": whole})

    def _estimate(self, model: Model, out: LeftOut, block: Block | None) -> Estimate:
        bound = self.scoring.activation.bound
        if not has_floor(bound) or not model.by_distance or model.tail_bias is not None:
            return out.estimate(block, None, model.entities().device)
        bounds = torch.full((len(out.counts),), bound, device=model.entities().device)
        return out.estimate(block, bounds, bounds.device)

    def _log_sum(
        self,
        model: Model,
        head: Tensor,
        queries: Tensor,
        beside: Tensor | None,
        scale: Tensor | None,
        entities: Tensor,
        block: Block | None,
        sums: Sums,
        weights: Tensor | None,
    ) -> Tensor:
        def score(
            queries: Tensor,
            beside: Tensor | None,
            scale: Tensor | None,
            head_bias: Tensor | None,
            entities: Tensor,
            tail_bias: Tensor | None,
        ) -> Tensor:
            compared = model.compare_all(queries, entities, beside)
            scores = self.scoring.activate(model, compared, scale)
            if head_bias is None or tail_bias is None:
                return scores
            return scores + head_bias + tail_bias.T

        head_bias = tail_bias = None
        if model.head_bias is not None and model.tail_bias is not None:
            head_bias, tail_bias = model.head_bias(head), model.tail_bias.weight
            if block is not None:
                tail_bias = model.tail_bias(block.ids.to(head.device))
        return mean_log_sum(
            score,
            (queries, beside, scale, head_bias),
            (entities, tail_bias),
            **sums,
            weights=weights,
        )

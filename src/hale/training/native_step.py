"""A training step in one native call: HaLE over blocks, a model that rotates, Adam.

By autograd a step is some fifty small calls, which take as long as its arithmetic. Where the kernel
has them all, it is one (native/step.cpp); the relations' own tables, which are small, are left to
autograd. The step of the trainer is the reference, and what runs everywhere else.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from hale.data.known_answers import KnownAnswers
from hale.engine import library as kernel
from hale.engine import native
from hale.engine.blocks import Block
from hale.engine.estimate import estimate
from hale.engine.leaving import Leaver, Left
from hale.engine.structures import Step
from hale.models import Model
from hale.models.dropout import drawn_key
from hale.objectives import Criterion, HaLE, Loss
from hale.training.optimizers import BETAS, EPS, Adam, Optimizer

TABLE = "entity.weight"


class NativeStep:
    """Steps of one model by one optimiser; ``step_for`` tells whether there are such."""

    def __init__(self, model: Model, optimizer: Adam, known: KnownAnswers, leaver: Leaver) -> None:
        self.model = model
        self.optimizer = optimizer
        self.known = known
        self.leaver = leaver

    def __call__(
        self,
        objective: HaLE,
        batch: Tensor,
        draws: torch.Generator,
        drops: torch.Generator,
        block: Block,
        rate: float,
    ) -> Loss:
        """One step on positives (B, 3): its loss, of which all that it touches has moved.

        Where the loss is not finite nothing has.
        """
        model, table = self.model, self.model.entity.weight
        rotation = model.rotation()
        assert rotation is not None
        scales = torch.ones(len(rotation.turns))
        if objective.relation_scale:
            scales = functional.softplus(model.free_scale.weight).squeeze(1)
        bounds = objective.bounds(self.known, scales)
        if bounds is None:
            bounds = torch.full_like(scales, objective.activation.bound)
        tables = (*rotation, scales)
        gradients = [None if x is None else torch.empty_like(x) for x in tables]

        batch = batch.contiguous()
        least, most = torch.aminmax(batch, dim=0)
        limits = batch.new_tensor([len(table), len(rotation.turns), len(table)])
        if int(least.min()) < 0 or bool((most >= limits).any()):  # the kernel would not notice
            raise IndexError(f"triples of ids {least.tolist()} to {most.tolist()}")
        drawn = objective.draw(batch, draws, self.known)
        left = self._left(objective, batch.index_select(0, drawn), block)
        own = bounds.index_select(0, batch[:, 1].index_select(0, drawn))
        made = estimate(
            block.num_entities,
            len(block),
            bounds=own if objective.bounded else None,
            left_out=torch.from_numpy(left.counts),
            left_out_here=torch.from_numpy(left.counts_here),
        )
        kept = self.optimizer.beside(TABLE)
        dropout = model.dropout
        values = np.zeros(3)
        held = [x if x is None else x.detach().contiguous() for x in tables]
        problem = Step(
            b=len(batch),
            m=len(drawn),
            s=len(block),
            d=table.shape[1],
            dim=model.dim,
            relations=len(rotation.turns),
            triples=batch.data_ptr(),
            drawn=drawn.data_ptr(),
            block=block.ids.data_ptr(),
            left_out=left.places.ctypes.data,
            left_from=left.begins.ctypes.data,
            table=table.data_ptr(),
            means=kept["exp_avg"].data_ptr(),
            squares=kept["exp_avg_sq"].data_ptr(),
            turns=_address(held[0]),
            shifts=_address(held[1]),
            alphas=_address(held[2]),
            scales=_address(held[3]),
            gammas=bounds.data_ptr(),
            activation=native.KINDS.index(type(objective.activation)),
            beta=getattr(objective.activation, "beta", 0.0),
            weight=objective.weight,
            square=objective.square,
            ratio=made.ratio,
            bases=_address(made.bases),
            lost=dropout.lost if dropout.share else 0,
            key=drawn_key(drops) if dropout.share else 0,
            first=1 - BETAS[0],
            second=1 - BETAS[1],
            rate=self.optimizer.corrected(rate, kept),
            eps=EPS,
            threads=torch.get_num_threads(),
            values=values.ctypes.data,
            by_turns=_address(gradients[0]),
            by_shifts=_address(gradients[1]),
            by_alphas=_address(gradients[2]),
            by_scales=_address(gradients[3]),
        )
        kernel.call("hale_step", problem)
        alignment, spread, moved = torch.from_numpy(values).float()
        loss = Loss(
            objective.weight * alignment + spread, {"alignment": alignment, "uniformity": spread}
        )
        if moved:
            self._move_relations(tables, gradients, rate)
        return loss

    def _move_relations(
        self,
        tables: tuple[Tensor | None, ...],
        gradients: list[Tensor | None],
        rate: float,
    ) -> None:
        """Move the parameters behind the relations' tables, by what the kernel found of these."""
        pairs = [(x, by) for x, by in zip(tables, gradients, strict=True) if x is not None]
        learnt = [(x, by) for x, by in pairs if x.requires_grad]
        torch.autograd.backward([x for x, _ in learnt], [by for _, by in learnt])
        self.optimizer.step(rate)

    def _left(self, objective: HaLE, sampled: Tensor, block: Block) -> Left:
        """What the sums of sampled triples (m, 3) leave out."""
        ruled_out = self.model.ruled_out(sampled[:, 1])
        heads, relations, _ = sampled.numpy().T
        mask = None if ruled_out is None else np.ascontiguousarray(ruled_out.numpy())
        left = self.leaver.of(heads, relations, mask, block)
        full = left.counts >= block.num_entities
        if not objective.bounded:
            full |= left.counts_here >= len(block)
        if not full.any():
            return left
        out = objective.left_out(self.model, sampled, self.known, block)  # which keeps one
        begins = np.searchsorted(out.rows, np.arange(len(sampled) + 1))
        return Left(out.columns, begins, out.counts)


def step_for(
    model: Model,
    objective: Criterion,
    optimizer: Optimizer,
    known: KnownAnswers,
    blocks: object | None,
    *,
    weighted: bool = False,
) -> NativeStep | None:
    """The native step of these, where there is one: facts that are ``weighted`` have none."""
    if weighted:
        return None
    if not (type(objective) is HaLE and type(optimizer) is Adam and blocks is not None):
        return None
    answers = known.index if objective.leave_out_known else None
    fits = (
        model.rotation() is not None
        and model.similarity == "l2"
        and type(objective.activation) in native.KINDS
        and all(kernel.takes(parameter) for parameter in model.parameters())
        and (answers is not None or not objective.leave_out_known)
        and Leaver.takes(answers)
    )
    if not fits:
        return None
    return NativeStep(model, optimizer, known, Leaver(answers, 2 * model.size.num_relations))


def _address(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()

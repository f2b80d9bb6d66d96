"""A training step in one native call: HaLE over blocks, a model that rotates or maps, Adam.

By autograd a step is some fifty small calls, which take as long as its arithmetic. Where the kernel
has them all, it is one (native/step.cpp). The step of the trainer is the reference, and what runs
everywhere else.
"""

from __future__ import annotations

import ctypes
import math

import numpy as np
import torch
from torch import Tensor

from hale.data.known_answers import KnownAnswers
from hale.engine import library as kernel
from hale.engine import native
from hale.engine.blocks import Block
from hale.engine.estimate import estimate
from hale.engine.leaving import Leaver, Left
from hale.engine.randomness import Stream, drawn_key, generator
from hale.engine.structures import Parameter, Step
from hale.models import Model
from hale.objectives import Criterion, HaLE, Loss
from hale.training.optimizers import Adam, Optimizer
from hale.training.steps import Moment

TABLE, SCALES = "entity.weight", "free_scale.weight"
# Tables of relations in the order of Step; a model has some of them.
RELATIONS = ("turn.weight", "shift.weight", "alpha.weight", SCALES, "map.weight")


class NativeStep:
    """Steps of one model by one optimiser; ``step_for`` tells whether there are such."""

    def __init__(self, model: Model, optimizer: Adam, known: KnownAnswers, leaver: Leaver) -> None:
        self.model = model
        self.optimizer = optimizer
        self.known = known
        self.leaver = leaver

    def __call__(self, objective: Criterion, moment: Moment) -> Loss:
        """One step on positives (B, 3): its loss, of which all that it touches has moved.

        Where the loss is not finite nothing has.
        """
        block, rate = moment.block, moment.rate
        assert isinstance(objective, HaLE)
        assert block is not None
        model, table, lag = self.model, self.model.entity.weight, self.optimizer.lag(TABLE)
        num_relations = 2 * model.size.num_relations
        bounds = objective.bounds(self.known, table)
        if bounds is None:
            bounds = torch.full((num_relations,), objective.activation.bound)

        batch = moment.batch.contiguous()
        least, most = torch.aminmax(batch, dim=0)
        limits = batch.new_tensor([len(table), num_relations, len(table)])
        if int(least.min()) < 0 or bool((most >= limits).any()):  # the kernel would not notice
            raise IndexError(f"triples of ids {least.tolist()} to {most.tolist()}")
        drawn = objective.draw(batch, moment.draws(), self.known)
        left = self._left(objective, batch.index_select(0, drawn), block)
        own = bounds.index_select(0, batch[:, 1].index_select(0, drawn))
        made = estimate(
            block.num_entities,
            len(block),
            bounds=own if objective.bounded else None,
            left_out=torch.from_numpy(left.counts),
            left_out_here=torch.from_numpy(left.counts_here),
        )
        dropout = model.dropout
        drops = generator(moment.seed, Stream.DROPOUT, moment.step)
        values = np.zeros(3)
        corrected = self.optimizer.corrected(rate, self.optimizer.beside(TABLE))
        asked = lag.problem(None, 0)
        problem = Step(
            b=len(batch),
            m=len(drawn),
            s=len(block),
            d=table.shape[1],
            dim=model.dim,
            k=model.block_maps or 0,
            relations=num_relations,
            triples=batch.data_ptr(),
            drawn=drawn.data_ptr(),
            block=block.ids.data_ptr(),
            left_out=left.places.ctypes.data,
            left_from=left.begins.ctypes.data,
            table=table.data_ptr(),
            means=lag.means.data_ptr(),
            squares=lag.squares.data_ptr(),
            last=asked.last,
            due=asked.due,
            step=asked.step,
            parameters=ctypes.addressof(parameters := self._parameters(objective, rate)),
            gammas=bounds.data_ptr(),
            activation=native.KINDS.index(type(objective.activation)),
            beta=getattr(objective.activation, "beta", 0.0),
            shape=(shape := native.shape_of(objective.activation)).data_ptr(),
            weight=objective.weight,
            square=objective.square,
            ratio=made.ratio,
            bases=_address(made.bases),
            lost=dropout.lost if dropout.share else 0,
            key=drawn_key(drops) if dropout.share else 0,
            first=asked.first,
            second=asked.second,
            rate=corrected,
            eps=asked.eps,
            threads=torch.get_num_threads(),
            values=values.ctypes.data,
        )
        kernel.call("hale_step", problem)
        del parameters, shape  # held until here
        alignment, spread, moved = torch.from_numpy(values).float()
        if moved:
            lag.stepped(corrected)
        return Loss(
            objective.weight * alignment + spread, {"alignment": alignment, "uniformity": spread}
        )

    def _parameters(self, objective: HaLE, rate: float) -> ctypes.Array[Parameter]:
        """The tables of the relations with what Adam keeps beside them: turns, shifts, ...

        They count one more step.
        """
        found = (Parameter * len(RELATIONS))()
        for place, name in enumerate(RELATIONS):
            table = self.optimizer.parameters.get(name)
            if table is None or (name == SCALES and not objective.relation_scale):
                continue
            kept = self.optimizer.beside(name)
            first, second = self.optimizer.corrections(kept)
            found[place] = Parameter(
                values=table.data_ptr(),
                means=kept["exp_avg"].data_ptr(),
                squares=kept["exp_avg_sq"].data_ptr(),
                rate=rate / first,
                root=math.sqrt(second),
            )
        return found

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
        model.is_turn_or_map
        and not model.entity.computed
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

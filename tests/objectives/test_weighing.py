"""Weights of facts: whole ones are what repeating the facts is."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from hale.data.graph import Graph, GraphSize, KnownAnswers, Vocabulary
from hale.engine.activations import Hanon, Identity
from hale.errors import SettingsError
from hale.models import Model, make_model
from hale.objectives import AllNeg, Criterion, HaLE, NonNeg, SamNeg
from hale.objectives.scoring import Scoring
from hale.objectives.weighing import weighted_mean
from hale.runs.systems import check_weights
from hale.settings import make_settings
from hale.training.batches import Mixed, Shuffled

TRIPLES = torch.tensor([[0, 0, 1], [1, 1, 2], [3, 0, 4]])
WEIGHTS = torch.tensor([3.0, 1.0, 2.0])
REPEATED = TRIPLES[[0, 0, 0, 1, 2, 2]]
SCORING = Scoring(Identity(), relation_scale=True)


class DrawsFirst(HaLE):
    """Always samples the query of the first triple, so that only weights can differ."""

    def draw(
        self,
        triples: Tensor,
        generator: torch.Generator,
        known: KnownAnswers | None,
        weights: Tensor | None = None,
    ) -> Tensor:
        return torch.tensor([0])


class NoChance(SamNeg):
    """Negatives that no draw changes: entity 5 alone."""

    def __call__(self, model: Model, triples: Tensor, *others: object, **more: object):  # type: ignore[no-untyped-def]
        drawn = torch.full((len(triples), self.negatives), 5)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch, "randint", lambda *_, **__: drawn)
            return super().__call__(model, triples, *others, **more)


STRATEGIES: dict[str, tuple[Criterion, str]] = {
    "hale": (DrawsFirst(Hanon(beta=1.5, gamma=6.0), leave_out_known=False), "rotl"),
    "hale, not squared": (DrawsFirst(Identity(), square=False, leave_out_known=False), "transe"),
    "samneg": (NoChance(SCORING, negatives=2, margin=1.0), "transe"),
    "allneg by distance": (AllNeg(SCORING), "transe"),
    "allneg by inner product": (AllNeg(SCORING), "distmult"),
    "nonneg": (NonNeg(SCORING), "transe"),
}


def model_of(name: str) -> Model:
    torch.manual_seed(1)
    return make_model(name, GraphSize(6, 2), 4).double()


def gradients(
    name: str, objective: Criterion, triples: Tensor, weights: Tensor | None
) -> tuple[float, list[Tensor]]:
    model = model_of(name)
    loss = objective(model, triples, torch.Generator().manual_seed(0), None, None, weights)
    loss.total.backward()  # type: ignore[no-untyped-call]
    found = [x.grad for x in model.parameters() if x.grad is not None]
    return loss.total.item(), found


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_whole_weights_are_repeated_facts(strategy: str) -> None:
    objective, name = STRATEGIES[strategy]
    loss, found = gradients(name, objective, TRIPLES, WEIGHTS)
    expected, wanted = gradients(name, objective, REPEATED, None)
    plain, _ = gradients(name, objective, TRIPLES, None)
    assert loss == pytest.approx(expected, rel=1e-9)
    assert abs(loss - plain) > 1e-6  # they do count
    assert len(found) == len(wanted) > 0
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-12)


def test_the_alignment_of_two_facts_by_hand() -> None:
    """TransE on a line: distances 1 and 2, so a = 1 and 4, a^2 = 1 and 16, weights 3 and 1."""
    model = make_model("transe", GraphSize(4, 1), 1).double()
    with torch.no_grad():
        model.entity.weight.copy_(torch.tensor([[0.0], [1.0], [5.0], [7.0]]))
        for name, parameter in model.named_parameters():
            if name == "shift.weight":
                parameter.zero_()
    objective = HaLE(Identity(), num_queries=1, relation_scale=False, leave_out_known=False)
    triples = torch.tensor([[0, 0, 1], [2, 0, 3]])
    draws = torch.Generator().manual_seed(0)
    loss = objective(model, triples, draws, None, None, torch.tensor([3.0, 1.0]))
    assert loss.parts["alignment"].item() == pytest.approx((3 * 1 + 1 * 16) / 4)
    loss = objective(model, triples, draws)
    assert loss.parts["alignment"].item() == pytest.approx((1 + 16) / 2)
    assert weighted_mean(torch.tensor([1.0, 5.0]), torch.tensor([1.0, 3.0])).item() == 4.0


def test_queries_are_drawn_by_the_weights_of_their_facts() -> None:
    objective = HaLE(Identity(), num_queries=1, leave_out_known=False)
    draws = torch.Generator().manual_seed(0)
    first = [int(objective.draw(TRIPLES, draws, None, WEIGHTS)[0]) for _ in range(6000)]
    shares = np.bincount(first, minlength=3) / len(first)
    assert shares == pytest.approx([3 / 6, 1 / 6, 2 / 6], abs=0.03)  # five standard errors
    every = HaLE(Identity(), num_queries=10, leave_out_known=False)
    assert sorted(every.draw(TRIPLES, draws, None, WEIGHTS).tolist()) == [0, 1, 2]


def test_a_batch_has_the_weights_of_its_triples_both_ways() -> None:
    triples = np.array([[i, 0, i + 10] for i in range(10)])
    weights = np.arange(1, 11, dtype=np.float32)
    batches = Shuffled(triples, 7, seed=3, relations=1, weights=weights)
    seen = []
    for step in range(batches.steps_per_epoch):
        batch, mine = batches.at(step), batches.weights_at(step)
        assert mine is not None
        smaller = torch.minimum(batch[:, 0], batch[:, 2])  # the head of the fact as it was given
        assert mine.tolist() == (smaller + 1).tolist()
        seen += mine.tolist()
    assert sorted(seen) == sorted([*range(1, 11)] * 2)
    mixed = Mixed(batches, Shuffled(triples[:2], 3, seed=3, relations=1, weights=weights[:2]))
    both = mixed.weights_at(0)
    assert both is not None
    assert len(both) == len(mixed.at(0)) == 10
    assert Shuffled(triples, 7, seed=3).weights_at(0) is None


def test_a_strategy_that_cannot_take_weights_says_why() -> None:
    names = Vocabulary(["a", "b"], "entity"), Vocabulary(["r"], "relation")
    triples, none = np.array([[0, 0, 1]]), np.empty((0, 3), dtype=np.int64)
    weighted = Graph("g", *names, triples, none, none, weights=np.ones(1, dtype=np.float32))
    square = make_settings(model="distmult", strategy="allneg-square", epochs=1)
    with pytest.raises(SettingsError, match=r"counts each once.*take advneg, allneg, hale"):
        check_weights(square, weighted)
    check_weights(square, Graph("g", *names, triples, none, none))
    check_weights(make_settings(model="rotl", epochs=1), weighted)

"""The step in one native call against the step by autograd, and on any number of threads."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from hale.data.graph import Graph, KnownAnswers, Vocabulary
from hale.engine import library as kernel
from hale.engine.blocks import Blocks
from hale.engine.leaving import Leaver
from hale.objectives.left_out import left_out
from hale.settings import make_settings
from hale.training.native_step import NativeStep
from hale.training.optimizers import Adam
from hale.training.trainer import Trainer

pytestmark = pytest.mark.skipif(not kernel.builds(), reason="no kernel was built here")

SIZE, RELATIONS = 300, 4


@pytest.fixture(scope="module")
def dense() -> Graph:
    """Facts at random, some of them loops, some with many answers, one relation both ways."""
    draws = np.random.default_rng(0)
    facts = np.stack([draws.integers(n, size=2000) for n in (SIZE, RELATIONS, SIZE)], axis=1)
    facts[:200, 0] = 7  # a query with many answers
    facts[:200, 1] = 1
    both = facts[facts[:, 1] == 3]
    facts = np.unique(np.concatenate([facts, both[:, [2, 1, 0]]]), axis=0)
    return Graph(
        name="dense",
        entities=Vocabulary([f"e{i:03}" for i in range(SIZE)], "entity"),
        relations=Vocabulary([f"r{i}" for i in range(RELATIONS)], "relation"),
        train=facts,
        valid=facts[:4],
        test=facts[:4],
    )


def trained(graph: Graph, steps: int, *, plain: bool, **values: Any) -> tuple[Trainer, list[float]]:
    settings = make_settings(
        **{"dim": 8, "batch_size": 100, "queries": 40, "epochs": 5, "block": 90} | values
    )
    trainer = Trainer(graph, settings)
    assert trainer.native_step is not None
    if plain:
        trainer.native_step = None
    totals = []
    for _ in range(steps):
        totals.append(trainer._step().total.item())
        trainer.state.clock.seconds += 1.0
    trainer.optimizer.settle()
    return trainer, totals


@pytest.mark.parametrize(
    "values",
    [
        {"model": "rotate"},
        {"model": "rote", "heights": True, "weight": 0.3},
        {"model": "rotl", "loops": False, "square": False},
        {"model": "rotl", "dropout": 0.3, "heights": True, "loops": False},
        {"model": "rotl", "gamma_two_way": 5.0, "gamma": 4.0, "gamma_start": 3.0, "dropout": 0.1},
        {"model": "rote", "activation": "halin", "beta": 4.0, "gamma": 4.0},
        {"model": "rote", "activation": "double", "relation_scale": False},
        {"model": "rotl", "activation": "spline", "gamma": 4.0, "gamma_two_way": 5.0},
        {"model": "rote", "activation": "sigmoid", "gamma": 4.0, "shape": (1.0, 2.0, 0.1)},
        {"model": "rotl", "leave_out_known": False, "query_power": 0.5, "loops": False},
        {"model": "rotl", "queries": None, "alpha": 0.2, "block": 0.5},
        {"model": "affine", "group_size": 2, "heights": True, "near": 0.5},
        {"model": "affine", "dropout": 0.3, "loops": False, "gamma_two_way": 5.0, "gamma": 4.0},
        {"model": "affine", "group_size": 8, "relation_scale": False, "square": False},
    ],
    ids=str,
)
def test_both_steps_end_at_the_same_place(dense: Graph, values: dict[str, Any]) -> None:
    fast, losses = trained(dense, 12, plain=False, **values)
    slow, expected = trained(dense, 12, plain=True, **values)
    np.testing.assert_allclose(losses, expected, rtol=2e-4)
    for name, value in slow.model.state_dict().items():
        other = fast.model.state_dict()[name]
        torch.testing.assert_close(other, value, rtol=2e-3, atol=2e-4, msg=lambda m, n=name: n + m)
    for name, value in slow.optimizer.state().items():
        least = 1e-10 if name.endswith("_sq") else 1e-7
        torch.testing.assert_close(fast.optimizer.state()[name], value, rtol=2e-2, atol=least)


def test_rows_that_no_step_touches_stay_as_they_are(dense: Graph) -> None:
    settings = make_settings(dim=8, batch_size=10, queries=5, epochs=1, block=80, gamma=4.0)
    trainer = Trainer(dense, settings)
    before = trainer.model.entities().detach().clone()
    batch, block = trainer.batches.at(0), trainer.blocks.at(0)
    trainer._step()
    moved = (trainer.model.entities() != before).any(dim=1).nonzero().squeeze(1)
    touched = {*batch[:, 0].tolist(), *batch[:, 2].tolist(), *block.ids.tolist()}
    assert set(moved.tolist()) == touched


@pytest.mark.parametrize("values", [{"block": 150, "gamma": 4.0}, {"block": "all"}], ids=str)
@pytest.mark.parametrize("model", ["rotl", "affine", "transe"])
def test_the_same_bits_on_any_number_of_threads(
    dense: Graph, model: str, values: dict[str, Any]
) -> None:
    """2000 entities in several chunks, and batches of more rows than one thread takes."""
    draws = np.random.default_rng(1)
    facts = np.stack([draws.integers(n, size=6000) for n in (2000, 5, 2000)], axis=1)
    graph = Graph(
        name="wide",
        entities=Vocabulary([f"e{i:04}" for i in range(2000)], "entity"),
        relations=Vocabulary([f"r{i}" for i in range(5)], "relation"),
        train=facts,
        valid=facts[:5],
        test=facts[:5],
    )
    if values["block"] != "all":
        values = {**values, "block": 1500}
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 4):
            settings = make_settings(
                model=model, dim=16, epochs=1, batch_size=2048, queries=300, dropout=0.1,
                heights=True, loops=False, threads=threads, **values,
            )  # fmt: skip
            trainer = Trainer(graph, settings)
            for _ in range(4):
                trainer._step()
            found.append(trainer.model.state_dict())
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        assert all(torch.equal(other[name], value) for name, value in found[0].items())


def test_what_is_left_out_natively_is_what_numpy_finds(dense: Graph) -> None:
    trainer = Trainer(dense, make_settings(dim=8, epochs=1, block=90, loops=False, queries=5))
    step = trainer.native_step
    assert isinstance(step, NativeStep)
    for number in range(5):
        block, batch = trainer.blocks.at(number), trainer.batches.at(number)[:200]
        batch[0] = torch.tensor([7, 1, 0])
        ruled_out = trainer.model.ruled_out(batch[:, 1])
        heads, relations, _ = batch.numpy().T
        found = step.leaver.of(heads, relations, ruled_out.numpy(), block)
        plain = left_out(
            batch, SIZE, known=dense.known("train"), ruled_out=ruled_out, block=block, keep=None
        )
        assert found.places.tolist() == plain.columns.tolist()
        assert found.counts_here.tolist() == np.bincount(plain.rows, minlength=len(batch)).tolist()
        assert found.counts.tolist() == plain.counts.tolist()


def test_a_query_with_far_more_answers_than_the_block_has_entities() -> None:
    """900 of 1,000 entities answer one query, against a block of 20; its head is one of either."""
    answers = np.delete(np.arange(1000), np.arange(0, 1000, 10))
    for head in (500, 501):  # the first is no answer, the second is
        facts = np.stack([np.full(900, head), np.zeros(900, dtype=int), answers], axis=1)
        known = KnownAnswers(facts, 1)
        leaver = Leaver(known.index, 2)
        for step in range(40):
            block = Blocks(1000, 20, seed=head).at(step)
            for ruled_out in (None, np.array([True, True]), np.array([False, False])):
                batch = torch.tensor([[head, 0, 3], [7, 0, 3]])
                mask = None if ruled_out is None else torch.from_numpy(ruled_out)
                plain = left_out(batch, 1000, known=known, ruled_out=mask, block=block, keep=None)
                heads, relations, _ = batch.numpy().T
                found = leaver.of(heads, relations, ruled_out, block)
                assert found.places.tolist() == plain.columns.tolist()
                assert found.counts.tolist() == plain.counts.tolist()


def test_a_loss_that_is_not_finite_moves_nothing(dense: Graph) -> None:
    trainer = Trainer(dense, make_settings(dim=8, epochs=1, block=90, queries=5))
    with torch.no_grad():
        trainer.model.shift.weight.fill_(torch.nan)
    before = trainer.model.entities().detach().clone()
    with pytest.raises(Exception, match="Not finite at step 0: the loss"):
        trainer._step()
    assert torch.equal(trainer.model.entities(), before)


@pytest.mark.parametrize(
    "values",
    [{"model": "transe"}, {"block": "all"}, {"optimizer": "adagrad"}, {"precision": "float64"}],
    ids=str,
)
def test_other_systems_take_the_other_step(dense: Graph, values: dict[str, Any]) -> None:
    settings = make_settings(**{"dim": 8, "epochs": 1, "block": 90, "queries": 5} | values)
    assert Trainer(dense, settings).native_step is None


def test_weighted_facts_take_the_other_step_and_weigh_there(dense: Graph) -> None:
    weights = np.where(np.arange(len(dense.train)) % 2, 5.0, 0.1)
    values: dict[str, Any] = {
        "model": "rotl",
        "dim": 8,
        "block": 32,
        "gamma": 2.0,
        "epochs": 1,
        "threads": 1,
    }
    plain = Trainer(dense, make_settings(**values))
    weighted = Trainer(replace(dense, weights=weights), make_settings(**values))
    assert weighted.native_step is None
    one, other = plain._step(), weighted._step()
    assert one.parts["alignment"].item() != other.parts["alignment"].item()
    alike = Trainer(replace(dense, weights=np.full(len(weights), 2.0)), make_settings(**values))
    assert alike._step().parts["alignment"].item() == pytest.approx(
        one.parts["alignment"].item(), rel=1e-5
    )


@pytest.mark.parametrize("model", ["rotl", "affine", "transe"])
def test_an_interrupted_run_is_as_its_rows_are_read(dense: Graph, model: str) -> None:
    """Rows that are behind catch up at the end, and what is looked up later moves nothing."""
    settings = make_settings(
        model=model, dim=8, batch_size=10, queries=5, epochs=3, block=80, gamma=4.0
    )
    trainer = Trainer(dense, settings)
    for _ in range(30):
        trainer._step()
    assert isinstance(trainer.optimizer, Adam)
    lag = trainer.optimizer.lag("entity.weight")
    assert lag.step == 30
    ids = torch.arange(SIZE)
    expected = trainer.optimizer.settled(trainer.model.state_dict())["entity.weight"]
    assert not torch.equal(expected, trainer.model.entities()), "some are behind"
    trainer._save()  # before the first validation: what there is is kept
    trainer.rule.steps = 30  # and here it ends
    trainer.state.history = []
    trainer.state.kept_step = trainer.state.clock.step
    trainer.optimizer.settle()
    torch.testing.assert_close(trainer.model.entities(), expected, rtol=1e-5, atol=1e-6)
    trainer.optimizer.release()
    lag.stepped(1.0)
    before = trainer.model.entities().detach().clone()
    trainer.model.entity(ids)
    assert torch.equal(trainer.model.entities(), before)
    copy.deepcopy(trainer.model)


def test_a_model_with_an_encoder_takes_no_native_step(graph: Graph) -> None:
    """Its rows are computed, and the kernel would turn the weights themselves."""
    asked = {"model": "rote", "dim": 8, "block": 20, "epochs": 1}
    assert Trainer(graph, make_settings(**asked)).native_step is not None
    assert Trainer(graph, make_settings(**asked, encoder="rgcn")).native_step is None

"""AllNeg against plain Python scalars, on both of its ways through the engine."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from hale.data.graph import Graph, Vocabulary
from hale.engine.activations import Activation, Hanon, Identity
from hale.engine.blocks import Blocks
from hale.errors import InputError
from hale.objectives import AllNeg
from hale.objectives.scoring import Scoring
from tests.objectives.scalars import build, f, is_left_alone
from tests.objectives.test_samneg import KINDS


@pytest.mark.parametrize(("name", "similarity", "biases", "h", "scaled"), KINDS)
@pytest.mark.parametrize("leave_out_known", [False, True])
def test_against_scalars(
    graph: Graph,
    name: str,
    similarity: str,
    biases: bool,
    h: Activation,
    scaled: bool,
    leave_out_known: bool,
) -> None:
    model = build(graph, name, similarity=similarity, biases=biases)
    batch = torch.tensor(graph.both_directions(graph.train)[::9])
    known = graph.known("train")
    objective = AllNeg(Scoring(h, relation_scale=scaled), leave_out_known=leave_out_known)
    loss = objective(model, batch, torch.Generator(), known)
    wanted = 0.0
    for head, relation, tail in batch.tolist():
        others = set(known.of(*(torch.tensor([x]).numpy() for x in (head, relation)))[1].tolist())
        kept = [
            e
            for e in range(len(graph.entities))
            if not (leave_out_known and e in others and e != tail)
        ]
        scores = {e: f(model, head, relation, e, h, scaled=scaled) for e in kept}
        wanted -= scores[tail]
        wanted += math.log(sum(math.exp(score) for score in scores.values()))
    assert loss.total.item() == pytest.approx(wanted / len(batch))
    assert loss.total.item() == pytest.approx(sum(p.item() for p in loss.parts.values()))


@pytest.mark.parametrize(("name", "similarity", "biases", "h", "scaled"), KINDS)
def test_gradients_against_plain_autograd(
    graph: Graph, name: str, similarity: str, biases: bool, h: Activation, scaled: bool
) -> None:
    """Through the engine, and through one matrix of all scores."""
    model = build(graph, name, similarity=similarity, biases=biases)
    batch = torch.tensor(graph.train[:7])
    scoring = Scoring(h, relation_scale=scaled)
    AllNeg(scoring)(model, batch, torch.Generator()).total.backward()
    found = {
        key: p.grad.to_dense().clone() for key, p in model.named_parameters() if p.grad is not None
    }
    model.zero_grad()
    head, relation, tail = batch.unbind(1)
    everything = torch.arange(len(graph.entities)).expand(len(batch), -1)
    scores = scoring.candidates(model, head, relation, everything)
    torch.nn.functional.cross_entropy(scores, tail).backward()
    assert set(found) == {key for key, p in model.named_parameters() if p.grad is not None}
    for key, parameter in model.named_parameters():
        if parameter.grad is not None:
            torch.testing.assert_close(found[key], parameter.grad.to_dense(), atol=1e-9, rtol=1e-6)


@pytest.mark.parametrize("name", ["rote", "roth", "complex", "conve"])
def test_inputs_and_gradients(graph: Graph, name: str) -> None:
    objective = AllNeg(Scoring(Identity(), relation_scale=False))
    assert is_left_alone(build(graph, name), graph, objective)


def test_known_answers_are_needed_to_leave_them_out(graph: Graph) -> None:
    objective = AllNeg(Scoring(Hanon(), relation_scale=True), leave_out_known=True)
    with pytest.raises(InputError, match="needs the known answers"):
        objective(build(graph), torch.tensor(graph.train), torch.Generator())


@pytest.mark.parametrize(("name", "similarity"), [("complex", "dot"), ("distmult", "l2")])
def test_closed_form_of_equal_scores(graph: Graph, name: str, similarity: str) -> None:
    """All entities alike: the cross-entropy is ln N."""
    model = build(graph, name, similarity=similarity)
    with torch.no_grad():
        model.entity.weight.zero_()
    objective = AllNeg(Scoring(Identity(), relation_scale=False))
    loss = objective(model, torch.tensor(graph.train), torch.Generator())
    assert loss.total.item() == pytest.approx(math.log(len(graph.entities)))


@pytest.mark.parametrize(("name", "similarity", "biases", "h", "scaled"), KINDS)
def test_other_answers_leave_the_sum(
    name: str, similarity: str, biases: bool, h: Activation, scaled: bool
) -> None:
    """(0, r) is answered by 1, 2 and 3: of these a triple's sum has its own tail alone."""
    names = Vocabulary([str(i) for i in range(6)], "entity"), Vocabulary(["r"], "relation")
    facts = np.array([[0, 0, 1], [0, 0, 2], [0, 0, 3], [4, 0, 5]])
    graph = Graph("several", *names, train=facts, valid=facts[:0], test=facts[:0])
    model = build(graph, name, similarity=similarity, biases=biases)
    kept = {1: [0, 1, 4, 5], 2: [0, 2, 4, 5], 3: [0, 3, 4, 5], 5: range(6)}
    wanted = 0.0
    for head, relation, tail in facts.tolist():
        scores = {e: f(model, head, relation, e, h, scaled=scaled) for e in kept[tail]}
        wanted += math.log(sum(math.exp(score) for score in scores.values())) - scores[tail]
    objective = AllNeg(Scoring(h, relation_scale=scaled), leave_out_known=True)
    loss = objective(model, torch.tensor(facts), torch.Generator(), graph.known("train"))
    assert loss.total.item() == pytest.approx(wanted / 4)


@pytest.mark.parametrize(("name", "similarity", "biases", "h", "scaled"), KINDS)
@pytest.mark.parametrize("leave_out_known", [False, True])
def test_a_block_against_scalars(
    graph: Graph,
    name: str,
    similarity: str,
    biases: bool,
    h: Activation,
    scaled: bool,
    leave_out_known: bool,
) -> None:
    """The target is a term by itself; of the others the block's stand for all."""
    model = build(graph, name, similarity=similarity, biases=biases)
    batch = torch.tensor(graph.both_directions(graph.train)[::9])
    known, count = graph.known("train"), len(graph.entities)
    objective = AllNeg(Scoring(h, relation_scale=scaled), leave_out_known=leave_out_known)
    block = Blocks(count, 10, seed=1).at(0)
    loss = objective(model, batch, torch.Generator(), known, block)
    bounded = math.isfinite(h.bound) and similarity != "dot" and not biases
    floor = math.exp(-h.bound) if bounded else 0.0
    wanted = 0.0
    for head, relation, tail in batch.tolist():
        out = {tail}
        if leave_out_known:
            out |= set(known.of(*(np.array([x]) for x in (head, relation)))[1].tolist())
        score = f(model, head, relation, tail, h, scaled=scaled)
        others = [e for e in block.ids.tolist() if e not in out]
        rest = sum(math.exp(f(model, head, relation, e, h, scaled=scaled)) - floor for e in others)
        total = math.exp(score) + (count - len(out)) * floor + count / 10 * rest
        wanted += math.log(total) - score
    assert loss.total.item() == pytest.approx(wanted / len(batch))


@pytest.mark.parametrize(("name", "similarity", "biases", "h", "scaled"), KINDS)
def test_a_block_of_all_is_the_whole_loss(
    graph: Graph, name: str, similarity: str, biases: bool, h: Activation, scaled: bool
) -> None:
    model = build(graph, name, similarity=similarity, biases=biases)
    batch = torch.tensor(graph.train[:7])
    objective = AllNeg(Scoring(h, relation_scale=scaled))
    everything = Blocks(len(graph.entities), len(graph.entities), seed=0).at(0)
    found = []
    for block in (None, everything):
        model.zero_grad()
        loss = objective(model, batch, torch.Generator(), None, block)
        loss.total.backward()
        grads = [None if p.grad is None else p.grad.to_dense() for p in model.parameters()]
        found.append((loss.total.detach(), [g for g in grads if g is not None]))
    torch.testing.assert_close(found[0], found[1], rtol=1e-5, atol=1e-7)

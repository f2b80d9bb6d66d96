"""Counts above targets: over spans of entities, and by the kernel against plain loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from hale.data.graph import GraphSize, KnownAnswers
from hale.errors import EvaluationError
from hale.evaluation.ranks import count_above, count_rivals, filtered_ranks
from hale.evaluation.spans import score_queries
from hale.models import Model, make_model
from tests.evaluation.test_evaluator import Fixed

# Two queries, by their heads; (0, r) is answered by 0, 1, 3 and 4, (1, r) by 2.
TABLE = torch.tensor([[5.0, 3.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0, 5.0]])
KNOWN = KnownAnswers(np.array([[0, 0, 0], [0, 0, 1], [0, 0, 3], [0, 0, 4], [1, 0, 2]]), 1)
HEADS, RELATIONS = np.array([0, 1]), np.array([0, 0])


def test_counts_above_a_target_add_up_over_spans() -> None:
    """To (0, r) 2 scores 3: 1 is alike and known, 0 above and known. To (1, r) 0 scores 1."""
    tails = torch.tensor([2, 0])
    target = TABLE.gather(1, tails[:, None])
    found = []
    for first, last in ((0, 2), (2, 5), (0, 5)):
        (scored,) = score_queries(Fixed(TABLE), HEADS, RELATIONS, KNOWN, first=first, last=last)
        found.append([part.tolist() for part in count_above(scored, target, tails - first)])
    # by query, above and at or above; 2 is known to (1, r) and leaves 1, 3 and 4 above 0
    assert found[2] == [[0, 3], [1, 4]]
    assert found[0] == [[0, 1], [0, 2]]
    assert found[1] == [[0, 2], [1, 2]]


def test_a_target_that_is_known_is_counted_itself() -> None:
    """To (0, r) 3 scores 2: 0 and 1 are known, 2 is above, and 3 itself is known too."""
    (scored,) = score_queries(Fixed(TABLE), HEADS[:1], RELATIONS[:1], KNOWN)
    higher, no_lower = count_above(scored, torch.tensor([[2.0]]), torch.tensor([3]))
    assert (higher.tolist(), no_lower.tolist()) == ([1], [2])


NUM, RELS = 131, 3  # more than a tile of the kernel, and no multiple of one


def whole_numbers(name: str, *, biases: bool, loops: bool, precision: torch.dtype) -> Model:
    """A model whose scores are small whole numbers, exact in any order of sums: many are equal."""
    model = make_model(name, GraphSize(NUM, RELS), 4, biases=biases, loops=loops).to(precision)
    draws = torch.Generator().manual_seed(NUM)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randint(-1, 2, parameter.shape, generator=draws))
    if model.may_loop is not None:
        model.may_loop.copy_(torch.tensor([True, False, False, True, True, False])[:, None])
    return model.eval()


def score_by_hand(model: Model, head: int, relation: int, tail: int) -> float:
    if head == tail and model.may_loop is not None and not model.may_loop[relation]:
        return -1e30
    asked = torch.tensor([head]), torch.tensor([relation])
    query, entity = model.query(*asked)[0].tolist(), model.entities()[tail].tolist()
    pairs = list(zip(query, entity, strict=True))
    total: float = sum(q * e for q, e in pairs)
    if model.similarity == "l2":
        total = -sum((q - e) ** 2 for q, e in pairs)
    if model.head_bias is not None and model.tail_bias is not None:
        total += model.head_bias.weight[head, 0].item() + model.tail_bias.weight[tail, 0].item()
    return total


def rank_by_hand(model: Model, triple: list[int], facts: set[tuple[int, ...]]) -> float:
    head, relation, tail = triple
    target = score_by_hand(model, head, relation, tail)
    rivals = [e for e in range(NUM) if e != tail and (head, relation, e) not in facts]
    scores = [score_by_hand(model, head, relation, e) for e in rivals]
    return 1 + sum(s > target for s in scores) + sum(s == target for s in scores) / 2


@pytest.mark.parametrize("engine", ["auto", "tiles"])
@pytest.mark.parametrize("precision", [torch.float32, torch.float64])
@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("biases", [True, False])
@pytest.mark.parametrize("name", ["transe", "distmult"])
def test_ranks_against_plain_loops(
    name: str,
    biases: bool,
    loops: bool,
    precision: torch.dtype,
    engine: str,
    choose_engine: Callable[[str], None],
) -> None:
    """Ties, known answers, biases and heads that are ruled out, some of them known or targets."""
    choose_engine(engine)
    model = whole_numbers(name, biases=biases, loops=loops, precision=precision)
    draws = np.random.default_rng(0)
    triples = np.stack([draws.integers(n, size=21) for n in (NUM, 2 * RELS, NUM)], axis=1)
    triples[:6, 1] = np.arange(6)
    triples[:6, 2] = triples[:6, 0]  # an entity with itself, for each relation
    facts = np.repeat(triples, 9, axis=0)
    facts[:, 2] = draws.integers(NUM, size=len(facts))
    facts[::9, 2] = facts[::9, 0]  # known, though it may be ruled out
    facts = np.concatenate([facts, triples[::2]])
    held = {tuple(fact) for fact in facts.tolist()}
    ranks = filtered_ranks(model, triples, KnownAnswers(facts, RELS))
    assert ranks.tolist() == [rank_by_hand(model, row, held) for row in triples.tolist()]


@pytest.mark.parametrize("engine", ["auto", "tiles"])
def test_rivals_of_spans_add_up(engine: str, choose_engine: Callable[[str], None]) -> None:
    choose_engine(engine)
    model = whole_numbers("transe", biases=True, loops=False, precision=torch.float32)
    draws = np.random.default_rng(1)
    triples = np.stack([draws.integers(n, size=40) for n in (NUM, 2 * RELS, 50)], axis=1)
    triples[:9, 0] = 100  # heads in the second span
    known = KnownAnswers(triples[::3], RELS)
    targets, higher, no_lower = count_rivals(model, triples, known)
    front = count_rivals(model, triples, known, last=50)
    back = count_rivals(model, triples, known, first=50, targets=front.targets)
    assert torch.equal(front.targets, targets)
    assert torch.equal(back.targets, targets)
    assert torch.equal(front.higher + back.higher, higher)
    assert torch.equal(front.no_lower + back.no_lower, no_lower)
    assert int(back.higher.sum()) > 0
    empty = count_rivals(model, triples[:0], known)
    assert [len(part) for part in empty] == [0, 0, 0]


@pytest.mark.parametrize("engine", ["auto", "tiles"])
@pytest.mark.parametrize("bad", [torch.nan, torch.inf, 3e38])
def test_one_entity_without_a_finite_score_is_noticed(
    bad: float, engine: str, choose_engine: Callable[[str], None]
) -> None:
    """The last one, in a tile cut short; the square of 3e38 is beyond float32."""
    choose_engine(engine)
    model = whole_numbers("transe", biases=False, loops=True, precision=torch.float32)
    with torch.no_grad():
        model.entities()[NUM - 1, 2] = bad
    with pytest.raises(EvaluationError, match="lower learning rate"):
        filtered_ranks(model, np.array([[0, 0, 1]]), KNOWN)

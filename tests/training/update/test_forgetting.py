"""Removed facts step down to the level of facts that were never seen: on a line, by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hale.data.graph import Graph, GraphSize, Vocabulary
from hale.evaluation.ranks import filtered_ranks
from hale.models import MODELS, Model, make_model
from hale.models.encoded import Encoded
from hale.training.update.forgetting import forget, rivals_at, unseen_levels

DRAWS = torch.Generator()
NONE = np.empty((0, 3), dtype=np.int64)


def line(count: int) -> Model:
    """Entities 0, 1, 2, ... on a line; relation 0 goes one on, its reciprocal one back."""
    model = make_model("transe", GraphSize(count, 1), 1)
    model.entity.weight.data = torch.arange(float(count))[:, None]
    model.shift.weight.data = torch.tensor([[1.0], [-1.0]])
    return model.eval()


def graph_of(count: int, train: list[tuple[int, int, int]], valid: np.ndarray = NONE) -> Graph:
    entities = Vocabulary([f"e{i:02}" for i in range(count)], "entity")
    facts = np.array(train).reshape(-1, 3)
    return Graph("line", entities, Vocabulary(["on"], "relation"), facts, valid, NONE)


def test_levels_are_mean_reciprocal_ranks_of_held_out_facts() -> None:
    """(0, r, 1) is met: rank 1 both ways. (0, r, 4) is 3 off: entities 1, 0, 2 and 3 are nearer,
    but 1 is known, so 4; asked back, 4 - 1 = 3 has 3, 4, 2, 1 and 5 before 0: 6.
    """
    valid = np.array([[0, 0, 1], [0, 0, 4]])
    found = unseen_levels(line(6), graph_of(6, [(3, 0, 5)], valid), valid)
    forth, back = 1 + 1 / 4, 1 + 1 / 6
    mean = (forth + back) / 4
    assert found.tolist() == pytest.approx([12 / (forth + 10 * mean), 12 / (back + 10 * mean)])


def test_a_relation_without_held_out_facts_is_taken_to_rank_by_chance() -> None:
    """Of 4 entities the mean reciprocal rank by chance is (1 + 1/2 + 1/3 + 1/4) / 4 = 25 / 48."""
    torch.manual_seed(0)
    names = Vocabulary(["on", "off"], "relation")
    entities = Vocabulary(["a", "b", "c", "d"], "entity")
    train, valid = np.array([[0, 0, 1], [0, 1, 2]]), np.array([[1, 0, 2]])
    graph = Graph("two", entities, names, train, valid, NONE)
    found = unseen_levels(make_model("transe", GraphSize(4, 2), 4).eval(), graph, valid)
    assert found[[1, 3]].tolist() == pytest.approx([48 / 25] * 2)
    assert found[0] != found[1]


def test_the_rival_at_a_rank_and_half_the_lead_to_the_next() -> None:
    """(0, r) asks at 1.2: 1, 2, 0, 3 are .04, .64, 1.44 and 3.24 away, squared; 2 is known."""
    model = line(5)
    model.shift.weight.data[0] = 1.2
    graph = graph_of(5, [(0, 0, 2)])
    asked = np.array([[0, 0, 4], [0, 0, 4], [0, 0, 1], [0, 0, 4]])
    rivals = rivals_at(model, graph, asked, np.array([2, 3, 2, 99]))
    assert rivals.entities.tolist() == [1, 0, 0, 0], "1 is the tail of the third, not a rival"
    near, far = -(1.44 - 0.04) / 2, -(3.24 - 1.44) / 2
    assert rivals.leads.tolist() == pytest.approx([near, far, far, far]), "there are no more"


def test_a_fact_steps_down_to_its_level_and_no_further() -> None:
    """(3, r, 4) is met almost exactly; at level 2.5 it comes third. Only its rows move."""
    shares = []
    for many in (False, True):  # facts that 3 is in beside (2, r, 3)
        model = line(12)
        model.entity.weight.data[4] = 4.1  # a slope to go down
        model.shift.weight.data[0] = 1.02  # 5 is nearer than 3, which is the rival then
        facts = [(3, 0, tail) for tail in range(6, 12)] if many else []
        graph = graph_of(12, [(2, 0, 3), (4, 0, 5), *facts])
        before = model.entities().detach().clone()
        done = forget(model, graph, np.array([[3, 0, 4]]), np.array([2.5, 1.0]), DRAWS)
        assert done == (1, 0)
        (rank,) = filtered_ranks(model, np.array([[3, 0, 4]]), graph.known_answers)
        assert rank == 3
        moved = (model.entities() - before).squeeze(1)
        assert moved[4] > 0 > moved[3]
        assert torch.equal(moved[[0, 1, 2, *range(5, 12)]], torch.zeros(10))
        shares.append((moved[3] / moved[4]).abs().item())
    assert shares[1] < shares[0] / 2, "a row that is in many facts resists"


def test_what_ranks_low_enough_stays() -> None:
    model = line(12)
    before = model.entities().detach().clone()
    low = np.array([[0, 0, 9], [1, 0, 8]])
    assert forget(model, graph_of(12, [(3, 0, 4)]), low, np.array([2.0, 2.0]), DRAWS) == (0, 0)
    assert torch.equal(model.entities(), before)


@pytest.mark.parametrize("heights", [False, True])
@pytest.mark.parametrize("name", [name for name in MODELS if not issubclass(MODELS[name], Encoded)])
def test_any_model_forgets(name: str, heights: bool) -> None:
    torch.manual_seed(2)
    if MODELS[name](GraphSize(2, 1), 8).entity.computed:
        pytest.skip("runs with an encoder are not updated")
    if heights and make_model(name, GraphSize(2, 1), 8).similarity != "l2":
        pytest.skip("heights are for distances")
    model = make_model(name, GraphSize(40, 1), 8, heights=heights).eval()
    torch.nn.init.normal_(model.entity.weight, std=0.4)
    graph = graph_of(40, [(i, 0, i + 20) for i in range(20)])
    scores = model.score_all(torch.arange(4), torch.zeros(4, dtype=torch.long))
    removed = np.array([[h, 0, t] for h, t in enumerate(scores[:, 4:20].argmax(dim=1) + 4)])
    levels = np.array([5.0, 5.0])
    forget(model, graph, removed, levels, DRAWS)
    assert (filtered_ranks(model, graph.both_directions(removed), graph.known_answers) >= 5).all()


@pytest.mark.parametrize("seed", range(3))
def test_facts_that_share_rows_all_step_down(seed: int) -> None:
    """A chain of six along a line, with room beside it: on the line itself rows are in the way."""
    model = make_model("transe", GraphSize(30, 1), 4)
    rows = 0.5 * torch.randn(30, 4, generator=torch.Generator().manual_seed(seed))
    rows[:, 0] = torch.arange(30.0)
    model.entity.weight.data = rows
    model.shift.weight.data = torch.tensor([[1.0, 0, 0, 0], [-1.0, 0, 0, 0]])
    removed = np.array([(i, 0, i + 1) for i in range(10, 16)])
    graph = graph_of(30, [(0, 0, 1), (1, 0, 2)])
    done = forget(model, graph, removed, np.array([3.0, 3.0]), DRAWS)
    ranks = filtered_ranks(model, graph.both_directions(removed), graph.known_answers)
    assert done.left == int((ranks < 3).sum()) == 0
    assert np.median(ranks) < 8, "no deeper than need be"

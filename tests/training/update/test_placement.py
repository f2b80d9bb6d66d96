"""Where new rows start: worked by hand for TransE, and along the query for every model."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hale.data.graph import Graph, GraphSize, Vocabulary
from hale.data.revision import revise
from hale.data.sources import read_triples
from hale.models import MODELS, Model, make_model
from hale.models.encoded import Encoded
from hale.training.update.placement import (
    _some,
    closest_relation,
    displaced,
    place_anew,
    start_new_rows,
)

# what an update takes: vectors that stay in their place
STORED = [name for name, kind in MODELS.items() if not issubclass(kind, Encoded)]

DRAWS = torch.Generator()
NONE = np.empty((0, 3), dtype=np.int64)


def both(facts: list[tuple[int, int, int]], num_relations: int) -> torch.Tensor:
    return torch.tensor([*facts, *((t, r + num_relations, h) for h, r, t in facts)])


def transe(num_entities: int, num_relations: int) -> Model:
    """Entities at (i, 0); relation r shifts by (0, 1 + r), its reciprocal back."""
    model = make_model("transe", GraphSize(num_entities, num_relations), 2)
    places = torch.arange(num_entities, dtype=torch.float)
    model.entity.weight.data = torch.stack((places, torch.zeros(num_entities)), dim=1)
    shifts = [[0.0, 1.0 + r] for r in range(num_relations)]
    model.shift.weight.data = torch.tensor([*shifts, *([x, -y] for x, y in shifts)])
    return model


def test_a_new_entity_starts_at_the_weighted_mean_of_its_queries() -> None:
    """Entity 3 is the tail of (1, r0) at (1, 1), and the head of (r1, 2): (2, 0 - 2)."""
    model = transe(4, 2)
    model.free_scale.weight.data[0] = 1.5  # c = log(1 + e^1.5); the others have c = 1
    start_new_rows(model, GraphSize(3, 2), both([(1, 0, 3), (3, 1, 2)], 2), DRAWS)
    c = torch.tensor(1.5).exp().add(1).log().item()
    expected = [(c * 1 + 2) / (c + 1), (c * 1 - 2) / (c + 1)]
    assert model.entities()[3].tolist() == pytest.approx(expected)
    assert model.entities()[:3].tolist() == [[0, 0], [1, 0], [2, 0]]


def test_a_new_entity_has_the_usual_height() -> None:
    """Queries have none, so their mean cannot tell: 3 and 4 have a mean square of 12.5."""
    model = make_model("transe", GraphSize(3, 1), 2, heights=True)
    model.entity.weight.data = torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 4.0], [9.0, 9.0, 0.0]])
    model.shift.weight.data = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    start_new_rows(model, GraphSize(2, 1), both([(0, 0, 2)], 1), DRAWS)
    assert model.entities()[2].tolist() == pytest.approx([2.0, 2.0, 12.5**0.5])


def test_an_entity_placed_anew_has_the_usual_height() -> None:
    """3 and 4 have a mean square of 12.5; its place is that of the query that is left."""
    model = make_model("transe", GraphSize(2, 1), 2, heights=True)
    model.entity.weight.data = torch.tensor([[0.0, 0.0, 3.0], [9.0, 9.0, 4.0]])
    model.shift.weight.data = torch.tensor([[1.0, 0.0], [-2.0, 0.0]])
    place_anew(model, torch.tensor([1]), both([(0, 0, 1)], 1), DRAWS)
    assert model.entities()[1].tolist() == pytest.approx([1.0, 0.0, 12.5**0.5])
    assert model.entities()[0].tolist() == [0.0, 0.0, 3.0]


def test_entities_that_touch_only_new_ones_come_in_a_later_round() -> None:
    """2 follows 1, 3 follows 2: each one place up; 4 is tied to nothing and stays."""
    model = transe(5, 1)
    start_new_rows(model, GraphSize(2, 1), both([(2, 0, 3), (1, 0, 2)], 1), DRAWS)
    assert model.entities().tolist()[2:] == [[1, 1], [1, 2], [4, 0]]


def test_a_new_relation_starts_as_the_known_one_that_ranks_its_facts_best() -> None:
    model = transe(6, 3)
    ring = torch.tensor([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 9.0], [1.0, 9.0], [2.0, 9.0]])
    model.entity.weight.data = ring
    model.shift.weight.data = torch.tensor(
        [[1.0, 0.0], [0.0, 9.0], [5.0, 5.0], [-1.0, 0.0], [0.0, -9.0], [5.0, 5.0]]
    )
    model.free_scale.weight.data[4] = 0.25  # every table is copied
    facts = both([(3, 2, 0), (4, 2, 1), (5, 2, 2)], 3)  # down: the reciprocal of relation 1
    assert closest_relation(model, facts[:3], torch.tensor([0, 1, 3, 4]), 6, DRAWS) == 4
    start_new_rows(model, GraphSize(6, 2), facts, DRAWS)
    assert model.shift.weight[2].tolist() == [0, -9]
    assert model.free_scale.weight[2].item() == 0.25
    assert model.shift.weight[5].tolist() == [0, 9]


@pytest.mark.parametrize("name", [name for name in STORED if name != "convkb"])  # it has no best
@pytest.mark.parametrize("biases", [False, True])
def test_one_fact_puts_a_new_entity_first(name: str, biases: bool) -> None:
    """Of all entities of its length, the one at the answer of a query answers it best."""
    torch.manual_seed(3)
    model = make_model(name, GraphSize(21, 2), 8, biases=biases).eval()
    torch.nn.init.normal_(model.entity.weight, std=0.4)
    if model.similarity == "dot":  # all of one length
        model.entity.weight.data /= model.entity.weight.data.norm(dim=1, keepdim=True)
    start_new_rows(model, GraphSize(20, 2), both([(4, 1, 20)], 2)[:1], DRAWS)
    scores = model.score_all(torch.tensor([4]), torch.tensor([1]))[0]
    assert scores.argmax().item() == 20
    if model.similarity != "dot":
        assert scores[20].item() == pytest.approx(0, abs=1e-4)
    if model.tail_bias is not None:
        assert model.tail_bias.weight[20] == model.tail_bias.weight[:20].mean()


@pytest.mark.parametrize(("count", "most"), [(5, 8), (500, 8)])
def test_rivals_are_drawn_from_all_known(
    count: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = _some(count, most, torch.Generator().manual_seed(0))
    assert len(set(drawn.tolist())) == min(count, most), "none twice where there are few"
    monkeypatch.setattr("hale.training.update.placement.MANY", 4)
    many = _some(count, 1000, torch.Generator().manual_seed(0))
    assert len(many) == 1000
    assert many.min() >= 0
    assert many.max() < count
    assert len(many.unique()) > min(count, most) / 2


def test_facts_are_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entity 3 is asked for from 0, 1 and 2, a fact at a time: the mean of what lies above them."""
    monkeypatch.setattr("hale.training.update.placement.CHUNK", 1)
    model = transe(4, 1)
    facts = both([(0, 0, 3), (1, 0, 3), (2, 0, 3)], 1)
    start_new_rows(model, GraphSize(3, 1), facts, DRAWS)
    assert model.entities()[3].tolist() == pytest.approx([1, 1])


def test_entities_that_lost_a_fiftieth_are_placed_anew() -> None:
    """0 loses one of 51 facts, 1 one of 50, and 2 all that it had."""
    entities = Vocabulary([f"e{i:03}" for i in range(103)], "entity")
    facts = [(0, 0, 3 + i) for i in range(49)] + [(1, 0, 52 + i) for i in range(48)]
    facts += [(0, 0, 101), (0, 0, 1), (2, 0, 102)]
    graph = Graph("g", entities, Vocabulary(["r"], "relation"), *(np.array(facts), NONE, NONE))
    gone = [("e000", "r", "e001"), ("e002", "r", "e102")]
    assert displaced(revise(graph, remove=read_triples(gone))).tolist() == [1, 2, 102]


def test_an_entity_placed_anew_keeps_nothing_of_its_place() -> None:
    """(0, r) and (1, r) ask for entity 2 at (0, 1) and (1, 1), wherever it was."""
    model = transe(4, 1)
    place_anew(model, torch.tensor([2]), both([(0, 0, 2), (1, 0, 2)], 1), DRAWS)
    assert model.entities()[2].tolist() == pytest.approx([0.5, 1])
    assert model.entities()[[0, 1, 3]].tolist() == [[0, 0], [1, 0], [3, 0]]


def test_an_entity_without_facts_starts_afresh() -> None:
    one, other = transe(4, 1), transe(4, 1)
    for model, seed in ((one, 1), (other, 2)):
        draws = torch.Generator().manual_seed(seed)
        place_anew(model, torch.tensor([3]), both([(0, 0, 1)], 1), draws)
        assert model.entities()[3].norm() < 1  # it was at (3, 0); fresh vectors have scale 0.1
    assert not torch.equal(one.entities()[3], other.entities()[3])

"""Growing a model: old ids keep their rows, and old triples their scores."""

from __future__ import annotations

import pytest
import torch

from hale.data.graph import GraphSize
from hale.models import MODELS, make_model
from hale.models.encoded import Encoded
from hale.training.update.grow import grow, known_relation_rows, known_rows

# what an update takes: vectors that stay in their place
STORED = [name for name, kind in MODELS.items() if not issubclass(kind, Encoded)]

OLD = GraphSize(num_entities=7, num_relations=3)
NEW = GraphSize(num_entities=10, num_relations=5)


def test_a_reciprocal_moves_with_the_number_of_relations() -> None:
    assert known_relation_rows(OLD, NEW).tolist() == [0, 1, 2, 5, 6, 7]


@pytest.mark.parametrize("name", STORED)
@pytest.mark.parametrize("biases", [False, True])
def test_old_triples_score_as_before(name: str, biases: bool) -> None:
    torch.manual_seed(0)
    old = make_model(name, OLD, 8, biases=biases)
    for parameter in old.parameters():  # trained: nothing is at its first value
        torch.nn.init.normal_(parameter, std=0.5)
    fresh = make_model(name, NEW, 8, biases=biases)
    grow(old.eval(), fresh.eval())

    head, relation = torch.meshgrid(torch.arange(7), torch.arange(6), indexing="ij")
    head, relation = head.flatten(), relation.flatten()
    moved = torch.tensor([0, 1, 2, 5, 6, 7])[relation]  # 3 + r is now 5 + r
    before = old.score_all(head, relation)  # (42, 7)
    after = fresh.score_all(head, moved)  # (42, 10)
    assert torch.allclose(after[:, :7], before, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(
        fresh.score_all(head, relation)[relation > 2, :7], before[relation > 2]
    )


@pytest.mark.parametrize("name", MODELS)
def test_new_rows_are_those_of_the_fresh_model(name: str) -> None:
    torch.manual_seed(0)
    old, fresh = make_model(name, OLD, 8), make_model(name, NEW, 8)
    before = {key: value.clone() for key, value in fresh.state_dict().items()}
    grow(old, fresh)
    assert torch.equal(fresh.entity.weight[:7], old.entity.weight)
    assert torch.equal(fresh.entity.weight[7:], before["entity.weight"][7:])
    assert torch.equal(
        fresh.free_scale.weight[[3, 4, 8, 9]], before["free_scale.weight"][[3, 4, 8, 9]]
    )


@pytest.mark.parametrize("name", ["rotl", "tucker"])
def test_tables_are_carried_in_parts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows at a time, which do not divide seven."""
    torch.manual_seed(0)
    old, whole, parts = (make_model(name, size, 8, biases=True) for size in (OLD, NEW, NEW))
    parts.load_state_dict(whole.state_dict())
    grow(old, whole)
    monkeypatch.setattr("hale.training.update.grow.CHUNK", 2)
    grow(old, parts)
    for key, value in whole.state_dict().items():
        assert torch.equal(parts.state_dict()[key], value), key


def test_which_relations_loop_moves_with_their_numbers() -> None:
    old, fresh = make_model("rotl", OLD, 8, loops=False), make_model("rotl", NEW, 8, loops=False)
    assert old.may_loop is not None
    assert fresh.may_loop is not None
    old.may_loop[:, 0] = torch.tensor([True, False, False, False, True, False])
    grow(old, fresh)
    new = [True, True]  # nothing is known of them
    assert fresh.may_loop[:, 0].tolist() == [True, False, False, *new, False, True, False, *new]


def test_tucker_grows_in_rank() -> None:
    """Its rank is min(dim, 2R): known mixtures get zeros for the new part of the core."""
    torch.manual_seed(0)
    old, fresh = make_model("tucker", OLD, 8), make_model("tucker", NEW, 8)
    grow(old, fresh)
    mixtures = fresh.state_dict()["relation.weight"]
    assert mixtures.shape == (10, 8)
    assert torch.equal(mixtures[:3, :6], old.state_dict()["relation.weight"][:3])
    assert not mixtures[[0, 1, 2, 5, 6, 7], 6:].any()
    assert torch.equal(fresh.state_dict()["core"][:6], old.state_dict()["core"])


def test_every_table_is_known_by_what_its_rows_stand_for() -> None:
    rows = known_rows(make_model("atth", NEW, 8), OLD)
    by_entity = {name for name, places in rows.items() if places.tolist() == list(range(7))}
    assert by_entity == {"entity.weight", "head_bias.weight", "tail_bias.weight"}
    assert set(rows) - by_entity == {
        *("free_scale.weight", "shift.weight", "turn.weight", "mirror.weight"),
        *("context.weight", "free_curvature.weight"),
    }

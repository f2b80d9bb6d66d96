"""ConvKB: pairs in parts, and the gradient of what all pairs share."""

from __future__ import annotations

import pytest
import torch

from hale.data.graph import GraphSize
from hale.engine.activations import Identity
from hale.models import convkb, make_model
from hale.objectives.allneg import AllNeg
from hale.objectives.scoring import Scoring

SIZE = GraphSize(num_entities=9, num_relations=2)


def loss_and_gradients(elements: int, monkeypatch: pytest.MonkeyPatch) -> list[torch.Tensor]:
    monkeypatch.setattr(convkb, "CHUNK_ELEMENTS", elements)
    torch.manual_seed(0)
    model = make_model("convkb", SIZE, 4).double()
    heads, relations = torch.tensor([0, 3, 5, 8, 1]), torch.tensor([0, 1, 2, 3, 0])
    scores = model.score_all(heads, relations)
    scores.square().sum().backward()
    return [scores.detach(), *(p.grad.to_dense() for p in model.parameters() if p.grad is not None)]


def test_parts_do_not_change_scores_or_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """One pair at a time, three entities at a time, two queries at a time, and all at once."""
    one = 4 * convkb.FILTERS
    whole = loss_and_gradients(1 << 22, monkeypatch)
    assert len(whole) == 5, "scores; entities, relations, filters, weights"
    for elements in (1, 3 * one, 18 * one):
        for found, wanted in zip(loss_and_gradients(elements, monkeypatch), whole, strict=True):
            torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("name", ["convkb", "transd", "roth"])
def test_a_sum_over_all_entities_trains_what_a_comparison_takes_beside(name: str) -> None:
    """Against cross-entropy of the whole table of scores by plain calls."""
    torch.manual_seed(1)
    model = make_model(name, SIZE, 4, init_scale=0.5).double().train()
    triples = torch.tensor([[0, 1, 2], [3, 0, 4], [8, 3, 0]])
    head, relation, tail = triples.unbind(dim=1)
    plain = torch.nn.functional.cross_entropy(model.score_all(head, relation), tail)
    wanted = torch.autograd.grad(plain, list(model.parameters()), allow_unused=True)
    objective = AllNeg(Scoring(Identity(), relation_scale=False))
    loss = objective(model, triples, torch.Generator())
    found = torch.autograd.grad(loss.total, list(model.parameters()), allow_unused=True)
    torch.testing.assert_close(loss.total, plain)
    for (key, _), one, other in zip(model.named_parameters(), found, wanted, strict=True):
        assert (one is None) == (other is None), key
        if one is not None and other is not None:
            torch.testing.assert_close(one.to_dense(), other.to_dense(), msg=key)

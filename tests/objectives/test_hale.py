"""The HaLE loss against plain Python scalars."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from hale.data.graph import Graph, KnownAnswers, Vocabulary
from hale.engine import Contrast
from hale.engine.activations import Activation, Hanon, Identity
from hale.engine.blocks import Block, Blocks
from hale.errors import InputError, UnknownNameError
from hale.models import Model, make_model
from hale.objectives import HaLE, Loss, make_objective
from hale.objectives.left_out import left_out
from hale.settings import make_settings


def build(graph: Graph) -> Model:
    torch.manual_seed(0)
    model = make_model("transe", graph.size, 3, init_scale=0.5)
    with torch.no_grad():
        model.free_scale.weight.add_(torch.randn_like(model.free_scale.weight))
    return model


def loss_of(objective: HaLE, model: Model, graph: Graph, batch: torch.Tensor) -> Loss:
    return objective(model, batch, torch.Generator().manual_seed(5), graph.known("train"))


def by_hand(
    model: Model,
    batch: list[list[int]],
    drawn: list[int],
    known: KnownAnswers | None,
    h: Activation,
    *,
    square: bool,
    relation_scale: bool,
) -> tuple[float, float]:
    """Alignment and uniformity by loops over numbers."""
    entities = model.entities().tolist()
    shifts = model.shift.weight.tolist()  # type: ignore[union-attr, operator]
    free = model.free_scale.weight.flatten().tolist()

    def activated(head: int, relation: int, entity: int) -> float:
        distance = sum(
            (a + b - c) ** 2
            for a, b, c in zip(entities[head], shifts[relation], entities[entity], strict=True)
        )
        scale = math.log1p(math.exp(free[relation])) if relation_scale else 1.0
        return h.value_and_slope(torch.tensor([scale * distance], dtype=torch.float64))[0].item()

    aligned = [activated(*triple) ** (2 if square else 1) for triple in batch]
    sums = []
    for i in drawn:
        head, relation, _ = batch[i]
        left_out: set[int] = set()
        if known is not None:
            left_out = set(
                known.of(*(torch.tensor([x]).numpy() for x in (head, relation)))[1].tolist()
            )
        total = sum(
            math.exp(-activated(head, relation, e))
            for e in range(len(entities))
            if e not in left_out
        )
        sums.append(math.log(total))
    return sum(aligned) / len(aligned), sum(sums) / len(sums)


@pytest.mark.parametrize("h", [Hanon(), Identity()], ids=str)
@pytest.mark.parametrize("square", [True, False])
@pytest.mark.parametrize("relation_scale", [True, False])
@pytest.mark.parametrize("leave_out_known", [True, False])
def test_against_scalars(
    graph: Graph, h: Activation, square: bool, relation_scale: bool, leave_out_known: bool
) -> None:
    model = build(graph)
    batch = torch.tensor(graph.both_directions(graph.train)[::5])
    objective = HaLE(
        h,
        num_queries=4,
        weight=0.3,
        square=square,
        relation_scale=relation_scale,
        leave_out_known=leave_out_known,
    )
    loss = loss_of(objective, model, graph, batch)
    drawn = torch.randperm(len(batch), generator=torch.Generator().manual_seed(5))[:4].tolist()
    known = graph.known("train") if leave_out_known else None
    alignment, uniformity = by_hand(
        model, batch.tolist(), drawn, known, h, square=square, relation_scale=relation_scale
    )
    assert loss.parts["alignment"].item() == pytest.approx(alignment, rel=1e-5)
    assert loss.parts["uniformity"].item() == pytest.approx(uniformity, rel=1e-5)
    assert loss.total.item() == pytest.approx(0.3 * alignment + uniformity, rel=1e-5)


def test_alignment_pulls_positives_together(graph: Graph) -> None:
    """The sign that the paper's last equation gets wrong."""
    model = build(graph)
    batch = torch.tensor(graph.train)
    before = model.score(*batch.unbind(1)).mean()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        loss_of(HaLE(Hanon(), weight=10.0), model, graph, batch).total.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    assert model.score(*batch.unbind(1)).mean() > before


def test_inputs_are_left_alone_and_gradients_are_finite(graph: Graph) -> None:
    model = build(graph)
    batch = torch.tensor(graph.train)
    kept = batch.clone(), {name: value.clone() for name, value in model.state_dict().items()}
    loss_of(HaLE(Hanon()), model, graph, batch).total.backward()  # type: ignore[no-untyped-call]
    assert torch.equal(batch, kept[0])
    assert all(torch.equal(value, kept[1][name]) for name, value in model.state_dict().items())
    for parameter in model.parameters():
        assert parameter.grad is not None
        assert torch.isfinite(parameter.grad.to_dense()).all()


def test_fewer_positives_than_queries(graph: Graph) -> None:
    loss = loss_of(
        HaLE(Hanon(), num_queries=100), build(graph), graph, torch.tensor(graph.train[:3])
    )
    assert torch.isfinite(loss.total)


def test_alpha_is_a_share_of_the_batch(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []

    def spy(*args: torch.Tensor, **rest: object) -> Contrast:
        del rest
        counts.append(len(args[4]))  # the places that were drawn
        return Contrast(*(torch.zeros(()),) * 3)

    monkeypatch.setattr("hale.objectives.hale.contrast", spy)
    for size in (40, 20, 3):
        objective = HaLE(Hanon(), num_queries=None, alpha=0.1)
        loss_of(objective, build(graph), graph, torch.tensor(graph.train[:size]))
    assert counts == [4, 2, 1]
    with pytest.raises(InputError, match="number of sampled queries or their share"):
        HaLE(Hanon(), num_queries=5, alpha=0.1)


def test_a_query_that_everything_answers_keeps_its_sum() -> None:
    names = Vocabulary(["a", "b"], "entity"), Vocabulary(["r"], "relation")
    facts = np.array([[0, 0, 0], [0, 0, 1]])
    graph = Graph("all", *names, train=facts, valid=facts[:0], test=facts[:0])
    loss = loss_of(HaLE(Hanon()), build(graph), graph, torch.tensor(facts))
    assert torch.isfinite(loss.total)


@pytest.mark.parametrize("leave_out_known", [True, False])
def test_an_entity_that_is_no_answer_is_no_part_of_its_own_sum(
    graph: Graph, leave_out_known: bool
) -> None:
    """Where a relation may not loop: the sum without the head, and without known answers or not."""
    model = build(graph)
    bound = make_model("transe", graph.size, 3, loops=False)
    bound.load_state_dict(model.state_dict(), strict=False)
    assert bound.may_loop is not None
    bound.may_loop[:] = False
    bound.may_loop[0] = True
    batch = torch.tensor(graph.both_directions(graph.train))
    objective = HaLE(Hanon(), num_queries=len(batch), leave_out_known=leave_out_known)
    found = loss_of(objective, bound, graph, batch).parts["uniformity"].item()
    known, sums = graph.known("train"), []
    for head, relation, _ in batch.tolist():
        answers = set(known.of(np.array([head]), np.array([relation]))[1].tolist())
        answers = answers if leave_out_known else set()
        if relation:
            answers.add(head)
        scores = model.score_all(torch.tensor([head]), torch.tensor([relation]))[0]
        activated = Hanon()(-scores * model.scale(torch.tensor([relation])))
        kept = [e for e in range(graph.size.num_entities) if e not in answers]
        sums.append(torch.logsumexp(-activated[kept], 0).item())
    assert found == pytest.approx(np.mean(sums), rel=1e-5)
    assert found != pytest.approx(
        loss_of(objective, model, graph, batch).parts["uniformity"].item(), rel=1e-3
    )


def test_a_loop_in_train_is_left_out_once() -> None:
    """Two facts, one of them a loop, of a relation that is said not to loop."""
    known = KnownAnswers(np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [0, 1, 0]]), num_relations=1)
    batch = torch.tensor([[0, 0, 1], [1, 1, 0]])
    rows, answers, _ = left_out(batch, 5, known=known, ruled_out=torch.tensor([True, True]))
    assert list(zip(rows.tolist(), answers.tolist(), strict=True)) == [
        *((0, 0), (0, 1)),
        *((1, 0), (1, 1)),
    ]
    rows, _, _ = left_out(batch, 2, known=known, ruled_out=torch.tensor([True, True]))
    assert not len(rows), "a query keeps all rather than none"


def test_known_answers_must_be_given(graph: Graph) -> None:
    with pytest.raises(InputError, match="leave_out_known needs"):
        HaLE(Hanon())(build(graph), torch.tensor(graph.train), torch.Generator())


def test_from_settings() -> None:
    settings = make_settings(
        alpha=0.1, batch_size=50, weight=0.5, beta=2, gamma=9, square=False, relation_scale=False
    )
    objective = make_objective(settings)
    assert isinstance(objective, HaLE)
    assert (objective.num_queries, objective.alpha) == (None, 0.1)
    assert objective.activation == Hanon(2.0, 9.0)
    assert (objective.weight, objective.square, objective.relation_scale) == (0.5, False, False)
    with pytest.raises(UnknownNameError, match="Did you mean 'hale'"):
        make_objective(make_settings(strategy="hal"))


def test_gamma_on_its_way(graph: Graph) -> None:
    objective = HaLE(Hanon(3.0, 8.0), gamma_start=4.0)
    assert [objective.at(share).activation for share in (0, 0.5, 1)] == [
        Hanon(3.0, 4.0),
        Hanon(3.0, 6.0),
        Hanon(3.0, 8.0),
    ]
    assert objective.activation == Hanon(3.0, 8.0), "the objective itself stays"
    both = HaLE(Hanon(3.0, 4.0), gamma_start=4.0, gamma_two_way=9.0)
    assert [both.at(share).gamma_two_way for share in (0, 0.5, 1)] == [4.0, 6.5, 9.0]
    assert both.at(0.5).activation == Hanon(3.0, 4.0)
    fixed = HaLE(Hanon())
    assert fixed.at(0.3) is fixed
    linear = HaLE(Identity(), gamma_start=4.0)
    assert linear.at(0.3) is linear, "no bound to move"


def test_a_bound_of_their_own_for_relations_that_run_both_ways() -> None:
    """Relation 0 runs both ways: with every query drawn, its triples are those of gamma 9."""
    names = Vocabulary([str(i) for i in range(6)], "entity"), Vocabulary(["r", "s"], "relation")
    facts = np.array([[0, 0, 1], [1, 0, 0], [2, 0, 3], [3, 0, 2], [4, 1, 5], [0, 1, 4]])
    graph = Graph("mirror", *names, train=facts, valid=facts[:0], test=facts[:0])
    model, known = build(graph), graph.known("train")
    batch = graph.both_directions(facts)
    objective = HaLE(Hanon(3.0, 5.0), num_queries=len(batch), weight=0.3, gamma_two_way=9.0)
    loss = loss_of(objective, model, graph, torch.tensor(batch))
    alignment = uniformity = 0.0
    for relations, gamma in (((0, 2), 9.0), ((1, 3), 5.0)):
        mine = batch[np.isin(batch[:, 1], relations)].tolist()
        parts = by_hand(
            model,
            mine,
            [*range(len(mine))],
            known,
            Hanon(3.0, gamma),
            square=True,
            relation_scale=True,
        )
        alignment += len(mine) / len(batch) * parts[0]
        uniformity += len(mine) / len(batch) * parts[1]
    assert loss.parts["alignment"].item() == pytest.approx(alignment, rel=1e-5)
    assert loss.parts["uniformity"].item() == pytest.approx(uniformity, rel=1e-5)
    assert loss.total.item() == pytest.approx(0.3 * alignment + uniformity, rel=1e-5)


def test_a_bound_of_their_own_is_for_bounded_activations(graph: Graph) -> None:
    batch = torch.tensor(graph.train)
    with pytest.raises(InputError, match="gamma_two_way needs the known answers"):
        HaLE(Hanon(), gamma_two_way=9.0, leave_out_known=False)(
            build(graph), batch, torch.Generator()
        )
    plain, asked = HaLE(Identity()), HaLE(Identity(), gamma_two_way=9.0)
    assert torch.equal(
        loss_of(plain, build(graph), graph, batch).total,
        loss_of(asked, build(graph), graph, batch).total,
    )


def test_queries_drawn_by_their_answers() -> None:
    """Of two queries, one with nine answers: by triples it is drawn nine times in ten."""
    names = Vocabulary([str(i) for i in range(12)], "entity"), Vocabulary(["r"], "relation")
    facts = np.array([*([0, 0, i] for i in range(1, 10)), [10, 0, 11]])
    graph = Graph("skewed", *names, train=facts, valid=facts[:0], test=facts[:0])
    known, batch = graph.known("train"), torch.tensor(facts)
    assert known.counts(facts[:, 0], facts[:, 1]).tolist() == [9] * 9 + [1]

    def share(power: float) -> float:
        """How often the rare query is the one that is drawn."""
        objective = HaLE(Hanon(), num_queries=1, query_power=power)
        draws = torch.Generator().manual_seed(0)
        picks = [objective.draw(batch, draws, known).item() for _ in range(4000)]
        return picks.count(9) / len(picks)

    assert share(0.0) == pytest.approx(0.1, abs=0.02)
    assert share(0.5) == pytest.approx(1 / (1 + 9 / 3), abs=0.03)
    assert share(1.0) == pytest.approx(0.5, abs=0.03)
    with pytest.raises(InputError, match="query_power needs"):
        HaLE(Hanon(), query_power=1.0, leave_out_known=False)(
            build(graph), batch, torch.Generator()
        )


def test_a_query_without_a_known_answer_is_drawn_like_one_with_a_single_one(graph: Graph) -> None:
    """Held-out triples have none in train: a weight of 0^-1 would be infinite."""
    known = graph.known("train")
    batch = torch.tensor(np.concatenate([graph.test[:1], graph.train[:1]]))
    assert known.counts(*batch[:, :2].T.numpy()).tolist() == [0, 1]
    objective = HaLE(Hanon(), num_queries=1, query_power=1.0)
    draws = torch.Generator().manual_seed(0)
    sums = [
        objective(build(graph), batch[[i]], draws, known).parts["uniformity"].item() for i in (0, 1)
    ]
    found = [
        objective(build(graph), batch, draws, known).parts["uniformity"].item() for _ in range(200)
    ]
    first = [value == pytest.approx(sums[0], rel=1e-5) for value in found]
    assert sums[0] != pytest.approx(sums[1], rel=1e-3)
    assert np.mean(first) == pytest.approx(0.5, abs=0.15)  # four standard deviations
    many = HaLE(Hanon(), num_queries=9, query_power=1.0)
    both = many(build(graph), batch, draws, known).parts["uniformity"].item()
    assert both == pytest.approx(np.mean(sums), rel=1e-5), "no more than there are"


def test_a_single_entity_stays_in_its_own_sum() -> None:
    """A sum needs a term, also where an entity is no answer for itself."""
    names = Vocabulary(["a"], "entity"), Vocabulary(["r"], "relation")
    facts = np.array([[0, 0, 0]])
    graph = Graph("one", *names, train=facts, valid=facts[:0], test=facts[:0])
    model = make_model("transe", graph.size, 3, loops=False)
    assert model.may_loop is not None
    model.may_loop[:] = False
    objective = HaLE(Identity(), relation_scale=False, leave_out_known=False, num_queries=1)
    loss = loss_of(objective, model, graph, torch.tensor(facts))
    distance = model.shift.weight[0].square().sum().item()  # type: ignore[union-attr, operator]
    assert loss.parts["uniformity"].item() == pytest.approx(-distance, rel=1e-5)


@pytest.mark.parametrize("power", [0.0, 1.0])
def test_draws_come_from_the_generator_alone(graph: Graph, power: float) -> None:
    objective = HaLE(Hanon(), num_queries=3, query_power=power)
    batch, known = torch.tensor(graph.train), graph.known("train")
    found = []
    for seed, others in ((1, 5), (1, 6), (2, 5)):
        model = build(graph)
        torch.manual_seed(others)
        draws = torch.Generator().manual_seed(seed)
        found.append(objective(model, batch, draws, known).parts["uniformity"].item())
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("h", [Hanon(), Identity()], ids=str)
@pytest.mark.parametrize("loops", [False, True])
def test_a_block_of_all_is_the_whole_loss(graph: Graph, h: Activation, loops: bool) -> None:
    """In value and in all gradients, with known answers and heads left out."""
    torch.manual_seed(0)
    model = make_model("rotl", graph.size, 4, heights=True, loops=loops).double()
    if model.may_loop is not None:
        model.may_loop.fill_(False)
    batch = torch.tensor(graph.both_directions(graph.train))
    everything = Blocks(len(graph.entities), len(graph.entities), seed=0).at(0)
    found = []
    for block in (None, everything):
        model.zero_grad()
        draws = torch.Generator().manual_seed(5)
        loss = HaLE(h, num_queries=20)(model, batch, draws, graph.known("train"), block)
        loss.total.backward()
        grads = [p.grad.to_dense() for p in model.parameters() if p.grad is not None]
        found.append((loss.total.detach(), grads))
    torch.testing.assert_close(found[0], found[1], rtol=1e-5, atol=1e-9)


def test_over_a_pass_blocks_mean_the_whole_sum(graph: Graph) -> None:
    """24 entities in six blocks of four: the mean of exp(log Z) is Z, query by query."""
    model, known = build(graph), graph.known("train")
    batch = torch.tensor(graph.both_directions(graph.train))[::5]
    blocks = Blocks(24, 4, seed=2)
    for triple in batch[:8]:
        one = triple[None]

        def sum_over(block: Block | None, one: torch.Tensor = one) -> float:
            objective = HaLE(Hanon(), num_queries=1)
            loss = objective(model, one, torch.Generator(), known, block)
            return math.exp(loss.parts["uniformity"].item())

        parts = [sum_over(blocks.at(step)) for step in range(6)]
        assert sum(parts) / 6 == pytest.approx(sum_over(None), rel=1e-5)
        assert max(parts) > 1.01 * min(parts), "they differ"

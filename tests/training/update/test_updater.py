"""Updates: new facts are learnt, old ones stay, and the run given is left alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import hale
from hale.data.graph import Graph, Vocabulary
from hale.data.keys import TripleSet
from hale.data.revision import revise
from hale.data.sources import read_triples
from hale.errors import HaleWarning, InputError, RunError, SettingsError
from hale.evaluation.ranks import filtered_ranks
from hale.models import MODELS
from hale.models.encoded import Encoded
from hale.runs.run import Run
from hale.runs.seal import unsealed
from hale.training.trainer import Trainer
from hale.training.update.judging import Judge, rankings
from hale.training.update.mixture import mixture, rate_factor
from hale.training.update.options import UpdateOptions
from hale.training.update.updater import _mean_move, grown, update
from tests.conftest import ring

# what an update takes: vectors that stay in their place
STORED = [name for name, kind in MODELS.items() if not issubclass(kind, Encoded)]

FAST = {"dim": 8, "batch_size": 32, "queries": 8, "recipe": "none"}
# A 25th place between the last and the first, and a relation that leads back.
NEW = [
    *(("e023", "next", "new"), ("new", "next", "e000"), ("e022", "skip", "new")),
    *((f"e{i + 1:03}", "back", f"e{i:03}") for i in range(12)),
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("runs") / "old"
    return hale.train(ring(24), out=out, model="rotl", epochs=300, validate_every="100", **FAST)


def ranks(run: Run, facts: list[tuple[str, str, str]]) -> np.ndarray:
    graph = run.graph
    ids = [(graph.entities.id(h), graph.relations.id(r), graph.entities.id(t)) for h, r, t in facts]
    both = graph.both_directions(np.array(ids))
    return filtered_ranks(run.model, both, graph.known())


@pytest.mark.parametrize("name", STORED)
def test_before_training_old_triples_score_as_before(name: str) -> None:
    run = hale.train(ring(24), model=name, dim=8, batch_size=32, epochs=2)
    changed = revise(run.graph, read_triples(NEW))
    model = grown(run.model, run.settings, changed).eval()
    head, relation = torch.arange(24).repeat(2), torch.tensor([0, 1]).repeat_interleave(24)
    before, after = run.model.score_all(head, relation), model.score_all(head, relation)
    assert torch.allclose(after[:, :24], before, rtol=1e-4, atol=1e-5)
    back, forth = run.model.score_all(head, relation + 2), model.score_all(head, relation + 3)
    assert torch.allclose(forth[:, :24], back, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", sorted({*MODELS} - {*STORED}))
def test_computed_vectors_are_not_updated(name: str) -> None:
    run = hale.train(ring(24), model=name, dim=8, batch_size=32, epochs=1)
    with pytest.raises(InputError, match=f"computes the vectors of {name}.*Train on the changed"):
        update(run, NEW, epochs=2)


@pytest.mark.parametrize("residual", [0, 4])
def test_a_run_with_heights_is_updated_like_any_other(residual: int) -> None:
    asked = {"model": "rotl", "heights": True, "dropout": 0.1, "residual": residual}
    run = hale.train(ring(24), epochs=20, **asked, **FAST)
    changed = revise(run.graph, read_triples(NEW))
    model = grown(run.model, run.settings, changed).eval()
    head, relation = torch.arange(24), torch.zeros(24, dtype=torch.long)
    before, after = run.model.score_all(head, relation), model.score_all(head, relation)
    assert torch.allclose(after[:, :24], before, rtol=1e-4, atol=1e-5)
    new = update(run, NEW, epochs=2)
    assert new.model.entities().shape == (25, new.settings.dim + 1)


def test_new_facts_are_learnt_and_old_quality_is_told(trained: Run) -> None:
    weights = {name: value.clone() for name, value in trained.model.state_dict().items()}
    run = update(trained, NEW, epochs=150, focus=1.0)
    assert run.graph.entities.names == (*trained.graph.entities.names, "new")
    assert run.graph.relations.names == ("next", "skip", "back")
    assert (1 / ranks(run, NEW)).mean() > 0.5  # by chance about 0.15
    (origin,) = run.origin
    assert origin["added"] == len(NEW)
    assert (origin["new_entities"], origin["new_relations"], origin["removed"]) == (1, 1, 0)
    assert origin["kept_step"] == trained.summary.kept_step
    quality = origin["quality"]
    assert set(quality) == {"test"}
    assert quality["test"]["before"]["mrr"] == pytest.approx(hale.evaluate(trained).mrr)
    assert quality["test"]["after"]["mrr"] == pytest.approx(hale.evaluate(run).mrr)
    for name, value in trained.model.state_dict().items():
        assert torch.equal(value, weights[name]), "the run given is left alone"


def test_the_anchor_holds_known_rows(trained: Run) -> None:
    moves = [
        update(trained, NEW, epochs=20, anchor=anchor).origin[0]["mean_move_of_known_entities"]
        for anchor in (0.0, 1000.0)
    ]
    assert moves[1] < 0.5 * moves[0]


def test_how_far_known_rows_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    """By 5, 0 and 1, two rows at a time."""
    monkeypatch.setattr("hale.training.update.updater.CHUNK", 2)
    before = torch.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    after = torch.tensor([[3.0, 4.0], [1.0, 1.0], [2.0, 3.0]])
    assert _mean_move(before, after) == 2.0


def test_removed_facts_are_gone_and_others_are_trained(trained: Run) -> None:
    gone = [("e003", "next", "e004"), ("e003", "skip", "e005"), ("e002", "skip", "e004")]
    run = update(trained, remove=gone, epochs=20)
    known = {tuple(row) for split in ("train", "valid", "test") for row in run.graph.split(split)}
    assert not known & {(3, 0, 4), (3, 1, 5), (2, 1, 4)}
    assert len(run.graph.entities) == 24
    (origin,) = run.origin
    assert (origin["added"], origin["removed"]) == (0, 3)
    assert origin["quality"]["removed"]["after"]["count"] == 6
    answers = hale.predict(run, head="e003", relation="next", k=24)
    assert not any(answer.known for answer in answers)


def test_a_false_fact_is_forgotten() -> None:
    """Across the ring: no other fact speaks for it, but the ring for the one in its place."""
    false = ("e000", "next", "e012")  # and not e001
    run = update(hale.train(ring(24), model="rotl", epochs=100, **FAST), [false], epochs=300)
    after = update(run, remove=[false], epochs=100)

    def lead(run: Run) -> float:
        head, relation, tails = torch.tensor([0, 0]), torch.tensor([0, 0]), torch.tensor([12, 1])
        scores = run.model.score(head, relation, tails)
        return (scores[0] - scores[1]).item()

    assert lead(run) > 0
    assert lead(after) < 0
    assert "removed" in after.origin[-1]["quality"]


def teams() -> tuple[Graph, np.ndarray]:
    """80 people in 10 teams; most work where their team does, and know two of it.

    Where somebody works can half be told from the rest. -> the graph, and 10 facts of it to remove.
    """
    draws = np.random.default_rng(4)
    people, team = np.arange(80), np.arange(80) % 10
    site = np.where(draws.random(80) < 0.7, team, draws.integers(0, 10, 80))
    member = np.stack([people, np.zeros(80, dtype=int), 80 + team], axis=1)
    works = np.stack([people, np.ones(80, dtype=int), 90 + site], axis=1)[draws.permutation(80)]
    knows = np.concatenate(
        [np.stack([people, np.full(80, 2), (people + step) % 80], axis=1) for step in (10, 20)]
    )
    names = [*(f"p{i:02}" for i in range(80)), *(f"{x}{i}" for x in "ts" for i in range(10))]
    return Graph(
        name="teams",
        entities=Vocabulary(names, "entity"),
        relations=Vocabulary(["member", "works", "knows"], "relation"),
        train=np.concatenate([member, works[:50], knows]),
        valid=works[50:65],
        test=works[65:],
    ), works[:10]


@pytest.mark.parametrize("seed", [0, 2])
def test_removed_facts_rank_no_better_than_in_a_run_that_never_saw_them(seed: int) -> None:
    """All ten, and two at a time; and what stays is answered as well as before.

    Of two facts alone the ranks in a run that never saw them are chance, so pairs count together.
    """
    full, gone = teams()
    never = replace(full, train=full.train[~TripleSet(gone).holds(full.train)])
    options = {"model": "rotl", "epochs": 150, "seed": seed, **FAST}
    seen, unseen = (hale.train(graph, **options) for graph in (full, never))

    def mrr(run: Run, some: np.ndarray) -> float:
        both = never.both_directions(some)
        return float((1 / filtered_ranks(run.model.eval(), both, never.known())).mean())

    assert mrr(unseen, gone) > 2 * 0.05, "some of it can be told: by chance about 0.05"
    assert mrr(seen, gone) > 1.5 * mrr(unseen, gone), "else there would be nothing to forget"
    kept = never.train[80:120]

    def removed(some: np.ndarray) -> float:
        names = [(f"p{h:02}", "works", f"s{t - 90}") for h, _, t in some]
        after = update(seen, remove=names, epochs=40)
        assert mrr(after, kept) >= mrr(seen, kept) - 0.1
        assert mrr(after, never.test) >= mrr(seen, never.test) - 0.1
        return mrr(after, some)

    pairs = np.mean([removed(gone[i : i + 2]) for i in range(0, 10, 2)])
    for found in (removed(gone), pairs):
        assert found <= mrr(unseen, gone) + 0.02
        assert found >= 0.2 * mrr(unseen, gone), "and not driven out"


def test_facts_that_nothing_speaks_for_are_forgotten() -> None:
    """Facts that nothing else speaks for, learnt by heart; also two of them at a time."""
    draws = np.random.default_rng(0)
    ends = draws.permutation(60)[:40].reshape(20, 2)
    plain = ring(60)
    relations = Vocabulary(["next", "skip", "likes"], "relation")
    likes = np.stack([ends[:, 0], np.full(20, 2), ends[:, 1]], axis=1)
    full = replace(plain, relations=relations, train=np.concatenate([plain.train, likes]))
    never = replace(full, train=np.concatenate([plain.train, likes[10:]]))
    seen = hale.train(full, model="rotl", epochs=200, **FAST)
    # ranks that nothing speaks for are a matter of chance: as good as the best of three such runs
    unseen = [hale.train(never, model="rotl", epochs=200, seed=s, **FAST) for s in range(3)]

    def mrr(run: Run, some: np.ndarray) -> float:
        both = never.both_directions(some)
        return float((1 / filtered_ranks(run.model.eval(), both, never.known())).mean())

    gone = likes[:10]
    never_known = max(mrr(run, gone) for run in unseen)
    assert mrr(seen, gone) > 3 * never_known, "else there would be nothing to forget"
    for some in (gone, gone[:2], gone[2:4]):
        names = [(f"e{h:03}", "likes", f"e{t:03}") for h, _, t in some]
        after = update(seen, remove=names, epochs=30)
        limit = max(never_known, *(mrr(run, some) for run in unseen))
        assert mrr(after, some) <= limit + 0.02


def test_without_validation_facts_it_is_said_that_none_is_lowered(trained: Run) -> None:
    blind = replace(trained, graph=replace(trained.graph, valid=trained.graph.valid[:0]))
    with pytest.warns(HaleWarning, match="no validation facts, so nothing tells"):
        after = update(blind, remove=[("e003", "next", "e004")], epochs=1)
    assert after.origin[-1]["forgotten"] is None


def test_time_for_ranking_is_for_every_kind_of_fact(graph: Graph) -> None:
    new, gone = read_triples(NEW), read_triples([("e003", "next", "e004")])
    assert rankings(revise(graph, remove=gone)) == 4, "test and removed, before and after"
    held = read_triples([("e020", "skip", "new")])
    assert rankings(revise(graph, new, gone, holdout=held)) == 6, "old valid, and those held out"
    assert rankings(revise(replace(graph, test=graph.test[:0]), new)) == 1
    judge = Judge(hale.Settings(budget=60), revise(graph, remove=gone), None, full=False)
    assert judge.seconds == pytest.approx(6 / 4), "a tenth of the budget"


def test_nothing_new_trains_nothing(trained: Run, tmp_path: Path) -> None:
    assert trained.path is not None
    known = [("e003", "next", "e004")]
    with pytest.warns(HaleWarning, match="nothing to update"):
        same = update(trained.path, known, budget="1h", out=tmp_path / "copy")
    assert same.path == tmp_path / "copy"
    assert same.origin == []
    for path in trained.path.iterdir():
        assert (tmp_path / "copy" / path.name).read_bytes() == path.read_bytes()
    assert hale.load_run(tmp_path / "copy").summary == trained.summary
    with pytest.warns(HaleWarning, match="nothing to update"):
        left = update(trained.path, known, out=tmp_path / "none", copy_unchanged=False)
    assert left.path == trained.path
    assert not (tmp_path / "none").exists()


def test_under_a_budget_a_sample_is_ranked_before_and_after(
    trained: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hale.evaluation.gradual.LEAST", 2)
    monkeypatch.setattr("hale.evaluation.gradual.FIRST", 2)
    monkeypatch.setattr("hale.evaluation.gradual.LEAST_SECONDS", 0.0)
    monkeypatch.setattr("hale.training.validation_share.SHARE", 1e9)  # it is not the matter here
    some = update(trained, NEW, budget=0.01).origin[0]["quality"]["test"]
    for when in ("before", "after"):
        assert some[when]["count"] == 4
        assert (some[when]["sample"]["triples"], some[when]["sample"]["of"]) == (2, 4)
    every = update(trained, NEW, budget=0.01, full_evaluation=True).origin[0]["quality"]["test"]
    assert every["after"]["count"] == 8
    assert "sample" not in every["after"]


def test_a_run_in_a_folder_and_an_update_of_an_update(trained: Run, tmp_path: Path) -> None:
    first = update(trained.path, NEW[:3], epochs=3, out=tmp_path / "one")
    loaded = hale.load_run(tmp_path / "one")
    stored = json.loads((tmp_path / "one" / "origin.json").read_text())
    assert loaded.origin == unsealed(stored, must=True)
    assert loaded.summary == first.summary
    for name, value in first.model.state_dict().items():
        assert torch.equal(value, loaded.model.state_dict()[name])
    assert hale.evaluate(loaded).mrr == pytest.approx(hale.evaluate(first).mrr)
    assert len(hale.predict(loaded, head="new", relation="next", k=3)) == 3
    assert loaded.settings.learning_rate == trained.settings.learning_rate

    update(loaded, NEW[3:], epochs=3, out=tmp_path / "one", overwrite=True)
    second = hale.load_run(tmp_path / "one")
    assert [entry["added"] for entry in second.origin] == [3, 12]
    assert second.origin[1]["from"] == str(tmp_path / "one")
    assert len(second.graph.relations) == 3
    with pytest.raises(RunError, match="an update is not resumed"):
        hale.train(None, out=tmp_path / "one", resume=True)


def test_the_same_update_gives_the_same_weights(trained: Run) -> None:
    one, two = (update(trained, NEW, epochs=4).model.state_dict() for _ in range(2))
    assert all(torch.equal(value, two[name]) for name, value in one.items())


def test_a_folder_that_is_taken_is_told_before_training(trained: Run, tmp_path: Path) -> None:
    class Never:
        def stepped(self, *_: object) -> None:
            raise AssertionError

        validated = stepped

    assert trained.path is not None
    with pytest.raises(RunError, match="exists. Choose another"):
        update(trained, NEW, epochs=1, out=trained.path, observer=Never())


def test_held_out_facts_are_measured(trained: Run) -> None:
    run = update(trained, NEW, holdout=[("e020", "back", "e019")], epochs=2)
    quality = run.origin[0]["quality"]
    assert quality["held_out"]["count"] == 2
    assert quality["test"]["after"]["count"] == 2 * len(trained.graph.test)
    assert len(run.graph.test) == len(trained.graph.test) + 1


def test_the_mixture_has_its_shares(graph: Graph) -> None:
    """40 old facts and 10 new ones, both ways: at focus 2, 20 in 60 of 30 places are new.

    A batch is half as large as the run's.
    """
    add = [(f"e{i:03}", "next", f"e{i + 5:03}") for i in range(10)]
    settings = hale.Settings(batch_size=60, queries=8)
    changed = revise(graph, read_triples(add))
    assert (len(graph.train), len(changed.added)) == (40, 10)
    batch = mixture(changed, settings, UpdateOptions(focus=2.0), torch.device("cpu")).at(0)
    new = {tuple(row) for row in changed.after.both_directions(changed.added).tolist()}
    assert len(batch) == 30
    assert sum(tuple(row) in new for row in batch.tolist()) == 10

    gone = revise(graph, remove=read_triples([("e003", "next", "e004")]))
    batch = mixture(gone, settings, UpdateOptions(), torch.device("cpu")).at(0)
    assert len(batch) == 30, "facts around it and others as often as there are"
    near = [bool({h, t} & {3, 4}) for h, _, t in batch.tolist()]
    around = np.isin(gone.after.train[:, [0, 2]], [3, 4]).any(axis=1)
    assert near.count(True) == round(around.mean() * 30) == 5


def test_a_small_change_is_learnt_slowly(graph: Graph) -> None:
    count = sum(len(graph.split(split)) for split in ("train", "valid", "test"))
    add = [(f"e{i:03}", "next", f"e{(i + 5 + j) % 20:03}") for i in range(20) for j in range(2)]
    assert rate_factor(revise(graph, read_triples(add))) == 1.0  # forty more
    gone = revise(graph, remove=read_triples([("e003", "next", "e004")]))
    assert rate_factor(gone) == pytest.approx((5 / (count - 1)) ** 0.25)
    known = revise(graph, read_triples([("e003", "next", "e004")]))  # nothing new
    assert rate_factor(known) == pytest.approx(0.1)


def test_bad_input_is_refused(trained: Run) -> None:
    with pytest.raises(InputError, match="facts to add, facts to remove"):
        update(trained)
    with pytest.raises(SettingsError, match="anchor.*\n.*rate"):
        update(trained, NEW, anchor=-1.0, rate=0.0)
    with pytest.raises(SettingsError, match="a time looks like"):
        update(trained, NEW, budget="soon")


def test_new_facts_are_at_least_one_in_a_hundred(graph: Graph) -> None:
    """A focus near zero would leave one place; 2 of 200 are theirs, the rest is for old facts."""
    changed = revise(graph, read_triples([("e003", "next", "e009")]))
    settings = hale.Settings(batch_size=400, queries=8)
    batch = mixture(changed, settings, UpdateOptions(focus=1e-9), torch.device("cpu")).at(0)
    new = {(3, 0, 9), (9, 2, 3)}
    assert [tuple(row) in new for row in batch.tolist()].count(True) == 2


def test_small_revisions_learn_slower(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """One fact of 49: the fourth root of (1/49) / (1/5), times the update's rate and the run's."""
    run = hale.train(graph, epochs=1, dim=4, batch_size=16, learning_rate=0.02)
    rates = []
    begin = Trainer.__init__

    def watch(
        self: Trainer, graph: Graph, settings: hale.Settings, *given: Any, **more: Any
    ) -> None:
        rates.append(settings.learning_rate)
        begin(self, graph, settings, *given, **more)

    monkeypatch.setattr(Trainer, "__init__", watch)
    update(run, [("e003", "next", "e009")], epochs=1, rate=2.0)
    assert rates == [pytest.approx(2.0 * (5 / 49) ** 0.25 * 0.02)]

"""Runs that teach a new one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import hale
from hale.data.graph import Graph, Vocabulary
from hale.errors import InputError, RunError
from hale.objectives.scoring import scoring_of
from hale.runs.run import Run, load_run
from hale.runs.systems import complete
from hale.training.teachers import asked, known_by_name, relation_scales, soft_labels

SHORT = {"dim": 8, "epochs": 2, "batch_size": 32, "queries": 8, "threads": 1}


@pytest.fixture
def teacher(graph: Graph, tmp_path: Path) -> Path:
    hale.train(graph, out=tmp_path / "teacher", **{**SHORT, "dim": 12})
    return tmp_path / "teacher"


def shuffled(graph: Graph) -> Graph:
    """The same facts and names in another order, one entity more and one relation more."""
    order = np.random.default_rng(3).permutation(len(graph.entities))
    names = [""] * len(order)
    for old, new in enumerate(order):
        names[new] = graph.entities[old]
    relations = ["more", *reversed(list(graph.relations.names))]
    turned = len(relations) - 1 - np.arange(len(graph.relations))
    moved = {
        split: np.column_stack([order[ids[:, 0]], turned[ids[:, 1]], order[ids[:, 2]]])
        for split in ("train", "valid", "test")
        for ids in [graph.split(split)]
    }
    return replace(
        graph,
        entities=Vocabulary([*names, "new"], "entity"),
        relations=Vocabulary(relations, "relation"),
        labels={},
        **moved,
    )


def test_labels_are_the_teachers_best_answers_and_their_scores(graph: Graph, teacher: Path) -> None:
    run = load_run(teacher)
    settings = complete(graph, **SHORT, teacher=teacher, teacher_queries=40, teacher_top=3)
    labels = soft_labels(settings, graph, [known_by_name(run, graph)])
    scoring = scoring_of(run.settings, run.graph.known("train"))
    for place, (head, relation) in enumerate(labels.queries.tolist()):
        asks = torch.tensor([head]), torch.tensor([relation])
        everyone = run.model.score_all(*asks)[0]
        best = everyone.topk(3).indices
        assert set(labels.candidates[place].tolist()) == set(best.tolist())
        expected = scoring.candidates(run.model, *asks, labels.candidates[place][None])[0]
        assert labels.scores[place, :, 0].tolist() == pytest.approx(expected.tolist(), abs=1e-5)


def test_a_teacher_of_another_vocabulary_is_known_by_names(graph: Graph, teacher: Path) -> None:
    """The labels of a graph with other ids are the same, by name."""
    run, other = load_run(teacher), shuffled(graph)
    settings = complete(graph, **SHORT, teacher=teacher, teacher_queries=60, teacher_top=4)

    def by_name(on: Graph) -> dict[tuple[str, str, bool, str], float]:
        labels = soft_labels(settings, on, [known_by_name(run, on)])
        count = len(on.relations)
        return {
            (on.entities[h], on.relations[r % count], r >= count, on.entities[c]): score
            for (h, r), candidates, scores in zip(
                labels.queries.tolist(),
                labels.candidates.tolist(),
                labels.scores[:, :, 0].tolist(),
                strict=True,
            )
            for c, score in zip(candidates, scores, strict=True)
        }

    ours, theirs = by_name(graph), by_name(other)
    both = ours.keys() & theirs.keys()
    assert len(both) > 40
    assert all(ours[key] == pytest.approx(theirs[key], abs=1e-5) for key in both)
    assert not any("new" in (key[0], key[3]) or key[1] == "more" for key in theirs)


def test_a_teacher_with_no_name_in_common_is_refused(graph: Graph, teacher: Path) -> None:
    strange = replace(
        graph,
        entities=Vocabulary([f"x{i}" for i in range(len(graph.entities))], "entity"),
        labels={},
    )
    with pytest.raises(InputError, match="names tell what is the same"):
        known_by_name(load_run(teacher), strange)


def test_queries_are_some_of_train_and_some_that_it_lacks(graph: Graph, teacher: Path) -> None:
    known = {(h, r) for h, r, _ in graph.both_directions(graph.train).tolist()}
    one = known_by_name(load_run(teacher), graph)
    settings = complete(graph, **SHORT, teacher=teacher, teacher_queries=40, teacher_absent=0.25)
    queries = [tuple(query) for query in asked(settings, graph, [one]).tolist()]
    assert len(queries) == len(set(queries))
    assert sum(query in known for query in queries) == 30
    assert 0 < sum(query not in known for query in queries) <= 11


def test_a_relation_has_the_scale_that_makes_its_facts_likeliest(graph: Graph) -> None:
    """A teacher that is right and sure gets a scale of one, one that is wrong the least."""
    head, relation, tail = graph.train[0].tolist()
    wrong = next(i for i in range(len(graph.entities)) if i not in (head, tail))
    queries, candidates = torch.tensor([[head, relation]]), torch.tensor([[tail, wrong]])
    scores = torch.tensor([[[0.0, -4.0], [-4.0, 0.0]]])  # the first is right, the second wrong
    answers = graph.known("train").of(np.array([head]), np.array([relation]))[1].tolist()
    assert wrong not in answers
    scales = relation_scales(graph, queries, candidates, scores)
    assert scales[relation].tolist() == pytest.approx([1.0, 0.05])
    others = [r for r in range(2 * len(graph.relations)) if r != relation]
    assert scales[others].flatten().tolist() == pytest.approx(
        [1 / (1 + np.exp(-1))] * 2 * len(others)
    )


def taught(graph: Graph, out: Path, *teachers: Path, **values: object) -> Run:
    given = {**SHORT, "teacher_queries": 50, **values}
    return hale.train(graph, out=out, teacher=teachers, **given)  # type: ignore[arg-type]


def test_a_run_keeps_what_it_was_taught_and_goes_on_without_its_teacher(
    graph: Graph, teacher: Path, tmp_path: Path
) -> None:
    whole = taught(graph, tmp_path / "whole", teacher, epochs=4)
    assert "distile" in whole.history[-1].losses
    assert load_run(tmp_path / "whole").settings.teacher == (str(teacher),)
    taught(graph, tmp_path / "parts", teacher, epochs=2)
    teacher.rename(tmp_path / "gone")
    gone_on = hale.train(None, out=tmp_path / "parts", resume=True, epochs=4)
    assert gone_on.summary.steps == whole.summary.steps
    assert gone_on.history[-1].losses.keys() == whole.history[-1].losses.keys()


def test_labels_that_are_lost_are_made_again_by_the_same_teacher_only(
    graph: Graph, teacher: Path, tmp_path: Path
) -> None:
    taught(graph, tmp_path / "run", teacher)
    (tmp_path / "run" / "lessons.safetensors").unlink()
    assert hale.train(None, out=tmp_path / "run", resume=True, epochs=3).summary.epochs == 3
    hale.train(graph, out=teacher, overwrite=True, **{**SHORT, "dim": 12, "seed": 1})
    with pytest.raises(RunError, match="not what they were"):
        hale.train(None, out=tmp_path / "run", resume=True, epochs=4)


def test_several_teachers_are_followed_by_mulde_unless_said_otherwise(
    graph: Graph, teacher: Path, tmp_path: Path
) -> None:
    hale.train(graph, model="distmult", out=tmp_path / "second", **SHORT)
    both = (teacher, tmp_path / "second")
    run = taught(graph, tmp_path / "run", *both)
    assert "mulde" in run.history[-1].losses
    assert [one["model"] for one in _about(tmp_path / "run")] == ["rotl", "distmult"]
    other = {key: value for key, value in SHORT.items() if key != "queries"}
    run = hale.train(
        graph, teacher=both, distillation="distile", strategy="samneg", teacher_queries=50, **other
    )
    assert "distile" in run.history[-1].losses


def _about(path: Path) -> list[dict[str, str]]:
    import json

    found: list[dict[str, str]] = json.loads((path / "teachers.json").read_text())
    return found


def test_a_teacher_that_is_not_there_is_told_before_anything_is_made(
    graph: Graph, tmp_path: Path
) -> None:
    with pytest.raises(RunError, match="There is no run"):
        taught(graph, tmp_path / "run", tmp_path / "nobody")
    assert not (tmp_path / "run").exists()

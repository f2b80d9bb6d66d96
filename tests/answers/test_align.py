"""Alignment: a graph and a copy of it under other names and in another order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hale.answers.align import Alignment, _judged, align, align_graphs
from hale.data.graph import Graph, Vocabulary
from hale.errors import InputError
from hale.runs.run import Run, Summary
from hale.runs.systems import build_model
from hale.settings import make_settings

SIZE = 60
FAST: dict[str, Any] = {
    "model": "rotl",
    "dim": 32,
    "gamma": 8.0,
    "block": "all",
    "learning_rate": 0.02,
    "epochs": 150,
    "batch_size": 128,
    "queries": 64,
    "threads": 1,
}


def world() -> tuple[Graph, Graph, np.ndarray]:
    """A random graph, its copy with shuffled ids, and which is which."""
    rng = np.random.default_rng(1)
    ends = rng.integers(SIZE, size=(200, 2))
    facts = np.unique(np.column_stack([ends[:, 0], rng.integers(4, size=200), ends[:, 1]]), axis=0)
    order = rng.permutation(SIZE)
    copied = np.stack([order[facts[:, 0]], facts[:, 1], order[facts[:, 2]]], axis=1)
    made = [
        Graph(
            name,
            Vocabulary([f"{name}{i:03}" for i in range(SIZE)], "entity"),
            Vocabulary([f"{name}r{i}" for i in range(4)], "relation"),
            train=triples,
            valid=triples[:0],
            test=triples[:0],
        )
        for name, triples in (("a", facts), ("b", copied))
    ]
    return made[0], made[1], np.stack([np.arange(SIZE), order], axis=1)


@pytest.fixture(scope="module")
def found() -> tuple[Alignment, np.ndarray]:
    left, right, truth = world()
    return align_graphs(left, right, truth[:30], rounds=2, **FAST), truth[30:]


def test_most_hidden_pairs_are_found(
    found: tuple[Alignment, np.ndarray],
) -> None:
    alignment, hidden = found
    for of_right in (False, True):
        assert np.mean(alignment.ranks(hidden, of_right=of_right) == 1) > 0.5  # by chance: 1 / 40
    truth = {f"a{i:03}": f"b{j:03}" for i, j in hidden.tolist()}
    matches = alignment.matches()
    right = [truth[match.left] == match.right for match in matches if match.left in truth]
    assert np.mean(right) > 0.5
    both = [alignment.ranks(alignment.apart, of_right=way) == 1 for way in (False, True)]
    assert alignment.hits_apart() == np.mean(both[0] & both[1])


def test_known_pairs_are_not_told_again(
    found: tuple[Alignment, np.ndarray],
) -> None:
    alignment, hidden = found
    told = {match.left for match in alignment.matches()}
    assert told <= {f"a{i:03}" for i in hidden[:, 0].tolist()} | {
        f"a{i:03}" for i in alignment.apart[:, 0].tolist()
    }
    confidences = [match.confidence for match in alignment.matches()]
    assert confidences == sorted(confidences, reverse=True)
    assert all(0 <= one <= 1 for one in confidences)


def test_pairs_kept_apart_are_never_trained_on(
    found: tuple[Alignment, np.ndarray],
) -> None:
    alignment, _ = found
    assert len(alignment.apart) == 10
    assert not set(alignment.settled[:, 0].tolist()) & set(alignment.apart[:, 0].tolist())
    assert len(alignment.settled) == 20 + len(alignment.added)


def test_a_wrongly_settled_pair_has_no_rank(
    found: tuple[Alignment, np.ndarray],
) -> None:
    alignment, _ = found
    left, right = alignment.settled[0].tolist()
    assert alignment.ranks(np.array([[left, right]])).tolist() == [1.0]
    other = int(alignment.right[0])
    assert alignment.ranks(np.array([[left, other]])).tolist() == [np.inf]


def test_how_sure_a_match_is_is_told_by_pairs_kept_apart() -> None:
    """Margins 9, 8 right, 7 wrong, 6 right by the pairs kept apart; the fifth says nothing."""
    apart = np.array([[0, 10], [1, 11], [2, 12], [3, 13]])
    matched = np.array([[0, 10], [1, 11], [2, 19], [3, 13], [5, 15]])
    curve, least, share = _judged(matched, np.array([9.0, 8.0, 7.0, 6.0, 5.0]), apart)
    assert (least, share) == (8.0, 1.0)
    high, low = curve.probability(np.array([9.0, 6.0]))
    assert high > low
    nothing = _judged(np.array([[5, 15]]), np.array([1.0]), apart)
    assert nothing[1] == np.inf
    assert nothing[0].probability(np.array([1.0]))[0] < 0.5


def run_of(graph: Graph) -> Run:
    settings = make_settings(model="rotl", dim=16)
    summary = Summary("epochs", 1, 1.0, 1.0, 0.0, 0, 1, 1, "cpu")
    return Run(settings, graph, build_model(settings, graph.size), summary)


def test_from_runs_and_a_file_of_names(tmp_path: Path) -> None:
    left, right, truth = world()
    rows = [(f"a{i:03}", f"b{j:03}") for i, j in truth[:30].tolist()]
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{one}\t{other}\n" for one, other in rows))
    kept = {**FAST, "epochs": 2}
    found = align(run_of(left), run_of(right), pairs, rounds=1, **kept)
    assert found.to_polars().columns[:3] == ["left", "right", "confidence"]
    known = {left for left, _ in rows}
    truth_of = dict(rows)
    assert all(match.right != truth_of.get(match.left) for match in found)
    assert any(match.left not in known for match in found)
    frame = pl.DataFrame(rows[:5], schema=["left", "right"], orient="row")
    with pytest.raises(InputError, match="20 known pairs or more, got 5"):
        align(run_of(left), run_of(right), frame)
    with pytest.raises(InputError, match="at least one round"):
        align(run_of(left), run_of(right), pairs, rounds=0)

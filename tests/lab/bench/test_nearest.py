from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from hale.export.index import Lifted
from hale.lab.bench.nearest import Exact, recall, synthetic_vectors, vectors_of
from hale.runs.folder import RunFolder
from tests.lab.bench.test_bench import bench
from tests.line_run import line_run


def test_recall_by_hand() -> None:
    exact = np.array([[1, 2, 3], [4, 5, 6]])
    assert recall(exact[:, ::-1], exact) == 1
    assert recall(np.array([[1, 9, 2], [7, 8, 9]]), exact) == 2 / 6


@pytest.mark.parametrize("metric", ["l2sq", "ip"])
def test_the_exact_search_is_exact(metric: str) -> None:
    vectors, queries = synthetic_vectors(300, 5, 7)
    found = Exact(Lifted(vectors, metric)).search(torch.from_numpy(queries), 4)
    for query, row in zip(queries.astype(np.float64), found.tolist(), strict=True):
        e = vectors.astype(np.float64)
        score = -((e - query) ** 2).sum(axis=1) if metric == "l2sq" else e @ query
        assert row == np.argsort(-score)[:4].tolist()


def test_synthetic_vectors_are_clustered() -> None:
    """Nearest neighbours are much nearer than they would be among as many even draws."""
    vectors, queries = synthetic_vectors(2000, 8, 3)
    assert vectors.shape == (2000, 8)
    assert queries.shape == (3, 8)
    again, _ = synthetic_vectors(2000, 8, 3)
    np.testing.assert_array_equal(vectors, again)
    even = np.random.default_rng(0).normal(size=vectors.shape) * vectors.std(axis=0)

    def gap(points: np.ndarray) -> float:  # type: ignore[type-arg]
        distances = np.linalg.norm(points[:100, None] - points[None], axis=2)
        return float(np.median(np.sort(distances, axis=1)[:, 1]))

    assert gap(vectors) < 0.8 * gap(even)


def test_queries_of_a_run() -> None:
    run = line_run()
    lifted, queries = vectors_of(run, 10)
    np.testing.assert_array_equal(lifted.vectors[:, 0], np.arange(20))
    assert sorted(queries[:, 0].tolist()) == [2, 4]  # of the test triple (p2, twice, p4)


def test_rows(tmp_path: Path) -> None:
    found = bench("index", "--n", "500", "--dim", "8", "--queries", "20")["rows"]
    assert [row["expansion"] for row in found] == [32, 64, 96, 128]
    for row in found:
        assert row["speed_up"] == pytest.approx(row["exact_ms"] / row["index_ms"])
    assert found[-1]["recall"] > 0.95
    run = line_run()
    RunFolder.create(tmp_path / "run", run.settings, run.graph, run.model.state_dict())
    of_run = bench("index", "--run", tmp_path / "run", "-k", "3")["rows"]
    assert (of_run[0]["vectors"], of_run[0]["n"], of_run[0]["queries"]) == ("line", 20, 2)
    assert of_run[0]["recall"] == 1, "as many candidates as vectors: exact"

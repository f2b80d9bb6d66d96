"""Vectors to the plane: components by hand, neighbours kept, the others beside theirs."""

from __future__ import annotations

import numpy as np
import pytest

from hale.errors import InputError
from hale.serve.map import projection
from hale.serve.map.projection import in_square, pca, placed, tsne


def test_components_of_a_cross_by_hand() -> None:
    # Along (1, 1) the spread is 4 each way, along (1, -1) it is 1: the two components.
    long, short = np.array([1.0, 1.0]) / np.sqrt(2), np.array([1.0, -1.0]) / np.sqrt(2)
    vectors = np.array([4 * long, -4 * long, short, -short], dtype=np.float32) + 10
    wanted = np.array([[1, 0], [-1, 0], [0, 0.25], [0, -0.25]])
    found = pca(vectors)
    found[:, 1] *= np.sign(found[2, 1])  # the sign of (1, -1) is a tie
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_components_agree_with_a_decomposition() -> None:
    vectors = np.random.default_rng(0).normal(size=(200, 7)).astype(np.float32) * np.arange(1, 8)
    centred = vectors - vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    wanted = in_square((centred @ axes[:2].T).astype(np.float32))
    for column in range(2):
        found = pca(vectors.astype(np.float32))[:, column]
        assert np.abs(found) == pytest.approx(np.abs(wanted[:, column]), abs=1e-4)


def test_one_dimension_is_a_line() -> None:
    assert pca(np.array([[0.0], [1.0], [4.0]], dtype=np.float32)).tolist() == [
        [-1, 0],
        [-0.5, 0],
        [1, 0],
    ]


def test_equal_vectors_are_one_point() -> None:
    assert not pca(np.ones((5, 3), dtype=np.float32)).any()


def test_vectors_that_are_not_finite_are_refused() -> None:
    with pytest.raises(InputError, match="not finite"):
        pca(np.array([[0.0, np.nan]], dtype=np.float32))


def test_square_keeps_the_shape() -> None:
    xy = np.array([[0, 0], [10, 0], [0, 4]], dtype=np.float32)
    assert in_square(xy) == pytest.approx(np.array([[-1, -0.4], [1, -0.4], [-1, 0.4]]))


def test_an_entity_goes_to_its_nearest_by_hand() -> None:
    # Of eleven known ones on a line the five nearest to 0.5 are 0, 1, -1, 2 and one more.
    known = np.arange(-5, 6, dtype=np.float32)[:, None]
    xy = np.concatenate([known * 10, known * 0], axis=1)
    at = np.array([[0.4]], dtype=np.float32)
    near = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])  # 2 is 1.6 away, -2 is 2.4, 3 is 2.6
    weights = 1 / (near - 0.4) ** 2
    wanted = 10 * (weights * near).sum() / weights.sum()
    assert placed(at, known, xy)[0] == pytest.approx([wanted, 0], rel=1e-4)


def test_one_that_is_there_goes_to_its_own_place() -> None:
    known = np.eye(6, dtype=np.float32)
    xy = np.arange(12, dtype=np.float32).reshape(6, 2)
    assert placed(known[3:4], known, xy)[0] == pytest.approx(xy[3], abs=1e-3)


def groups(count: int) -> np.ndarray:
    """Three far groups of points, one after the other."""
    rng = np.random.default_rng(1)
    middles = 20 * np.eye(3, 5)
    return (np.repeat(middles, count, axis=0) + rng.normal(size=(3 * count, 5))).astype(np.float32)


@pytest.mark.parametrize("sample", [1000, 45])
def test_groups_stay_together(sample: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By t-SNE of all, and of a sample with the others placed: the nearest is of one's group."""
    pytest.importorskip("openTSNE")
    monkeypatch.setattr(projection, "EARLY", 60)
    monkeypatch.setattr(projection, "LATE", 60)
    told: list[tuple[float, str]] = []
    xy = tsne(groups(40), sample=sample, progress=lambda share, what: told.append((share, what)))
    assert xy.shape == (120, 2)
    assert np.abs(xy).max() == pytest.approx(1)
    gaps = ((xy[:, None] - xy[None]) ** 2).sum(axis=2)
    np.fill_diagonal(gaps, np.inf)
    assert (gaps.argmin(axis=1) // 40 == np.arange(120) // 40).all()
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert shares[-1] > 0.8
    assert ("placing the other entities" in {what for _, what in told}) == (sample == 45)

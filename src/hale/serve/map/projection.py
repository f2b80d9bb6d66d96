"""Projection: from vectors to the plane, by principal components or by t-SNE."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hale.errors import InputError, MissingExtraError

Floats = NDArray[np.float32]
Progress = Callable[[float, str], object]  # the share that is done, and what is being done

# Entities that t-SNE lays out itself; the others go to their neighbours among these.
SAMPLE = 20_000
NEIGHBOURS = 5
PERPLEXITY = 30.0
# Passes of t-SNE: first with all attraction raised twelvefold, then without.
EARLY, LATE, STRETCH = 250, 500, 12.0
ROWS = 1024  # entities that are placed at once


def pca(vectors: Floats) -> Floats:
    """The two principal components of vectors: (N, d) -> (N, 2).

    xy = (V - mean) W, with W the two eigenvectors of the covariance with the largest eigenvalues,
    each signed so that its largest entry is positive.
    """
    if not np.isfinite(vectors).all():
        raise InputError("The run holds vectors that are not finite; train it again.")
    mean = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    centred = vectors - mean
    values, axes = np.linalg.eigh((centred.T @ centred).astype(np.float64))
    axes = axes[:, np.argsort(-values, kind="stable")[:2]]
    if axes.shape[1] < 2:
        axes = np.concatenate([axes, np.zeros((len(axes), 1))], axis=1)
    largest = np.abs(axes).argmax(axis=0)
    axes *= np.where(axes[largest, [0, 1]] < 0, -1.0, 1.0)
    return in_square((centred @ axes.astype(np.float32)).astype(np.float32))


def in_square(xy: Floats) -> Floats:
    """Places moved and scaled, both ways alike, so that they just fit the square from -1 to 1."""
    low, high = xy.min(axis=0), xy.max(axis=0)
    half = float((high - low).max()) / 2
    fitted: Floats = ((xy - (low + high) / 2) / (half or 1.0)).astype(np.float32)
    return fitted


def tsne(
    vectors: Floats, *, sample: int = SAMPLE, seed: int = 0, progress: Progress | None = None
) -> Floats:
    """A layout that keeps neighbours together: (N, d) -> (N, 2), by openTSNE.

    Of more than ``sample`` entities so many are drawn and laid out, and each of the others goes
    to the mean of its nearest among them, the nearer ones weighing more.
    """
    told = progress or (lambda _share, _what: None)
    count = len(vectors)
    drawn = np.arange(count)
    if count > sample:
        drawn = np.sort(np.random.default_rng(seed).choice(count, sample, replace=False))
    laid = _optimised(vectors[drawn], seed, lambda share, what: told(0.9 * share, what))
    if count <= sample:
        return in_square(laid)
    xy = np.empty((count, 2), dtype=np.float32)
    xy[drawn] = laid
    others = np.setdiff1d(np.arange(count), drawn, assume_unique=True)
    for start in range(0, len(others), ROWS):
        part = others[start : start + ROWS]
        xy[part] = placed(vectors[part], vectors[drawn], laid)
        told(0.9 + 0.1 * (start + len(part)) / len(others), "placing the other entities")
    return in_square(xy)


def _optimised(vectors: Floats, seed: int, told: Progress) -> Floats:
    try:
        from openTSNE import TSNEEmbedding, affinity
    except ImportError:
        raise MissingExtraError("A layout by t-SNE", "serve") from None
    if len(vectors) < 4:
        return pca(vectors)
    told(0.0, "finding neighbours")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        near = affinity.PerplexityBasedNN(
            vectors, perplexity=min(PERPLEXITY, (len(vectors) - 1) / 3), random_state=seed
        )
        start = pca(vectors)
        start = start / (float(start[:, 0].std()) or 1.0) * 1e-4
        layout = TSNEEmbedding(start.astype(np.float64), near, random_state=seed)
        done = 0

        def note(_iteration: int, _error: float, _embedding: object) -> None:
            told(0.1 + 0.9 * (done + _iteration) / (EARLY + LATE), "t-SNE")

        every = {"callbacks": note, "callbacks_every_iters": 10}
        layout = layout.optimize(EARLY, exaggeration=STRETCH, momentum=0.5, **every)
        done = EARLY
        layout = layout.optimize(LATE, momentum=0.8, **every)
    return np.asarray(layout, dtype=np.float32)


def placed(vectors: Floats, known: Floats, xy: Floats) -> Floats:
    """Where entities (B, d) go among others (S, d) that have their places (S, 2): -> (B, 2).

    sum_j w_j xy_j / sum_j w_j over the NEIGHBOURS nearest, w_j = 1 / (||v - v_j||^2 + epsilon)
    """
    count = min(NEIGHBOURS, len(known))
    # squared distances but for |v|^2, by which nothing changes places
    squares = (known**2).sum(axis=1) - 2 * (vectors @ known.T)
    near = np.argpartition(squares, count - 1, axis=1)[:, :count]
    gaps = vectors[:, None] - known[near]
    weights = 1 / ((gaps**2).sum(axis=2) + 1e-12)  # (B, k)
    weights /= weights.sum(axis=1, keepdims=True)
    found: Floats = np.einsum("bk,bkc->bc", weights, xy[near]).astype(np.float32)
    return found

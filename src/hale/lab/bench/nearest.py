"""Approximate answers from an index against exact ones: recall and speed."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hale.engine import geometry
from hale.engine.topk import top
from hale.errors import InputError
from hale.evaluation.spans import chunk_size
from hale.export.index import CONNECTIVITY, EXPANSION_ADD, Lifted, build, lift, search
from hale.lab.bench.timing import in_turns
from hale.runs.run import Run

Floats = NDArray[np.float32]

EXPANSIONS = (32, 64, 96, 128)
ALONE = 50  # queries that are also asked one at a time


def synthetic_vectors(
    num_entities: int, dim: int, num_queries: int, *, seed: int = 0
) -> tuple[Floats, Floats]:
    """Entity vectors (N, d) that look like trained ones, and queries (m, d) among them.

    Clusters of very different sizes (cluster j has a share of 1/j), both their
    centres and their members spread by j^-1/2 along coordinate j, since trained
    vectors fill some directions much more than others. A query lands as far from
    some entity as members of a cluster lie from its centre.
    """
    draws = torch.Generator().manual_seed(seed)
    clusters = max(1, num_entities // 500)
    widths = torch.arange(1, dim + 1) ** -0.5
    centres = widths * torch.randn(clusters, dim, generator=draws)
    shares = 1 / torch.arange(1, clusters + 1)
    own = torch.multinomial(shares, num_entities, replacement=True, generator=draws)
    inner = 0.35 * widths
    entities = centres[own] + inner * torch.randn(num_entities, dim, generator=draws)
    targets = torch.randint(num_entities, (num_queries,), generator=draws)
    queries = entities[targets] + inner * torch.randn(num_queries, dim, generator=draws)
    return entities.numpy(), queries.numpy()


@torch.inference_mode()
def vectors_of(run: Run, num_queries: int, *, seed: int = 0) -> tuple[Lifted, Floats]:
    """A run's entities as an index holds them, and the queries of test triples, both ways."""
    entities = np.ascontiguousarray(run.model.entities().float().cpu().numpy())
    triples = run.graph.both_directions(run.graph.test)
    if not len(triples):
        raise InputError(f"The graph {run.graph.name!r} has no test triples to take queries from.")
    some = np.random.default_rng(seed).permutation(len(triples))[:num_queries]
    ids = torch.tensor(triples[some], device=run.model.entities().device)
    queries = run.model.query(ids[:, 0], ids[:, 1]).float().cpu().numpy()
    return lift(run.model, entities), np.ascontiguousarray(queries)


class Exact:
    """The search that scores every entity, as ranking does: one product, then the best k."""

    def __init__(self, lifted: Lifted) -> None:
        vectors = torch.from_numpy(lifted.vectors)
        self.is_l2 = lifted.metric == "l2sq"
        self.candidates = geometry.lift_candidates(vectors) if self.is_l2 else vectors
        self.chunk = chunk_size(len(vectors))

    def search(self, queries: Tensor, k: int) -> Tensor:
        """The rows of the k best entities: (m, d) -> (m, k)."""
        found = []
        for start in range(0, len(queries), self.chunk):
            part = queries[start : start + self.chunk]
            left = -geometry.lift_queries(part) if self.is_l2 else part
            found.append(top(torch.mm(left, self.candidates.T), k)[1])
        return torch.cat(found)


def recall(found: NDArray[np.int64], exact: NDArray[np.int64]) -> float:
    """The share of exact answers that were found: (m, k), (m, k) -> scalar."""
    hits = (found[:, :, None] == exact[:, None, :]).any(axis=1)
    return float(hits.mean())


@torch.inference_mode()
def nearest_rows(
    lifted: Lifted,
    queries: Floats,
    *,
    name: str,
    k: int = 10,
    expansions: Sequence[int] = EXPANSIONS,
    rounds: int = 3,
) -> list[dict[str, Any]]:
    """One row per expansion: recall of the k nearest, and times against the exact search.

    Times are of queries in one batch, and one at a time; both searches have the
    same number of threads.
    """
    if lifted.extra is not None:
        more = np.full((len(queries), 1), lifted.extra, dtype=np.float32)
        queries = np.concatenate([queries, more], axis=1)
    exact = Exact(lifted)
    batch = torch.from_numpy(queries)
    truth = exact.search(batch, k).numpy()
    began = time.perf_counter()
    index = build(lifted)
    build_seconds = time.perf_counter() - began
    alone = queries[:ALONE]
    rows = []
    for expansion in expansions:
        index.expansion_search = expansion
        times = in_turns(
            {
                "exact": lambda: exact.search(batch, k),
                "index": lambda: search(index, queries, k),
                "exact_alone": lambda: [exact.search(batch[i : i + 1], k) for i in _of(alone)],
                "index_alone": lambda: [search(index, alone[i : i + 1], k) for i in _of(alone)],
            },
            rounds=rounds,
            warm_up=1,
        )
        each = {
            what: found.best_ms / len(alone if what.endswith("alone") else queries)
            for what, found in times.items()
        }
        rows.append(
            {
                "vectors": name,
                "n": len(lifted.vectors),
                "d": lifted.vectors.shape[1],
                "expansion": expansion,
                "recall": recall(search(index, queries, k)[0], truth),
                "exact_ms": each["exact"],
                "index_ms": each["index"],
                "speed_up": each["exact"] / each["index"],
                "exact_alone_ms": each["exact_alone"],
                "index_alone_ms": each["index_alone"],
                "alone_speed_up": each["exact_alone"] / each["index_alone"],
                "k": k,
                "queries": len(queries),
                "connectivity": CONNECTIVITY,
                "expansion_add": EXPANSION_ADD,
                "build_s": build_seconds,
                "index_mb": _megabytes(index),
            }
        )
    return rows


def _of(items: Floats) -> range:
    return range(len(items))


def _megabytes(index: Any) -> float:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "index"
        index.save(str(file))
        return file.stat().st_size / 1e6

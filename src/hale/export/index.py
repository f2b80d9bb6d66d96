"""A nearest-neighbour index over entity vectors (extra 'index').

usearch rather than faiss-cpu: recall and speed of search are alike, its wheel is smaller, it
builds faster, and its file is searched from disk without loading.
"""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hale.errors import InputError, MissingExtraError
from hale.export.about import ABOUT, read_about
from hale.export.npy import write_lines
from hale.export.vectors import Floats, Tables
from hale.models import Model

FILE, NAMES = "entities.usearch", "entities.txt"

# At 10^6 vectors of d = 32, connectivity 16 and 128 while building give the ten nearest with a
# recall of .92, .97, .99 and .99 at expansions 32, 64, 96 and 128 of the search.
CONNECTIVITY = 16
EXPANSION_ADD = 128
EXPANSION_SEARCH = 96

METRICS = {"l2": "l2sq", "dot": "ip"}


@dataclass(frozen=True)
class Lifted:
    """Entity vectors with which a plain metric ranks as the model does.

    A bias b_t per answer becomes one more coordinate, exactly:

        l2:  ||(q, 0) - (e, sqrt(B - b))||^2 = ||q - e||^2 + B - b,   B = max b
        dot: <(q, 1), (e, b)> = <q, e> + b
    """

    vectors: Floats  # (N, d), or (N, d + 1) with biases
    metric: str
    extra: float | None = None  # what a query has in the coordinate of the bias
    offset: float = 0.0  # B

    def scores(self, distances: NDArray[np.float32]) -> NDArray[np.float32]:
        """The model's scores from the index's distances (which are 1 - <q, e> for dot)."""
        found: NDArray[np.float32] = (
            1 - distances if self.metric == "ip" else np.float32(self.offset) - distances
        )
        return found


def lift(model: Model, entities: Floats) -> Lifted:
    """What to put into an index for this model; an error where no plain metric will do."""
    similarity = model.similarity
    if similarity not in METRICS:
        raise InputError(
            f"{type(model).__name__} ranks by a {similarity} similarity, which depends on the "
            "relation: no single index can serve it. Export the vectors instead "
            "(--format npy or parquet), or answer with hale predict."
        )
    metric, bias = METRICS[similarity], _bias(model)
    if bias is None:
        return Lifted(entities, metric)
    if metric == "ip":
        return Lifted(np.column_stack([entities, bias]), metric, extra=1.0)
    highest = bias.max()
    column = np.sqrt(highest - bias)
    return Lifted(np.column_stack([entities, column]), metric, extra=0.0, offset=float(highest))


def _bias(model: Model) -> Floats | None:
    """The bias of each entity as an answer, where the model has one: (N,)."""
    if model.tail_bias is None:
        return None
    values: Floats = model.tail_bias.weight.detach().float().cpu().numpy().reshape(-1)
    return values


def build(
    lifted: Lifted,
    *,
    connectivity: int = CONNECTIVITY,
    expansion: int = EXPANSION_ADD,
) -> Any:
    """A usearch index whose keys are row numbers, on as many threads as torch uses."""
    index = _usearch()(
        ndim=lifted.vectors.shape[1],
        metric=lifted.metric,
        dtype="f32",
        connectivity=connectivity,
        expansion_add=expansion,
        expansion_search=EXPANSION_SEARCH,
    )
    keys = np.arange(len(lifted.vectors))
    with _as_interrupt():
        index.add(keys, lifted.vectors, threads=torch.get_num_threads())
    return index


@contextmanager
def _as_interrupt() -> Iterator[None]:
    """What usearch makes of Ctrl-C, an error of its own, is Ctrl-C again."""
    try:
        yield
    except RuntimeError as error:
        if "terminated" not in str(error):
            raise
        raise KeyboardInterrupt from None


def write_index(tables: Tables, lifted: Lifted, folder: Path) -> dict[str, Any]:
    """entities.usearch and entities.txt -> what a search has to know of them."""
    _save(build(lifted), folder / FILE)
    write_lines(folder / NAMES, tables.names)
    return {
        "file": FILE,
        "sha256": _digests(folder),
        "metric": lifted.metric,
        "dtype": "f32",
        "connectivity": CONNECTIVITY,
        "expansion_add": EXPANSION_ADD,
        "expansion_search": EXPANSION_SEARCH,
        "extra": lifted.extra,
        "offset": lifted.offset,
    }


def _save(index: Any, path: Path) -> None:
    """Write an index, whole: usearch tells only in part what the disk refuses it."""
    try:
        index.save(str(path))
    except RuntimeError as error:
        raise OSError(errno.EIO, str(error), str(path)) from None
    if path.stat().st_size != index.serialized_length:
        raise OSError(errno.EIO, "some of its bytes are missing", str(path))


@dataclass(frozen=True, repr=False)
class EntityIndex:
    """An index of a run's entities, opened for search."""

    index: Any
    names: tuple[str, ...]
    about: Mapping[str, Any]
    without_loops: tuple[str, ...] = ()  # relations of which no entity answers its own query

    def __repr__(self) -> str:
        return f"EntityIndex({len(self.names):,} entities, {self.about['metric']})"

    def search(
        self, queries: NDArray[np.float32], k: int = 10
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The k nearest entities and their scores, about: (m, d) -> (m, k), (m, k).

        Most of the exact answers, in order; all of them if k or the expansion reaches N. A
        larger k gives N. The index does not know whom a query is about: for a relation in
        ``without_loops`` ask for one more, and leave that entity out. Nor has it the cardinality
        rule: its order is that of the vectors alone.
        """
        vectors = np.atleast_2d(np.asarray(queries, dtype=np.float32))
        dim = self.index.ndim - (self.about["extra"] is not None)
        if vectors.shape[1] != dim:
            raise InputError(f"Query vectors have shape (m, {dim}), got {vectors.shape}.")
        if k < 1:
            raise InputError(f"The number of answers is at least 1, got {k}.")
        found = search(self.index, vectors, min(k, len(self.names)), extra=self.about["extra"])
        lifted = Lifted(vectors, self.about["metric"], offset=self.about["offset"])
        return found[0], lifted.scores(found[1])


def search(
    index: Any, queries: Floats, k: int, *, extra: float | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Rows and distances of the k nearest: (m, d) -> (m, k), (m, k)."""
    if extra is not None:
        queries = np.column_stack([queries, np.full(len(queries), extra, dtype=np.float32)])
    # Who keeps all as candidates, or asks for all, gets all: a walk might not reach some.
    exact = max(k, index.expansion_search) >= len(index)
    with _as_interrupt():
        found = index.search(queries, k, threads=torch.get_num_threads(), exact=exact)
    shape = (len(queries), -1)
    return found.keys.reshape(shape).astype(np.int64), found.distances.reshape(shape)


def open_index(path: str | Path, *, expansion: int | None = None) -> EntityIndex:
    """Open an exported index; it is searched where it lies on disk, once its digest is right.

    A damaged file would end the process that walks it, so its bytes are compared with what the
    export said of them. That is no protection from somebody who made both.
    ``expansion`` is how many candidates a search keeps: more is slower and misses
    less, and as many as there are entities is exact. Without it, that of the export.
    """
    about = read_about(path)
    if about.get("format") != "index":
        raise InputError(f"{path} is an export of format {about.get('format')!r}, not 'index'.")
    folder = Path(path)
    try:
        told = {**about["index"]}
        kept = {"metric": str(told["metric"]), "offset": float(told["offset"])}
        kept["extra"] = None if told["extra"] is None else float(told["extra"])
        expansion = expansion or int(told["expansion_search"])
        without_loops = tuple(map(str, about.get("without_loops", ())))
        digests = dict(told["sha256"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{path}: {ABOUT} does not tell how to search ({error!r}).") from None
    try:
        damaged = digests != _digests(folder)
        index = None if damaged else _usearch().restore(str(folder / FILE), view=True)
        names = (folder / NAMES).read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(f"The index {path} cannot be read: {error}.") from None
    if index is None or len(index) != len(names):
        raise InputError(f"The index {path} is damaged: export it again.")
    index.expansion_search = expansion
    return EntityIndex(index, tuple(names), told | kept, without_loops)


def _digests(folder: Path) -> dict[str, str]:
    """SHA-256 of the files that a search reads."""
    found = {}
    for name in (FILE, NAMES):
        with (folder / name).open("rb") as file:
            found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def _usearch() -> Any:
    try:
        from usearch.index import Index
    except ImportError:
        raise MissingExtraError("An index", "index") from None
    return Index

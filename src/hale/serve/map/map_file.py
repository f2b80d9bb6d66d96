"""A layout kept with the run as map.parquet: a row an entity, in id order."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hale.data.files import write_whole
from hale.data.graph import Graph, Ids
from hale.runs.seal import sealed, unsealed
from hale.serve.map.clusters import Cluster, describe, find_clusters

Floats = NDArray[np.float32]

MAP = "map.parquet"
UNREADABLE = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
ABOUT = "hale"  # the key of what the file says of itself


@dataclass(frozen=True)
class Layout:
    """Where entities are shown (N, 2), in the square from -1 to 1, and in which cluster (N,)."""

    kind: str  # 'pca' or 'tsne'
    xy: Floats
    cluster: Ids  # -1 for none
    clusters: tuple[Cluster, ...]

    @classmethod
    def of(cls, kind: str, xy: Floats, graph: Graph) -> Layout:
        """A layout with its clusters found and named."""
        cluster = find_clusters(xy)
        return cls(kind, xy, cluster, tuple(describe(graph, xy, cluster)))


def write_map(run: Path, graph: Graph, layout: Layout, weights: str) -> None:
    """Keep a layout, made for these weights: entity, x, y, cluster."""
    table = pl.DataFrame(
        {
            "entity": graph.entities.column,
            "x": layout.xy[:, 0],
            "y": layout.xy[:, 1],
            "cluster": layout.cluster.astype(np.int32),
        }
    )
    about = {
        "kind": layout.kind,
        "weights": weights,
        "clusters": [cluster.as_dict() for cluster in layout.clusters],
        "points": _points(table),
    }
    text = json.dumps(sealed(about), ensure_ascii=False)
    write_whole(run / MAP, lambda path: table.write_parquet(path, metadata={ABOUT: text}))


def read_map(run: Path, graph: Graph, weights: str) -> Layout | None:
    """The layout kept with a run; None if there is none of these weights that can be read."""
    path = run / MAP
    if not path.is_file():
        return None
    try:
        about = unsealed(json.loads(pl.read_parquet_metadata(path)[ABOUT]), must=True)
        if about["weights"] != weights:
            return None
        table = pl.read_parquet(path, columns=["x", "y", "cluster"])
        if about["points"] != _points(table):
            return None
        xy = table.select("x", "y").to_numpy().astype(np.float32)
        clusters = tuple(Cluster.from_dict(values) for values in about["clusters"])
        cluster = table["cluster"].to_numpy().astype(np.int64)
    except (OSError, KeyError, ValueError, TypeError, RecursionError, *UNREADABLE):
        return None  # it can be made again
    whole = len(xy) == len(graph.entities) and int(cluster.max(initial=-1)) < len(clusters)
    return Layout(str(about["kind"]), xy, cluster, clusters) if whole else None


def _points(table: pl.DataFrame) -> str:
    """A digest of where entities are and in which cluster: one wrong byte is another layout."""
    digest = hashlib.sha256()
    for name in ("x", "y", "cluster"):
        digest.update(np.ascontiguousarray(table[name].to_numpy()).tobytes())
    return digest.hexdigest()

"""A layout kept with the run as map.parquet: a row an entity, in id order."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hale.data.files import write_text, write_whole
from hale.data.graph import Graph, Ids
from hale.data.sources.trial import Trial
from hale.runs.file_names import MAP, MAP_DIGEST
from hale.serve.map.clusters import Cluster, describe, find_clusters

Floats = NDArray[np.float32]

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
    }
    text = json.dumps(about, ensure_ascii=False)
    write_whole(run / MAP, lambda path: table.write_parquet(path, metadata={ABOUT: text}))
    write_text(run / MAP_DIGEST, hashlib.sha256((run / MAP).read_bytes()).hexdigest() + "\n")


def read_map(run: Path, graph: Graph, weights: str) -> Layout | None:
    """The layout kept with a run; None if there is none of these weights that can be read."""
    path = run / MAP
    if not path.is_file():
        return None
    try:
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != (run / MAP_DIGEST).read_text().strip():
            return None
        with Trial() as trial:  # a reader of Parquet may abort, whatever the digest says
            if trial.fault_of(content) is not None:
                return None
        about = json.loads(pl.read_parquet_metadata(io.BytesIO(content))[ABOUT])
        if about["weights"] != weights:
            return None
        table = pl.read_parquet(io.BytesIO(content), columns=["x", "y", "cluster"])
        xy = table.select("x", "y").to_numpy().astype(np.float32)
        clusters = tuple(Cluster.from_dict(values) for values in about["clusters"])
        cluster = table["cluster"].to_numpy().astype(np.int64)
    except (OSError, KeyError, ValueError, TypeError, RecursionError, *UNREADABLE):
        return None  # it can be made again
    whole = len(xy) == len(graph.entities) and int(cluster.max(initial=-1)) < len(clusters)
    return Layout(str(about["kind"]), xy, cluster, clusters) if whole else None

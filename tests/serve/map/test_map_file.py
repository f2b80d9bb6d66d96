"""A layout kept with the run comes back; one of other weights does not."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hale.data.graph import Graph
from hale.runs.file_names import MAP, MAP_DIGEST
from hale.serve.map.clusters import Cluster, Trait
from hale.serve.map.map_file import Layout, read_map, write_map

ABORTS = Path(__file__).parents[2] / "scripts/corpus/parquet/aborts-its-reader.bin"


@pytest.fixture
def layout(graph: Graph) -> Layout:
    xy = np.random.default_rng(0).uniform(-1, 1, (len(graph.entities), 2)).astype(np.float32)
    cluster = np.arange(len(xy)) % 3 - 1
    traits = (Trait("next", True, "ü <b>", 3, 5),)
    return Layout("tsne", xy, cluster, tuple(Cluster(8, 0.1, 0.2, traits) for _ in range(2)))


def test_there_and_back(tmp_path: Path, graph: Graph, layout: Layout) -> None:
    write_map(tmp_path, graph, layout, "abc")
    found = read_map(tmp_path, graph, "abc")
    assert found is not None
    np.testing.assert_array_equal(found.xy, layout.xy)
    np.testing.assert_array_equal(found.cluster, layout.cluster)
    assert (found.kind, found.clusters) == (layout.kind, layout.clusters)
    table = pl.read_parquet(tmp_path / MAP)  # for others to read
    assert table.columns == ["entity", "x", "y", "cluster"]
    assert table["entity"].to_list() == list(graph.entities.names)


def test_of_other_weights_it_is_none(tmp_path: Path, graph: Graph, layout: Layout) -> None:
    assert read_map(tmp_path, graph, "abc") is None
    write_map(tmp_path, graph, layout, "abc")
    assert read_map(tmp_path, graph, "abd") is None


@pytest.mark.parametrize("text", [b"", b"not parquet", b"PAR1PAR1"])
def test_a_damaged_one_is_none(tmp_path: Path, graph: Graph, text: bytes) -> None:
    (tmp_path / MAP).write_bytes(text)
    assert read_map(tmp_path, graph, "abc") is None


def test_one_of_another_graph_is_none(tmp_path: Path, graph: Graph, layout: Layout) -> None:
    write_map(tmp_path, graph, layout, "abc")
    table = pl.read_parquet(tmp_path / MAP)[1:]
    about = pl.read_parquet_metadata(tmp_path / MAP)["hale"]
    table.write_parquet(tmp_path / MAP, metadata={"hale": about})
    assert read_map(tmp_path, graph, "abc") is None


def test_a_map_that_aborts_its_reader_is_made_again(tmp_path: Path, graph: Graph) -> None:
    """Whoever gives a run away can give the digest of any file with it."""
    data = ABORTS.read_bytes()
    (tmp_path / MAP).write_bytes(data)
    (tmp_path / MAP_DIGEST).write_text(hashlib.sha256(data).hexdigest() + "\n")
    assert read_map(tmp_path, graph, "abc") is None

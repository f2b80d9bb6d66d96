"""Types of entities, by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hale.data.datasets import load
from hale.data.graph import Graph, Vocabulary
from hale.data.revision import revise
from hale.data.sources import read_graph
from hale.data.sources.triples import read_triples
from hale.data.types import Types, types_from_lines, types_from_names
from hale.errors import InputError, SourceError, UnknownNameError

ENTITIES = Vocabulary(["ant", "bee", "cat", "oak"], "entity")
NAMED = pl.DataFrame(
    {
        "entity": ["cat", "bee", "ant", "bee", "yew", "cat", "cat"],
        "type": ["animal", "insect", "insect", "animal", "tree", "animal", "pet"],
    }
)


def test_an_entity_has_several_types_or_none() -> None:
    types = types_from_names(NAMED, ENTITIES)
    assert list(types.names.names) == ["animal", "insect", "pet"], "no one is a tree"
    assert len(types) == 5, "cat is an animal once"
    assert types.entities.tolist() == [0, 1, 1, 2, 2]
    assert types.types.tolist() == [1, 0, 1, 0, 2]
    assert types.of(np.array([1, 3, 2])).tolist() == [0, 1, 2]
    assert types.of(np.array([0])).tolist() == [1]
    assert types.of(np.array([3])).tolist() == []
    assert types.members(np.array([1])).tolist() == [0, 1]
    assert types.members(np.array([0, 2, 1])).tolist() == [0, 1, 2]
    assert types.members(np.array([], dtype=np.int64)).tolist() == []


def test_lines_and_back() -> None:
    types = types_from_names(NAMED, ENTITIES)
    lines = types.lines(ENTITIES)
    assert lines.to_list() == [
        "ant\tinsect",
        "bee\tanimal",
        "bee\tinsect",
        "cat\tanimal",
        "cat\tpet",
    ]
    again = types_from_lines(lines, ENTITIES)
    assert list(again.names.names) == list(types.names.names)
    assert again.entities.tolist() == types.entities.tolist()
    assert again.types.tolist() == types.types.tolist()


def test_types_of_nobody_are_refused() -> None:
    with pytest.raises(InputError, match="'yew', 'elm'"):
        types_from_names(pl.DataFrame({"entity": ["yew", "elm"], "type": ["t", "t"]}), ENTITIES)


FACTS = "cat\tis\tpet\nant\tis\tinsect\nbee\tis\tinsect\ncat\teats\tant\nbee\tsees\tcat\n"


def folder_of(path: Path, types: str | None = None) -> Path:
    path.mkdir()
    (path / "train.tsv").write_text(FACTS)
    (path / "test.tsv").write_text("bee\tis\tpet\n")
    if types is not None:
        (path / "types.tsv").write_text(types)
    return path


def told(graph: Graph) -> list[str]:
    assert graph.types is not None
    return [line.replace("\t", " ") for line in graph.types.lines(graph.entities).to_list()]


@pytest.mark.filterwarnings("ignore::hale.errors.HaleWarning")
def test_a_file_beside_the_splits_is_found(tmp_path: Path) -> None:
    graph = read_graph(folder_of(tmp_path / "g", "entity\ttype\ncat\tmammal\nelk\tmammal\n"))
    assert told(graph) == ["cat mammal"]
    assert read_graph(folder_of(tmp_path / "bare")).types is None
    other = tmp_path / "other.csv"
    other.write_text("ant,small\n")
    assert told(load(tmp_path / "g", types=other)) == ["ant small"]
    facts = pl.read_csv(FACTS.encode(), separator="\t", has_header=False)
    table = pl.DataFrame({"entity": ["cat"], "class": ["mammal"]})
    assert told(load(facts, holdout=0, types=table)) == ["cat mammal"]


@pytest.mark.filterwarnings("ignore::hale.errors.HaleWarning")
def test_a_relation_gives_types_by_its_facts_in_train(tmp_path: Path) -> None:
    """That a bee is a pet is held out."""
    graph = load(folder_of(tmp_path / "g", "cat\tmammal\n"), type_relation="is")
    assert told(graph) == ["ant insect", "bee insect", "cat pet"]
    with pytest.raises(UnknownNameError, match="Did you mean 'is'"):
        load(tmp_path / "g", type_relation="iss")
    with pytest.raises(InputError, match="not from both"):
        load(tmp_path / "g", type_relation="is", types=tmp_path / "g" / "types.tsv")


def test_bad_lines_of_types_are_told(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"types\.tsv, line 2"):
        read_graph(folder_of(tmp_path / "g", "cat\tmammal\ncat\n"))


@pytest.mark.filterwarnings("ignore::hale.errors.HaleWarning")
def test_an_update_keeps_the_types(tmp_path: Path) -> None:
    graph = read_graph(folder_of(tmp_path / "g", "cat\tmammal\n"))
    (tmp_path / "more.tsv").write_text("asp\teats\tcat\n")
    after = revise(graph, read_triples(tmp_path / "more.tsv")).after
    assert len(after.entities) == len(graph.entities) + 1
    assert told(after) == ["cat mammal"]
    assert replace(graph, types=None).types is None
    assert isinstance(graph.types, Types)

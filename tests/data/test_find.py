"""Entities and relations by what a person types."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import hale
from hale.data.find import Found, complete_name, find
from hale.data.graph import Graph, Vocabulary
from hale.errors import InputError, RunError, SourceError, UnknownNameError
from tests.cli.invoke import save_untrained


@pytest.fixture
def people(graph: Graph) -> Graph:
    return Graph(
        "people",
        Vocabulary(["Q1", "Q2", "dog.n.01", "dogma.n.01"], "entity"),
        Vocabulary(["dog_of", "knows"], "relation"),
        *(graph.train[:0] for _ in range(3)),
        labels={"Q1": "Zoë Dog", "Q2": "Bert", "elsewhere": "dog"},
    )


def test_names_and_labels_of_entities_and_relations(people: Graph) -> None:
    assert find(people, "DOG", k=3) == [
        Found("relation", "dog_of", None, "begin"),
        Found("entity", "dog.n.01", None, "begin"),
        Found("entity", "Q1", "Zoë Dog", "word"),
    ]
    assert find(people, "zoe dog") == [Found("entity", "Q1", "Zoë Dog", "exact")]
    assert find(people, "nobody at all") == []


def test_an_entity_is_found_once(graph: Graph) -> None:
    named = Graph(
        "g",
        Vocabulary(["bert"], "entity"),
        graph.relations,
        *(graph.train[:0] for _ in range(3)),
        labels={"bert": "Bert B"},
    )
    assert find(named, "bert") == [Found("entity", "bert", "Bert B", "exact")]


def test_a_folder_says_the_same_as_its_graph(people: Graph, tmp_path: Path) -> None:
    save_untrained(tmp_path / "run", people)
    run = hale.load_run(tmp_path / "run")
    for text in ("dog", "bert", "knws", "Q"):
        assert find(tmp_path / "run", text) == find(people, text) == find(run, text)
    assert find(str(tmp_path / "run"), "bert")[0].name == "Q2"


def test_a_graph_by_its_name_or_path(tmp_path: Path) -> None:
    (tmp_path / "f.tsv").write_text("".join(f"a{i}\tr\tb{i}\n" for i in range(40)))
    assert find(tmp_path / "f.tsv", "B12") == [Found("entity", "b12", None, "exact")]
    assert find("wordnet", "dog")[0].name == "dog.n.01"


def test_a_frame_of_them(people: Graph) -> None:
    frame = find(people, "bert").to_polars()
    assert frame.rows() == [("entity", "Q2", "Bert", "exact")]
    assert find(people, "nobody at all").to_polars().schema == frame.schema
    assert frame.schema["label"] == pl.String


def test_what_cannot_be_asked(people: Graph, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least 1, got 0"):
        find(people, "dog", k=0)
    with pytest.raises(InputError, match="some letters"):
        find(people, " ")
    with pytest.raises(SourceError, match="there is no such file"):
        find(tmp_path / "none", "dog")
    with pytest.raises(RunError, match="is not a run: it has no files of names"):
        complete_name(tmp_path, "entity", "dog")  # no graph is read or fetched between two keys
    (tmp_path / "entities.txt").write_bytes(b"\xff")
    (tmp_path / "relations.txt").write_text("r\n")
    with pytest.raises(RunError, match="cannot be read"):
        find(tmp_path, "dog")


def test_errors_offer_what_is_found(people: Graph) -> None:
    with pytest.raises(UnknownNameError, match=r"Did you mean 'dog.n.01' or 'Q1' \(Zoë Dog\) or"):
        people.entity_id("dog")
    with pytest.raises(UnknownNameError, match="Did you mean 'dog_of'"):
        people.relations.id("dogof")


def test_names_to_complete_a_start(people: Graph, tmp_path: Path) -> None:
    save_untrained(tmp_path / "run", people)
    assert complete_name(tmp_path / "run", "entity", "dog") == ["dog.n.01", "dogma.n.01"]
    assert complete_name(tmp_path / "run", "entity", "Zo") == ["Zoë Dog"]
    assert complete_name(tmp_path / "run", "relation", "k") == ["knows"]
    assert complete_name(tmp_path / "run", "entity", "Dog") == []


def test_no_torch_for_names(people: Graph, tmp_path: Path) -> None:
    save_untrained(tmp_path / "run", people)
    code = f"import sys, hale; assert hale.find({str(tmp_path / 'run')!r}, 'bert'); "
    code += "sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

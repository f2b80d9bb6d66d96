from __future__ import annotations

import lzma
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import hale
from hale.data.datasets import CATALOG, load, locate
from hale.errors import HaleWarning, InputError, SourceError, UnknownNameError


@pytest.fixture(autouse=True)
def no_extra_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HALE_DATA", raising=False)


def test_the_bundled_graph_is_what_the_catalog_says() -> None:
    graph = load("wordnet")
    dataset = CATALOG["wordnet"]
    assert len(graph.entities) == dataset.num_entities == 19_693
    assert len(graph.relations) == dataset.num_relations == 17
    counts = (len(graph.train), len(graph.valid), len(graph.test))
    assert counts == dataset.counts
    assert sum(counts) == 46_625
    assert graph.notes == ()  # nothing repeated, leaked or unseen
    assert graph.label("dog.n.01") == "dog, domestic dog, Canis familiaris"


def test_nothing_in_the_bundled_test_can_be_read_off_train_by_turning_it_round() -> None:
    graph = load("wordnet")
    train = {tuple(triple) for triple in graph.train.tolist()}
    for split in (graph.valid, graph.test):
        assert not any((t, r, h) in train for h, r, t in split.tolist())


def test_the_bundled_graph_is_a_3_core() -> None:
    graph = load("wordnet")
    triples = np.concatenate([graph.train, graph.valid, graph.test])
    degrees = Counter(triples[:, [0, 2]].ravel().tolist())
    assert len(degrees) == len(graph.entities)
    assert min(degrees.values()) >= 3


def test_the_bundled_licence_is_there() -> None:
    place = locate("wordnet")
    assert place is not None
    assert "WordNet" in (place.folder / "LICENSE").read_text()
    text = lzma.decompress((place.folder / "test.txt.xz").read_bytes()).decode()
    assert text.count("\n") == 2_000


def test_names_paths_and_tables(tmp_path: Path) -> None:
    (tmp_path / "g.tsv").write_text("a\tr\tb\nb\tr\ta\na\tr\ta\nb\tr\tb\n")
    assert load(str(tmp_path / "g.tsv"), holdout=0.25).name == "g"
    assert len(load(tmp_path / "g.tsv", holdout=0.25).test) == 1
    assert len(load([("a", "r", "b")], test=[("b", "r", "a")]).test) == 1
    assert hale.load is load


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ("wordnt", UnknownNameError, "Did you mean 'wordnet'"),
        ("nowhere/train.txt", SourceError, "no such file or folder"),
        ("graph.tsv", SourceError, "no such file or folder"),
        ("x" * 300, SourceError, "File name too long"),
        (42, InputError, "a polars or pandas frame or an .* array, got int"),
    ],
)
def test_faults(source: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        load(source)


def test_options_that_do_not_go_together(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="go with tables"):
        load("wordnet", valid=[("a", "r", "b")])


def test_labels_in_any_form_go_with_any_source(tmp_path: Path) -> None:
    (tmp_path / "g.tsv").write_text("a\tr\tb\nb\tr\ta\na\tr\ta\nb\tr\tb\n")
    (tmp_path / "names.tsv").write_text("a\tAnna\n")
    for source in (tmp_path / "g.tsv", [("a", "r", "b")]):
        for labels in (tmp_path / "names.tsv", {"a": "Anna"}, [("a", "Anna")]):
            assert load(source, holdout=0.25, labels=labels).label("a") == "Anna"


def test_notes_are_warned_of(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a\tr\tb\na\tr\tb\n")
    (tmp_path / "test.txt").write_text("a\tr\tb\n")
    with pytest.warns(HaleWarning) as caught:
        graph = load(tmp_path)
    assert [str(warning.message) for warning in caught] == list(graph.notes)
    assert len(graph.notes) == 2

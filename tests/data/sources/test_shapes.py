"""Shapes that files come in: separators, quotes, JSON lines, quads, archives, weights."""

from __future__ import annotations

import bz2
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hale.data.datasets import load
from hale.data.sources import graph_from_tables, read_graph, read_triples
from hale.data.sources import text as text_module
from hale.data.sources.labelled import read_labelled
from hale.data.sources.text import separator_of
from hale.errors import HaleWarning, InputError, SourceError
from tests.line_run import line_run

ABC = [("a", "r", "b"), ("b c", "s", 'd"e"')]
Read = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def rows(tmp_path: Path) -> Read:
    def read(text: str, name: str = "x.txt", **options: Any) -> list[tuple[Any, ...]]:
        (tmp_path / name).write_text(text)
        return read_triples(tmp_path / name, **options).rows.rows()

    return read


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('a;r;b\n"b c";s;"d""e"""\n', "x.csv"),
        ('a;r;b\n"b c";s;"d""e"""\n', "x.txt"),
        ('a\tr\tb\nb c\ts\td"e"\n', "x.tsv"),
        ('"a"\t"r"\t"b"\n"b c"\t"s"\t"d""e"""\n', "x.tsv"),
        ('"head"\t"relation"\t"tail"\n"a"\t"r"\t"b"\nb c\ts\t"d""e"""\n', "x.tsv"),
        ('"a", "r", "b"\n"b c" , "s" , "d""e"""\n'.replace(" ,", ","), "x.csv"),
        ('["a","r","b"]\n["b c","s","d\\"e\\""]\n', "x.jsonl"),
        ('{"o":"b","s":"a","p":"r","n":1}\n{"p":"s","s":"b c","o":"d\\"e\\""}\n', "x.jsonl"),
        ('{"head":"a","relation":"r","tail":"b"}\n\n', "y.ndjson"),
    ],
)
def test_ways_to_write_names_with_quotes(rows: Read, text: str, name: str) -> None:
    assert rows(text, name) == (ABC[:1] if name == "y.ndjson" else ABC)


def test_spaces_part_three_words_a_line(rows: Read) -> None:
    assert rows("a r b\nb   s  c \n") == [("a", "r", "b"), ("b", "s", "c")]
    assert rows("Paris,_Texas in USA\nb s c\n") == [("Paris,_Texas", "in", "USA"), ("b", "s", "c")]
    assert separator_of(["a title of", "a\tr\tb"], "\t,; ", 3) == "\t"
    assert separator_of(["id;name", "1;Paris, France"], ",;\t", 2) == ";"
    with pytest.raises(SourceError, match="line 11: expected 3 columns separated by spaces"):
        rows("a r b\n" * 10 + "a r b c\n")


def test_quotes_in_tabs_are_kept_and_said_unless_the_first_line_is_quoted(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text('head\trelation\ttail\n"a"\tr\tb\nc\tr\t5" disk\n')
    found = read_triples(path)
    assert found.rows.rows() == [('"a"', "r", "b"), ("c", "r", '5" disk')]
    assert "1 line has a field in double quotes, which were kept" in found.notes[-1]


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_quoted_text_reads_as_record_by_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    """By columns, and by the csv module: the same rows, faults and places."""
    sign = "," if suffix == ".csv" else "\t"
    lines = [f'"e {i}"{sign}"r"{sign}"x{sign}""{i}"""' for i in range(40)]
    for extra in ([], [f'"a"{sign}"b"'], [f"a{sign}{sign}c"], [""], [f'a "b" c{sign}r{sign}t']):
        path = tmp_path / f"x{suffix}"
        path.write_text("\n".join([*lines, *extra, *lines]).replace(f"x{sign}", "x "))
        fast = read_triples(path, skip_bad=True)
        with monkeypatch.context() as patch:
            patch.setattr(text_module, "_regular", lambda _: "^never$")
            slow = read_triples(path, skip_bad=True)
        assert fast.rows.rows() == slow.rows.rows()
        assert fast.places.to_list() == slow.places.to_list()
        assert fast.notes == slow.notes
        assert len(fast.rows) in (80, 81)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('["a","r","b"]\n["a","r"]\n', "line 2: expected 3 values, found 2"),
        ('["a","r","b"]\n{"a":1}\n', "line 2: expected an array, as on the first line"),
        ('["a","r","b"]\n["a",["r"],"b"]\n', r'line 2: the relation is \["r"\], which is no name'),
        ('{"s":"a","p":"r","o":"b"}\n{"s":"a","p":"r"}\n', "line 2: the tail is empty"),
        ('{"s":"a","p":"r","o":"b"}\nnonsense\n', "line 2: is not JSON: 'nonsense'"),
        ('{"s":"a","p":"r","o":"\\ud800"}\n', "line 1: the tail "),
        ('[\n{"s":"a"}\n]\n', "is not JSON lines: every line is one object"),
        ("\n   \n ", "is not JSON lines: every line is one object"),
        ('{"subject":"a","object":"b"}\n', "expected 3 columns .*found 2: subject, object"),
    ],
)
def test_json_that_holds_no_triples(rows: Read, text: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        rows(text, "x.jsonl")


def test_json_numbers_are_names_and_one_bad_line_changes_none(rows: Read) -> None:
    text = '{"s":1,"p":"r","o":2.5}\n{"s":true,"p":"r","o":"b"}\n'
    expected = [("1", "r", "2.5"), ("true", "r", "b")]
    assert rows(text, "x.jsonl") == expected
    assert rows(text + "nonsense\n", "x.jsonl", skip_bad=True) == expected


def test_quads_are_one_graph(tmp_path: Path) -> None:
    path = tmp_path / "x.nq"
    path.write_text("<u:a> <u:r> <u:b> <u:g> .\n<u:a> <u:r> <u:c> <u:h> .\n<u:a> <u:r> <u:b> .\n")
    graph = read_graph(path, holdout=0)
    assert len(graph.train) == 2
    assert f"{path}: the statements of 3 graphs were read as one graph" in graph.notes


def test_archives_of_one_file_and_of_splits(tmp_path: Path) -> None:
    packed = bz2.compress(b"a\tr\tb\nb\tr\ta\n")
    with zipfile.ZipFile(tmp_path / "one.zip", "w") as archive:
        archive.writestr("__MACOSX/._facts.txt", "")
        archive.writestr("facts.txt.bz2", packed)
    assert len(read_graph(tmp_path / "one.zip", holdout=0).train) == 2
    with zipfile.ZipFile(tmp_path / "splits.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data/train.txt", "a\tr\tb\nb\tr\ta\n")
        archive.writestr("data/test.txt", "a\tr\ta\n")
        archive.writestr("data/labels.tsv", "a\tAnna\n")
        archive.writestr("README", "words")
    graph = read_graph(tmp_path / "splits.zip")
    assert (len(graph.train), len(graph.valid), len(graph.test)) == (2, 0, 1)
    assert graph.label("a") == "Anna"
    with zipfile.ZipFile(tmp_path / "many.zip", "w") as archive:
        for number in range(25):
            archive.writestr(f"f{number}.txt", "a\tr\tb\n")
    with pytest.raises(SourceError, match=r"25 files.*name one:\n(.*\n)+.*and 5 more"):
        read_graph(tmp_path / "many.zip")
    with pytest.warns(HaleWarning, match="no test split"):
        assert len(load(str(tmp_path / "many.zip" / "f3.txt")).train) == 1
    with pytest.raises(SourceError, match="no such file in"):
        read_graph(tmp_path / "many.zip" / "g.txt")
    (tmp_path / "bad.zip").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(SourceError, match=r"is not a whole \.zip file"):
        read_graph(tmp_path / "bad.zip")


def test_a_note_on_every_split_is_given_once(tmp_path: Path) -> None:
    for split in ("train", "valid"):
        (tmp_path / f"{split}.csv").write_text("s,p,o,when\na,r,b,1\n")
    (note,) = [note for note in read_graph(tmp_path).notes if "left out" in note]
    assert note.count(".csv") == 2
    assert note.endswith("left out the column 'when'")


def test_columns_by_number_among_others(rows: Read) -> None:
    text = "1\ta\tr\tb\n2\tb\ts\tc\n"
    assert rows(text, columns="2,3,4") == [("a", "r", "b"), ("b", "s", "c")]
    with pytest.raises(SourceError, match="found 4: .*--columns 1,2,3"):
        rows(text)
    with pytest.raises(SourceError, match="there is no column 9 for the tail"):
        rows(text, columns="2,3,9")
    with pytest.raises(SourceError, match="no header that has them: '1', 'a', 'r', 'b'"):
        rows(text, columns="x,y,z")
    with pytest.raises(InputError, match="no header to name them"):
        rows(text, columns="x,y,z", header=False)


def test_tables_with_other_names(tmp_path: Path) -> None:
    frame = pl.DataFrame({"thing": ["b"], "verb": ["r"], "person": ["a"], "n": [1]})
    assert read_triples(frame, columns="person,verb,thing").rows.rows() == [("a", "r", "b")]
    with pytest.raises(SourceError, match="found 4: thing, verb, person, n; choose"):
        read_triples(frame)
    by_place = read_triples(frame.drop("n"))
    assert by_place.rows.rows() == [("b", "r", "a")]
    assert "read by their place: head is 'thing', relation is 'verb'" in by_place.notes[0]
    assert read_triples([("a", "r", "b")]).notes == ()


def test_a_column_of_scores_is_no_label(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("head,relation,tail,probability\np0,next,p1,0.9\n")
    assert read_labelled(tmp_path / "x.csv", line_run().graph).labels is None


# -- weights -----------------------------------------------------------------------


def test_weights_by_name_and_number(rows: Read) -> None:
    named = "source,target,type,Confidence\na,b,r,2\nb,c,s,0.25\n"
    expected = [("a", "r", "b", 2.0), ("b", "s", "c", 0.25)]
    assert rows(named, "x.csv", weights="confidence") == expected
    assert rows("a\tr\tb\t2\nb\ts\tc\t1/4\n", weights="4", skip_bad=True) == expected[:1]
    for weights, message in (
        ("weight", "no column 'weight'.*'source', 'target', 'type', 'Confidence'|by name"),
        ("2", "is the tail, not a weight"),
        ("7", "there is no column 7 for the weight"),
    ):
        with pytest.raises(SourceError, match=message):
            rows(named, "x.csv", weights=weights)


@pytest.mark.parametrize("bad", ["0", "-1", "nan", "inf", "x", "1e39", "1e-60", ""])
def test_weights_that_are_none(rows: Read, bad: str) -> None:
    with pytest.raises(SourceError, match="line 2: the weight is (no positive number|empty)"):
        rows(f"a\tr\tb\t1\na\tr\tc\t{bad}\n", weights="4")


def test_weights_of_repeated_facts_are_added(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("s,p,o,weight\nb,r,a,1\na,r,b,0.5\nb,r,a,2\nc,r,a,4\nb,r,a,0.25\n")
    graph = read_graph(path, holdout=0, weights="weight")
    assert graph.weights is not None
    assert graph.weights.dtype == np.float32
    names = graph.entities.names
    heads = [names[head] for head in graph.train[:, 0]]
    assert dict(zip(heads, graph.weights.tolist(), strict=True)) == {"b": 3.25, "a": 0.5, "c": 4.0}
    assert "x.csv: 2 repeated triples dropped, their weights added" in graph.notes
    assert read_graph(path, holdout=0).weights is None
    frame = pl.read_csv(path)
    again = graph_from_tables(frame, holdout=0, weights="weight").weights
    assert again is not None
    assert again.tolist() == graph.weights.tolist()


def test_weights_stay_with_their_facts_when_a_file_is_split(tmp_path: Path) -> None:
    lines = [f"e{i % 20},r,e{(i * 7 + i // 20) % 20},{i + 1}" for i in range(200)]
    (tmp_path / "x.csv").write_text("head,relation,tail,weight\n" + "\n".join(lines))
    whole = read_graph(tmp_path / "x.csv", holdout=0, weights="weight")
    graph = read_graph(tmp_path / "x.csv", holdout=0.2, weights="weight")
    assert len(graph.test) > 0
    assert whole.weights is not None
    assert graph.weights is not None
    known = dict(zip(map(tuple, whole.train.tolist()), whole.weights.tolist(), strict=True))
    assert [known[tuple(row)] for row in graph.train.tolist()] == graph.weights.tolist()


def test_held_out_files_need_no_weights(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("s,p,o,weight\na,r,b,2\nb,r,a,3\n")
    (tmp_path / "test.csv").write_text("s,p,o\na,r,a\n")
    graph = read_graph(tmp_path, weights="weight")
    assert graph.weights is not None
    assert graph.weights.tolist() == [2.0, 3.0]

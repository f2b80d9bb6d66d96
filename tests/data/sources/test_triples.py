"""Triples on their own: files and tables, and all bad lines at once."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from hale.data.sources import read_triples
from hale.data.sources.triples import read_labels
from hale.errors import InputError, SourceError


def test_a_file_and_a_table_give_the_same_rows(tmp_path: Path) -> None:
    (tmp_path / "new.tsv").write_text("a\tr\tb\nb\tr\tc\na\tr\tb\n")
    rows = [("a", "r", "b"), ("b", "r", "c")]
    found = read_triples(tmp_path / "new.tsv")
    assert found.distinct.select(found.rows.columns).rows() == rows
    assert found.distinct["place"].to_list() == [1, 2]
    assert found.source == str(tmp_path / "new.tsv")
    assert read_triples(rows).rows.rows() == rows
    turned = pl.DataFrame({"tail": ["b", "c"], "relation": ["r", "r"], "head": ["a", "b"]})
    assert read_triples(turned).rows.rows() == rows
    turned.write_parquet(tmp_path / "new.parquet")
    assert read_triples(tmp_path / "new.parquet").rows.rows() == rows


def test_columns_and_header(tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("x,y,z\na,b,r\n")
    found = read_triples(tmp_path / "new.csv", columns="htr", header=True)
    assert found.rows.rows() == [("a", "r", "b")]


def test_all_bad_lines_are_told_at_once_or_skipped(tmp_path: Path) -> None:
    path = tmp_path / "new.tsv"
    path.write_text("a\tr\tb\nonly one\n\nc\t\td\nb\tr\tc\n")
    with pytest.raises(SourceError) as caught:
        read_triples(path)
    text = str(caught.value)
    assert "3 bad lines" in text
    for line in (
        "line 2: expected 3 columns separated by tabs, found 1",
        "line 3: is blank",
        "line 4: the relation is empty",
    ):
        assert line in text
    assert "--skip-bad" in text
    found = read_triples(path, skip_bad=True)
    assert found.rows.rows() == [("a", "r", "b"), ("b", "r", "c")]
    assert [note.split(": ")[0].rsplit(", ", 1)[1] for note in found.notes] == [
        "line 2",
        "line 3",
        "line 4",
    ]


def test_many_faults_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "new.tsv"
    path.write_text("a\tr\tb\n" + "x\n" * 50)
    with pytest.raises(SourceError, match="50 bad lines") as caught:
        read_triples(path)
    assert "and 30 more" in str(caught.value)


def test_what_is_neither_a_path_nor_a_table_is_refused() -> None:
    with pytest.raises(InputError, match="got int"):
        read_triples(7)


def test_labels_in_every_form(tmp_path: Path) -> None:
    expected = {"a": "Anna", "b": 'the "b"'}
    (tmp_path / "x.tsv").write_text('a\tAnna\nb\tthe "b"\na\tagain\nc\t\n')
    (tmp_path / "x.csv").write_text('id,name\na,Anna\nb,"the ""b"""\n')
    frame = pl.DataFrame({"label": ["Anna", 'the "b"'], "entity": ["a", "b"]})
    frame.write_parquet(tmp_path / "x.parquet")
    for source in (*(tmp_path / f"x{form}" for form in (".tsv", ".csv", ".parquet")), frame):
        assert read_labels(source) == expected


def test_nothing_but_bad_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("a\nb\n")
    with pytest.raises(SourceError, match=r"x\.tsv: holds no triples"):
        read_triples(path, skip_bad=True)


def test_the_separator_is_that_of_the_first_line_that_has_one(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("a title\na,r,b\n")
    with pytest.raises(SourceError, match="line 1: expected 3 columns separated by commas"):
        read_triples(path)
    assert read_triples(path, skip_bad=True).rows.rows() == [("a", "r", "b")]
    path.write_text("a title\na, the first\tr\tb\n")
    assert read_triples(path, skip_bad=True).rows.rows() == [("a, the first", "r", "b")]


def test_labels_keep_the_order_of_their_file(tmp_path: Path) -> None:
    names = [f"n{i * 7919 % 1000}" for i in range(1000)]
    (tmp_path / "x.tsv").write_text("".join(f"{name}\tx\n" for name in names))
    assert list(read_labels(tmp_path / "x.tsv")) == names

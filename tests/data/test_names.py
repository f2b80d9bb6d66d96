"""Texts in a column that read like a sequence, and which of very many are worth comparing."""

from __future__ import annotations

import tracemalloc

import polars as pl
import pytest

from hale.data import names as names_module
from hale.data.names import Names, column_of, worth_comparing


def test_it_reads_like_a_tuple() -> None:
    given = ("b", "a", "é", "ab")
    names = Names(pl.Series(given))
    assert (len(names), names[0], names[-1]) == (4, "b", "ab")
    assert names[1:3] == ("a", "é")
    assert tuple(names) == given
    assert names == given
    assert given == names
    assert names == list(given)
    assert names == Names(pl.Series(given))
    assert "é" in names
    assert "c" not in names
    assert names.index("ab") == 3
    for other in (("b", "a", "é"), ("b", "a", "é", "x"), Names(pl.Series(["b"])), "bab", 7):
        assert names != other
    with pytest.raises(IndexError):
        names[4]
    with pytest.raises(TypeError, match="unhashable"):
        hash(names)
    assert repr(names) == "Names('b', 'a', 'é', ...; 4 in all)"
    assert repr(names[:2]) == "Names('b', 'a'; 2 in all)"


def test_strings_are_made_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names_module, "PART", 3)
    for count in (0, 2, 3, 7):
        texts = [f"n{i}" for i in range(count)]
        assert list(Names(pl.Series(texts, dtype=pl.String))) == texts


def test_columns_of_texts() -> None:
    series = pl.Series(["a", "b"])
    assert column_of(Names(series)) is series
    assert column_of(pl.Series(["x"]).cast(pl.Categorical)).to_list() == ["x"]
    assert column_of(text for text in ("a", "b")).to_list() == ["a", "b"]
    assert column_of([]).dtype == pl.String
    assert column_of(["a", "\ud800", "b"]).to_list() == ["a", None, "b"]


def test_of_few_all_are_compared_and_of_many_what_looks_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(names_module, "MOST_COMPARED", 6)
    few = pl.Series(["x", "paris"])
    assert worth_comparing("Paris", few) == ("x", "paris")
    # starts like it, ends like it, too long, too short, neither end, capitals
    many = pl.Series(["pariz", "Haris", "paris of the north", "pa", "xaxxx", "PARIX", "london"])
    assert worth_comparing("Paris", many) == ("pariz", "Haris", "PARIX")
    assert worth_comparing("q", many) == ()


def test_the_more_alike_come_first_and_not_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names_module, "MOST_COMPARED", 3)
    monkeypatch.setattr(names_module, "MOST_ALIKE", 2)
    names = pl.Series(["abcdefghij", "abcdefgxyz", "abcdexxxxx", "abcdefghix", "ABCDEFGHI"])
    for enough, expected in (
        (1, ("abcdefghij", "abcdefghix")),  # nine letters of ten, of three names
        (4, ("abcdefghij", "abcdefgxyz")),  # seven
        (5, ("abcdefghij", "abcdefgxyz")),  # five, which all have
    ):
        monkeypatch.setattr(names_module, "ENOUGH", enough)
        assert worth_comparing("abcdefghiy", names) == expected
    monkeypatch.setattr(names_module, "MOST_ALIKE", 9)
    monkeypatch.setattr(names_module, "ENOUGH", 4)
    assert worth_comparing("abcdefghiy", names) == tuple(names[[0, 1, 3, 4]])


def test_comparing_makes_few_strings() -> None:
    column = pl.select(pl.int_range(300_000).cast(pl.String)).to_series() + "_entity"
    tracemalloc.start()
    found = worth_comparing("12345_entitx", column)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "12345_entity" in found
    assert "22345_entity" not in found
    assert peak < 1_000_000  # 300,000 strings of Python are 18 MB

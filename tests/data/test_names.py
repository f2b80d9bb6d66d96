"""Texts in a column that read like a sequence."""

from __future__ import annotations

import polars as pl
import pytest

from hale.data import names as names_module
from hale.data.names import Names, column_of


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

"""Names: the way to ids and back, and what is refused at the door."""

from __future__ import annotations

import tracemalloc

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hale.data import matching, vocabulary
from hale.data.vocabulary import Vocabulary
from hale.errors import InputError, UnknownNameError


def test_names_and_ids() -> None:
    names = Vocabulary(["b", "a", "ab"], "entity")
    assert names.names == ("b", "a", "ab")
    assert [names.id(name) for name in ("b", "a", "ab")] == [0, 1, 2]
    assert names.ids(["ab", "c", "b"]).tolist() == [2, -1, 0]
    assert names.ids(pl.Series(["ab", "ab"])).tolist() == [2, 2]
    assert names.ids([]).tolist() == []
    assert [name in names for name in ("a", "c", "", 1, "\ud800")] == [True, *[False] * 4]
    with pytest.raises(UnknownNameError, match="Unknown entity 'abc'. Did you mean 'ab'"):
        names.id("abc")
    with pytest.raises(UnknownNameError, match=r"'x'\. Choose from: b, a, ab\."):
        names.id("x")


def test_no_names_at_all() -> None:
    nothing = Vocabulary([], "entity")
    assert (len(nothing), nothing.ids(["a"]).tolist()) == (0, [-1])


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1)),
    st.lists(st.text(max_size=2)),
    st.integers(1, 4),
)
def test_ids_against_a_dict(names: list[str], others: list[str], few: int) -> None:
    """Also where several names have the same hash: here one of a few."""
    names = list(dict.fromkeys(names))
    numbers = {name: number for number, name in enumerate(names)}
    asked = [*others, *names, *names[::-1]]
    expected = [numbers.get(name, -1) for name in asked]
    usual = vocabulary._hashes
    try:
        assert Vocabulary(names, "entity").ids(asked).tolist() == expected
        vocabulary._hashes = lambda column: usual(column) % np.uint64(few)
        held = Vocabulary(names, "entity")
        assert held.ids(asked).tolist() == expected
        one_by_one = [held.id(name) if name in held else -1 for name in asked]
        assert one_by_one == expected
    finally:
        vocabulary._hashes = usual


@pytest.mark.parametrize("break_", ["\n", "\r", "\t", "\x85", "\u2028", "\u2029", "\0", "\ud800"])
def test_a_name_stands_on_one_line(break_: str) -> None:
    with pytest.raises(InputError, match="The entity .* holds a tab, a line break") as caught:
        Vocabulary(["fine", f"not{break_}fine", "\0"], "entity")
    assert repr(f"not{break_}fine") in str(caught.value)


def test_what_was_let_in_before_stays() -> None:
    assert Vocabulary(["a\tb", "a"], "entity", any_text=True).id("a\tb") == 0
    with pytest.raises(InputError, match="no text"):
        Vocabulary(["\ud800"], "entity", any_text=True)


def test_names_tell_apart() -> None:
    with pytest.raises(InputError, match="The relation 'b' is named twice"):
        Vocabulary(["c", "b", "a", "a", "b"], "relation")
    with pytest.raises(InputError, match="The relation 'b' is named twice"):
        Vocabulary(["a", "b", "b"], "relation")
    with pytest.raises(InputError, match="The name of entity 1 is blank"):
        Vocabulary(["a", "", ""], "entity")


def test_of_very_many_some_are_suggested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MOST_COMPARED", 2)
    names = Vocabulary(["paris", "london", "rome"], "entity")
    with pytest.raises(UnknownNameError, match="Did you mean 'london'"):
        names.id("londom")
    monkeypatch.setattr(vocabulary, "FEW", 2)
    with pytest.raises(UnknownNameError, match=r"Unknown entity 'xyz'\. No name or label"):
        names.id("xyz")  # of very many, not all are listed


def test_no_string_of_python_for_each_name() -> None:
    count = 300_000
    column = pl.select(pl.int_range(count).cast(pl.String)).to_series() + "_entity"
    tracemalloc.start()
    names = Vocabulary(column, "entity")
    assert np.array_equal(names.ids(column.reverse()), np.arange(count)[::-1])
    assert names.id("7_entity") == 7
    assert names.names == Vocabulary(column, "entity").names
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # arrays of numpy are counted; one string of Python is 60 bytes, and its entry in a dict 50
    assert peak < 90 * count

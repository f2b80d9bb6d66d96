"""Results as lists, as frames and in a notebook."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import polars as pl
import pytest

from hale.data.results import Results, html_table, to_pandas
from hale.errors import MissingExtraError


@dataclass(frozen=True)
class Thing:
    name: str
    label: str | None
    count: int
    share: float | None
    is_so: bool


THINGS = Results(Thing, [Thing("a", None, 1, 0.5, True), Thing("<b>", "B & C", 2, None, False)])


def test_a_list_and_a_frame() -> None:
    assert [Thing("a", None, 1, 0.5, True), Thing("<b>", "B & C", 2, None, False)] == THINGS
    frame = THINGS.to_polars()
    assert frame.rows() == [("a", None, 1, 0.5, True), ("<b>", "B & C", 2, None, False)]
    types = [pl.String, pl.String, pl.Int64, pl.Float64, pl.Boolean]
    assert frame.dtypes == types
    assert Results(Thing).to_polars().dtypes == types


def test_a_frame_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    frame = THINGS.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["count"].tolist() == [1, 2]
    assert frame["name"].tolist() == ["a", "<b>"]
    assert frame["share"].isna().tolist() == [False, True]
    arrays = pl.DataFrame({"v": pl.Series([[1.0, 2.0]], dtype=pl.Array(pl.Float32, 2))})
    assert to_pandas(arrays)["v"][0].tolist() == [1.0, 2.0]


def test_without_pandas_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"hale-kge\[pandas\]"):
        THINGS.to_pandas()


def test_one_line() -> None:
    assert repr(THINGS).startswith("2 x Thing: Thing(name='a'")
    assert repr(THINGS).endswith(", ...")
    assert repr(Results(Thing)) == "no Thing"


def test_html_escapes_and_counts_what_it_leaves_out() -> None:
    shown = THINGS._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown
    assert "B &amp; C" in shown
    assert "<td></td>" in shown  # None
    many = html_table(pl.DataFrame({"x": range(23)}), caption="<i>")
    assert many.count("<td>") == 20
    assert "3 more" in many
    assert "&lt;i&gt;" in many

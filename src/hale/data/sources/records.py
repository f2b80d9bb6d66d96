"""Records: the good rows of a file or table, and what is wrong with the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from hale.data.sources.faults import SHOWN, Fault, Faults
from hale.data.sources.layout import Layout
from hale.data.vocabulary import BREAKS

FREE_TEXT = ("label", "weight")  # columns that are no names, so that they may hold anything


@dataclass(frozen=True)
class Records:
    """The good rows of a file or table, and what is wrong with the others.

    ``rows`` has a column for each role that the file has, its fields stripped, and ``place``, the
    number of the line or row. ``unit`` is what one is called. ``titles`` are the columns of the
    required roles as a user would ask for them, by name or number; ``headed`` says whether there
    were names.
    """

    source: str
    unit: str
    rows: pl.DataFrame
    faults: Faults = field(default_factory=Faults)
    labels: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    headed: bool = True

    def refuse(self, more: Faults | None = None, *, skip_bad: bool = False) -> None:
        """Raise one error for all faults, with those that were found later."""
        faults = self.faults if more is None else self.faults + more
        faults.refuse(self.source, unit=self.unit, skip_bad=skip_bad)


def checked(rows: pl.DataFrame, layout: Layout) -> tuple[pl.DataFrame, Faults]:
    """Fields without surrounding space; those that are no names or weights become faults.

    A byte order mark counts as space: at the start of a file it would be taken for one. A weight
    becomes a number (float32).
    """
    roles = [name for name in rows.columns if name != "place"]
    space = pl.col(roles).str.strip_chars().str.strip_chars("\ufeff").str.strip_chars()
    rows = rows.with_columns(space.fill_null(""))
    wrong = {
        f"the {role} {fault}": is_wrong
        for role in roles
        for fault, is_wrong, holds in (
            ("is empty", pl.col(role) == "", role not in layout.may_be_blank),
            (
                "holds a tab or a line break",
                pl.col(role).str.contains(f"[\0{BREAKS}]"),
                role not in FREE_TEXT,
            ),
            ("is no positive number", ~_positive(pl.col(role)), role == "weight"),
        )
        if holds
    }
    bad = pl.any_horizontal(*wrong.values())
    faults = Faults()
    if rows.select(bad.any()).item():
        marked = rows.filter(bad)
        first = marked.head(SHOWN)
        shown = [
            Fault(
                place, _told(next(what for what, so in zip(wrong, marks, strict=True) if so), row)
            )
            for row, (place, *marks) in zip(
                first.iter_rows(named=True),
                first.select("place", **wrong).iter_rows(),
                strict=True,
            )
        ]
        faults = Faults(shown, len(marked))
        rows = rows.filter(~bad)
    if "weight" in roles:
        rows = rows.with_columns(pl.col("weight").cast(pl.Float32))
    return rows, faults


def _positive(text: pl.Expr) -> pl.Expr:
    """Whether a text is a positive number that float32 can hold."""
    number = text.cast(pl.Float32, strict=False)
    return ((number > 0) & number.is_finite()).fill_null(value=False)


def _told(what: str, row: Mapping[str, object]) -> str:
    return f"{what}: {row['weight']!r}" if what.endswith("number") else what


def typed(rows: pl.DataFrame, dtypes: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """The rows with columns of some types."""
    return rows.with_columns(pl.col(role).cast(dtype) for role, dtype in dtypes.items())

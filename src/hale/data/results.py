"""Results: what a question gives back, as a sequence, as a frame, and in a notebook."""

from __future__ import annotations

import dataclasses
import types
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin

import polars as pl

from hale.errors import MissingExtraError

if TYPE_CHECKING:
    import pandas

T = TypeVar("T")

# Rows that a notebook shows of a table.
MOST_SHOWN = 20
COLUMNS: dict[type, type[pl.DataType]] = {
    int: pl.Int64,
    float: pl.Float64,
    bool: pl.Boolean,
}


class Framed(ABC):
    """Whatever becomes a frame: ``to_polars`` is its own, the rest follows from it."""

    @abstractmethod
    def to_polars(self) -> pl.DataFrame:
        """As a polars frame."""

    def to_pandas(self) -> pandas.DataFrame:
        """As a pandas frame, for which pandas has to be there."""
        return to_pandas(self.to_polars())

    def _repr_html_(self) -> str | None:
        """As a notebook shows it."""
        return html_table(self.to_polars(), caption=repr(self))


class Results(Framed, list[T]):
    """A list of dataclasses of one kind, which is a frame too: their fields are its columns."""

    def __init__(
        self,
        kind: type[T],
        found: Sequence[T] = (),
        *,
        frame: Callable[[Sequence[T]], pl.DataFrame] | None = None,
    ) -> None:
        super().__init__(found)
        self.kind = kind
        self.frame = frame or partial(frame_of_records, kind)

    def to_polars(self) -> pl.DataFrame:
        """As a polars frame, a row for each."""
        return self.frame(self)

    def __repr__(self) -> str:
        name = self.kind.__name__
        if not self:
            return f"no {name}"
        return f"{len(self)} x {name}: {self[0]!r}{', ...' if len(self) > 1 else ''}"


def frame_of_records(kind: type, records: Sequence[Any]) -> pl.DataFrame:
    """Dataclasses of one kind as a frame; columns have their type also where there is no row."""
    hints = typing.get_type_hints(kind)
    fields = [field.name for field in dataclasses.fields(kind)]
    schema = {name: _column(hints[name]) for name in fields}
    rows = {name: [getattr(record, name) for record in records] for name in fields}
    return pl.DataFrame(rows, schema=schema)


def _column(hint: Any) -> type[pl.DataType]:
    parts = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    return next((COLUMNS[part] for part in parts if part in COLUMNS), pl.String)


def to_pandas(frame: pl.DataFrame) -> pandas.DataFrame:
    """A polars frame as one of pandas, column by column: no other package is needed."""
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("A pandas frame", "pandas") from None
    return pandas.DataFrame({column.name: _values(column) for column in frame})


def _values(column: pl.Series) -> Any:
    """Numbers as an array, all else as a list; a row of an array column is an array."""
    if isinstance(column.dtype, pl.Array):
        return list(column.to_numpy())
    plain = column.dtype.is_numeric() or column.dtype == pl.Boolean
    return column.to_numpy() if plain and not column.null_count() else column.to_list()


def html_table(
    frame: pl.DataFrame, *, caption: str, most: int = MOST_SHOWN, aside: str = ""
) -> str:
    """The first rows of a frame as HTML, every text escaped; ``aside`` is HTML below it."""
    head = "".join(f"<th>{escape(name)}</th>" for name in frame.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(_told(value))}</td>" for value in row) + "</tr>"
        for row in frame.head(most).iter_rows()
    )
    rest = f"<p>{len(frame) - most:,} more</p>" if len(frame) > most else ""
    return (
        f"<div><p>{escape(caption)}</p><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table>{rest}{aside}</div>"
    )


def _told(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)

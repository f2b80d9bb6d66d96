"""Names: a column of texts that reads like a sequence of strings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import polars as pl

# Texts that become Python strings at once.
PART = 1 << 16


class Names(Sequence[str]):
    """Texts in a column (Arrow memory); a Python string is made only of the one that is asked for.

    Ten million names are ten million objects otherwise, a gigabyte that nobody reads.
    """

    def __init__(self, column: pl.Series) -> None:
        self.column = column

    def __len__(self) -> int:
        return len(self.column)

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> Names: ...

    def __getitem__(self, place: int | slice) -> str | Names:
        if isinstance(place, slice):
            return Names(self.column[place])
        text: str = self.column[int(place)]
        return text

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), PART):
            yield from self.column[start : start + PART].to_list()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Names):
            return self.column.equals(other.column)
        if isinstance(other, tuple | list):
            return len(self) == len(other) and all(
                one == another for one, another in zip(self, other, strict=True)
            )
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        some = ", ".join(map(repr, self[:3]))
        return f"Names({some}{', ...' if len(self) > 3 else ''}; {len(self):,} in all)"


def column_of(texts: Iterable[str]) -> pl.Series:
    """Texts as a column; one with a lone surrogate, which no file can hold, becomes null."""
    if isinstance(texts, Names):
        return texts.column
    if isinstance(texts, pl.Series):
        return texts.cast(pl.String)
    given = list(texts)
    try:
        return pl.Series(given, dtype=pl.String)
    except UnicodeEncodeError:
        return pl.Series([text if _is_text(text) else None for text in given], dtype=pl.String)


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True

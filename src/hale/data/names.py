"""Names: a column of texts that reads like a sequence of strings, and what in it is like a name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import polars as pl

# Texts that become Python strings at once.
PART = 1 << 16

# Up to so many names are all compared with one that is unknown, which takes a second or two.
MOST_COMPARED = 100_000
# Of more only those that begin or end like it: the share that they have in common, from much to
# little until there are enough to choose from, and at most so many.
SHARES = (0.9, 0.7, 0.5)
ENOUGH, MOST_ALIKE = 100, 10_000


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


def worth_comparing(name: str, column: pl.Series) -> Sequence[str]:
    """The texts that ``name`` may be meant for: all of them, or of very many some.

    A slip of the finger leaves the first or the second half of a name as it is; capitals do not
    count, and what is much longer or shorter is another name.
    """
    if len(column) <= MOST_COMPARED or not _is_text(name):
        return Names(column[:MOST_COMPARED])
    # 2 M / (a + b) >= 0.7, the likeness that a suggestion needs, bounds the other's length b
    letters = column.str.len_chars()
    column = column.filter(letters.is_between(0.7 / 1.3 * len(name), 1.3 / 0.7 * len(name)))
    folded, wanted = column.str.to_lowercase(), name.lower()
    found = column[:0]
    for share in SHARES:
        common = max(1, round(share * len(wanted)))
        alike = folded.str.starts_with(wanted[:common]) | folded.str.ends_with(wanted[-common:])
        found = column.filter(alike)[:MOST_ALIKE]
        if len(found) >= ENOUGH:
            break
    return Names(found)

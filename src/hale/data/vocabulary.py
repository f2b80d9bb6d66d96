"""Vocabulary: names in id order, and the way back from a name to its id."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hale.data.keys import Ids
from hale.data.matching import best_matches
from hale.data.names import Names, column_of
from hale.errors import InputError, UnknownNameError

REMEMBERED = 1 << 16  # names whose ids are kept at hand

# What no name may hold: files of names and triples are parted by these.
BREAKS = "\t\n\r\x85\u2028\u2029"

# Names that an error offers for one that is unknown, and of how many it lists all.
SUGGESTED, FEW = 3, 20


class HashIndex(NamedTuple):
    """The hashes of names in ascending order, and whose each is: (N,), (N,)."""

    hashes: NDArray[np.uint64]
    ids: NDArray[np.uint32]


class Vocabulary:
    """Names in id order, none blank, none twice, each on one line of text.

    They stay in a column: ``names`` is a view of it. The way back is by sorted hashes, made on
    first use: 12 bytes a name, where a dict of strings takes a hundred and more. With ``any_text``
    a name may hold what parts names in other files: it was let in before.
    """

    def __init__(self, names: Iterable[str], kind: str, *, any_text: bool = False) -> None:
        given = names if isinstance(names, pl.Series | Names) else list(names)
        self.column = column_of(given).alias("").rechunk()
        self.kind = kind
        self._check(given, any_text)

    def _check(self, given: Iterable[str], any_text: bool) -> None:
        """Refuse at the door what a run's files could not hold."""
        column = self.column
        wrong = column.is_null()  # no text at all
        if not any_text:
            wrong |= column.str.contains(f"[\0{BREAKS}]").fill_null(value=True)
        if (number := wrong.arg_max()) is not None and wrong[number]:
            name = next(name for place, name in enumerate(given) if place == number)
            raise InputError(
                f"The {self.kind} {name!r} holds a tab, a line break or a character that is no "
                "text; names stand on one line of a file. Rename it."
            )
        blank = column == ""
        if blank.any():
            raise InputError(f"The name of {self.kind} {blank.arg_max()} is blank; give it one.")
        ascending = bool((column[1:] > column[:-1]).all())  # as a graph that was read has them
        if not ascending and column.n_unique() < len(column):
            twice = column.filter(column.is_duplicated())[0]
            raise InputError(f"The {self.kind} {twice!r} is named twice; names tell them apart.")

    @property
    def names(self) -> Names:
        """The names as a sequence; a string is made of each one that is looked at."""
        return Names(self.column)

    @cached_property
    def _index(self) -> HashIndex:
        hashes = _hashes(self.column)
        order = np.argsort(hashes, kind="stable").astype(np.uint32)
        return HashIndex(hashes[order], order)

    def __len__(self) -> int:
        return len(self.column)

    def __getitem__(self, number: int) -> str:
        return self.names[number]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._place(name) >= 0

    def id(self, name: str) -> int:
        """The id of ``name``; an unknown one is an error with the nearest names."""
        found = self._place(name)
        if found < 0:
            meant = best_matches(self.column, name, SUGGESTED)
            names = {self.names[match.place]: None for match in meant}
            raise UnknownNameError(self.kind, name, self.few, meant=names)
        return found

    @property
    def few(self) -> Names:
        """All names where they are few enough to be listed; none otherwise."""
        return self.names if len(self) <= FEW else self.names[:0]

    @cached_property
    def _place(self) -> Callable[[str], int]:
        """The id of one name, -1 if it is unknown; the names asked for last are remembered.

        A call into a column takes a tenth of a millisecond, however few names are looked for; here
        is one, in ``ids`` there are four.
        """
        hashes, ids = self._index

        def look(name: str) -> int:
            (wanted,) = _hashes(column_of([name]))
            at = int(np.searchsorted(hashes, wanted))
            while at < len(ids) and hashes[at] == wanted:  # once, but for names of one hash
                if self.column[int(ids[at])] == name:
                    return int(ids[at])
                at += 1
            return -1

        return lru_cache(REMEMBERED)(look)

    def ids(self, names: Iterable[str]) -> Ids:
        """The ids of names, -1 for those that are unknown: (n,)."""
        wanted = column_of(names)
        found = np.full(len(wanted), -1, dtype=np.int64)
        if not len(self):
            return found
        hashes, place = _hashes(wanted), np.arange(len(wanted))  # of those still looked for
        at = np.searchsorted(self._index.hashes, hashes)
        while len(place):  # once, but where names of one hash stand side by side
            within = at < len(self)
            within[within] = self._index.hashes[at[within]] == hashes[place[within]]
            place, at = place[within], at[within]
            ids = self._index.ids[at]
            same = (self.column.gather(ids) == wanted.gather(place)).fill_null(value=False)
            met = same.to_numpy()
            found[place[met]] = ids[met]
            place, at = place[~met], at[~met] + 1
        return found


class VocabularyOnDisk(Vocabulary):
    """``count`` names that stay in their file until one is asked for: ``read`` reads them."""

    def __init__(self, count: int, kind: str, read: Callable[[], pl.Series]) -> None:
        self.kind = kind
        self._count = count
        self._read = read

    @cached_property
    def column(self) -> pl.Series:  # type: ignore[override]
        """The names, read on first use."""
        return self._read()

    def __len__(self) -> int:
        return self._count


def _hashes(column: pl.Series) -> NDArray[np.uint64]:
    """A hash of each text, the same for the same text as long as the process lives: (n,)."""
    return column.hash().to_numpy()

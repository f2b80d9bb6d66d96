"""Vocabulary: names in id order, and the way back from a name to its id."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from hale.data.keys import Ids
from hale.errors import InputError, UnknownNameError

# What no name may hold: files of names and triples are parted by these.
BREAKS = "\t\n\r\x85\u2028\u2029"
_WRONG = re.compile(f"[\0{BREAKS}\ud800-\udfff]")


class Vocabulary:
    """Names in id order, none blank, none twice, each on one line of text.

    With ``any_text`` a name may hold what parts names in other files: it was let in before.
    """

    def __init__(self, names: Sequence[str], kind: str, *, any_text: bool = False) -> None:
        self.names = tuple(names)
        self.kind = kind
        self._check(any_text)

    def _check(self, any_text: bool) -> None:
        """Refuse at the door what a run's files could not hold."""
        if not any_text and _WRONG.search("".join(self.names)):
            name = next(name for name in self.names if _WRONG.search(name))
            raise InputError(
                f"The {self.kind} {name!r} holds a tab, a line break or a character that is no "
                "text; names stand on one line of a file. Rename it."
            )
        if "" in self._ids:
            raise InputError(f"The name of {self.kind} {self._ids['']} is blank; give it one.")
        if len(self._ids) < len(self.names):
            twice = next(name for i, name in enumerate(self.names) if self._ids[name] != i)
            raise InputError(f"The {self.kind} {twice!r} is named twice; names tell them apart.")

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, number: int) -> str:
        return self.names[number]

    def __contains__(self, name: object) -> bool:
        return name in self._ids

    def id(self, name: str) -> int:
        """The id of ``name``; an unknown one is an error with the nearest names."""
        found = self._ids.get(name)
        if found is None:
            raise UnknownNameError(self.kind, name, self.names)
        return found

    def ids(self, names: Iterable[str]) -> Ids:
        """The ids of names, -1 for those that are unknown: (n,)."""
        known = self._ids
        return np.array([known.get(name, -1) for name in names], dtype=np.int64)

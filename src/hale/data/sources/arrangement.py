"""Arrangement: which column of a file at hand is which, and what its reader should be told."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hale.data.sources.layout import Columns, Layout, Pick
from hale.errors import InputError, SourceError

# Names that a library gives to columns which have none.
NAMELESS = re.compile(r"(column_?|field_?|unnamed: *|_c|v|x)?\d+", re.IGNORECASE)
NAMED = 8  # columns that a message names
MOST_COLUMNS = 1024  # which a table of facts has: a header's names are looked at one by one


@dataclass(frozen=True)
class Asked:
    """What a user said of the columns: which they are, whether a header names them, weights."""

    columns: Columns | None = None
    header: bool | None = None
    weight: Pick | None = None
    weight_required: bool = True

    @property
    def is_anything(self) -> bool:
        """Whether anything was said that a file without columns cannot follow."""
        weighed = self.weight is not None and self.weight_required
        return self.columns is not None or self.header is not None or weighed

    @property
    def names(self) -> list[str]:
        """The columns that are asked for by name."""
        picks: list[Pick | None] = [*(self.columns.picks.values() if self.columns else ())]
        if self.weight_required:
            picks.append(self.weight)
        return [pick for pick in picks if isinstance(pick, str)]


@dataclass(frozen=True)
class Arrangement:
    """The place of each role in a row, if that is known before any row is seen.

    ``width`` is what every row has, ``has_header`` whether the first line is one, and ``titles``
    what columns are called when they are asked for: their names, or their numbers.
    """

    places: Mapping[str, int] | None
    width: int | None
    has_header: bool
    titles: tuple[str, ...]
    notes: tuple[str, ...] = ()


def arrange(first: Sequence[str], source: str, layout: Layout, asked: Asked) -> Arrangement:
    """Arrange text by its first line, which may be a header."""
    _check_width(first, source)
    named = layout.by_header(first)
    called = {_folded(name) for name in first}
    has_header = asked.header
    if has_header is None:
        wanted = bool(asked.names) and all(_folded(name) in called for name in asked.names)
        has_header = named is not None or wanted
    if asked.names and not has_header:
        shown = ", ".join(map(repr, first[:NAMED]))
        wanted_names = ", ".join(map(repr, asked.names))
        raise SourceError(
            f"columns are asked for by name ({wanted_names}), and the first line is no header "
            f"that has them: {shown}; give the numbers of columns, counted from 1",
            source=source,
        )
    notes = []
    if has_header and asked.header is None and asked.columns is None:
        notes.append(f"{source}: the first line was taken for a header{_meaning(first, named)}")
    places = _places(first, source, layout, asked, named if has_header else None)
    if places is None and has_header and not asked.columns:
        notes.append(
            f"{source}: the header's words are not known, so its columns were read by their place "
            f"as {', '.join(layout.required)}; --columns NAME,NAME,NAME names those of "
            "head, relation and tail"
        )
    if places is None or (asked.columns and asked.columns.exact and asked.weight is None):
        titles = tuple(first) if has_header else _numbers(len(first))
        return Arrangement(places, None, has_header, titles, tuple(notes))
    if has_header or asked.columns or asked.weight is not None:
        notes += _left_out(source, first if has_header else _numbers(len(first)), places)
    titles = tuple(first) if has_header else _numbers(len(first))
    return Arrangement(places, len(first), has_header, titles, tuple(notes))


def arrange_table(names: Sequence[str], source: str, layout: Layout, asked: Asked) -> Arrangement:
    """Arrange a table whose columns have names, perhaps given by a library."""
    _check_width(names, source)
    named = layout.by_header(names)
    places = _places(names, source, layout, asked, named)
    notes: list[str] = []
    if places is None:
        if len(names) not in layout.widths:
            due = " or ".join(map(str, layout.widths))
            raise SourceError(
                f"expected {due} columns ({', '.join(layout.required)}), found {len(names)}: "
                f"{', '.join(names[:NAMED])}; choose those of head, relation and tail by their "
                "names with --columns A,B,C (columns='A,B,C')",
                source=source,
            )
        places = layout.by_order(len(names))
        if not all(NAMELESS.fullmatch(name) for name in names):
            notes.append(
                f"{source}: the names of the columns are not known, so they were read by their "
                f"place{_meaning(names, places)}; --columns A,B,C names those of head, relation "
                "and tail"
            )
    notes += _left_out(source, names, places)
    return Arrangement(places, len(names), True, tuple(names), tuple(notes))


def _check_width(names: Sequence[str], source: str) -> None:
    if len(names) > MOST_COLUMNS:
        raise SourceError(
            f"has {len(names):,} columns; a table of facts has {MOST_COLUMNS:,} at most: leave out "
            "those that are not needed",
            source=source,
        )


def _places(
    names: Sequence[str],
    source: str,
    layout: Layout,
    asked: Asked,
    named: dict[str, int] | None,
) -> dict[str, int] | None:
    """The place of each role by choice or by name; None where only the order is left."""
    found = named
    if asked.columns is not None:
        found = {
            role: _place(pick, names, source, role) for role, pick in asked.columns.picks.items()
        }
    if asked.weight is None or not (asked.weight_required or _is_there(asked.weight, names)):
        return found
    weight = _place(asked.weight, names, source, "weight")
    if found is None:
        if weight < len(layout.required):
            raise SourceError(
                f"column {weight + 1} is the {layout.required[weight]}, not a weight; --columns "
                "says which columns are head, relation and tail",
                source=source,
            )
        found = layout.by_order(len(layout.required))
    elif weight in found.values():
        role = next(role for role, place in found.items() if place == weight)
        raise SourceError(f"{asked.weight!r} is the {role}, not a weight", source=source)
    return found | {"weight": weight}


def _place(pick: Pick, names: Sequence[str], source: str, role: str) -> int:
    """The place of a column that was asked for."""
    if isinstance(pick, int):
        if pick >= len(names):
            raise SourceError(
                f"there is no column {pick + 1} for the {role}: the first line has {len(names)}",
                source=source,
            )
        return pick
    exact = [place for place, name in enumerate(names) if name.strip() == pick]
    alike = [place for place, name in enumerate(names) if _folded(name) == _folded(pick)]
    if not exact and not alike:
        raise SourceError(
            f"there is no column {pick!r} for the {role}; there are "
            f"{', '.join(repr(name.strip()) for name in names[:NAMED])}",
            source=source,
        )
    return (exact or alike)[0]


def _is_there(pick: Pick, names: Sequence[str]) -> bool:
    if isinstance(pick, int):
        return pick < len(names)
    return _folded(pick) in map(_folded, names)


def _meaning(names: Sequence[str], places: Mapping[str, int] | None) -> str:
    """Which column is which, where that does not go without saying."""
    if places is None or all(_folded(names[place]) == role for role, place in places.items()):
        return ""
    told = ", ".join(f"{role} is {names[place].strip()!r}" for role, place in places.items())
    return f": {told}"


def _left_out(source: str, names: Sequence[str], places: Mapping[str, int]) -> list[str]:
    others = [name.strip() for place, name in enumerate(names) if place not in places.values()]
    if not others:
        return []
    more = f" and {len(others) - NAMED:,} more" if len(others) > NAMED else ""
    what = "column" if len(others) == 1 else "columns"
    return [f"{source}: left out the {what} {', '.join(map(repr, others[:NAMED]))}{more}"]


def _numbers(count: int) -> tuple[str, ...]:
    return tuple(str(number) for number in range(1, count + 1))


def _folded(name: str) -> str:
    return name.strip().strip("\ufeff").lower()


def check_asked(columns: Columns | None, header: bool | None) -> None:
    """Refuse what contradicts itself before a file is opened."""
    if header is False and columns is not None and columns.by_name:
        raise InputError(
            "Columns are asked for by name, and files are said to have no header to name them: "
            "give an order ('htr') or numbers ('1,2,4')."
        )

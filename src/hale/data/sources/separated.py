"""Separated text -> records: which column is which, and what is wrong with which line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from hale.data.sources.arrangement import Arrangement, Asked, arrange
from hale.data.sources.faults import SHOWN, Fault, Faults
from hale.data.sources.layout import Layout
from hale.data.sources.records import Records, checked, typed
from hale.data.sources.text import WORDS, TextRows


def from_text(
    parts: Iterable[TextRows],
    source: str,
    layout: Layout,
    asked: Asked,
    dtypes: Mapping[str, pl.DataType],
) -> Records:
    """The records of text: its first line is looked at, then rows are taken part by part."""
    good: list[pl.DataFrame] = []
    last: list[pl.DataFrame] = []
    odd: list[tuple[int, list[str]]] = []  # rows of another width
    num_odd = kept = 0
    faults = Faults()
    found: Arrangement | None = None
    width: int | None = None
    places: Mapping[str, int] = {}
    separator = "\t"
    for part in parts:
        rows, separator = part, part.separator
        if found is None:
            found = arrange(rows.first(), source, layout, asked)
            width = found.width
            places = found.places or layout.by_order(layout.widths[0])
            rows = rows.without_first() if found.has_header else rows
        if width is None:  # the first row that fits says it
            widths = rows.widths()
            allowed = widths.filter(widths.is_in(layout.widths))
            if len(allowed):
                width = int(allowed[0])
                places = found.places or layout.by_order(width)
        kept += rows.kept_quotes
        count, first = rows.others(width)
        num_odd += count
        odd += first if len(odd) < SHOWN else []
        named_rows, wrong = checked(rows.columns(places, -1 if width is None else width), layout)
        good.append(typed(named_rows, dtypes))
        faults += wrong
        if width is None:  # then no row, and columns that may turn out to be others
            last = [good.pop()]
    assert found is not None
    due = " or ".join(map(str, [width] if width else layout.widths))
    miscounted = (Fault(place, _miscounted(texts, due, separator)) for place, texts in odd)
    faults += Faults(miscounted, num_odd)
    notes = list(found.notes)
    if kept:
        notes.append(
            f"{source}: {kept:,} {'line has a field' if kept == 1 else 'lines have fields'} in "
            "double quotes, which were kept as part of the names: text parted by tabs counts as "
            "quoted only where every field of its first line stands in quotes"
        )
    return Records(
        source,
        "line",
        pl.concat(good or last, rechunk=True),
        faults,
        notes=tuple(notes),
        titles=tuple(found.titles[places[role]] for role in layout.required if role in places)
        if max(places.values()) < len(found.titles)
        else (),
        headed=found.has_header,
    )


def _miscounted(fields: list[str], due: str, separator: str) -> str:
    if not "".join(fields).strip():
        return "is blank"
    text = separator.join(fields)
    hint = ""
    if len(fields) > 3:
        hint = "; without a header, --columns 1,2,3 says which are head, relation and tail"
    return (
        f"expected {due} columns separated by {WORDS[separator]}, found {len(fields)}: "
        f"{text[:60]!r}{hint}"
    )

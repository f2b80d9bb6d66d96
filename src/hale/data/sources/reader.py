"""The one reader: text, Parquet, RDF and tables of any layout -> rows of names, faults beside.

Graphs, updates, queries, triples to judge, negatives and labels all come through here, so a file
means the same to every command and has the same errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from hale.data.progress import Announce, Progress
from hale.data.sources.compression import format_suffix, read_bytes, read_parts
from hale.data.sources.faults import Fault, refuse
from hale.data.sources.frames import frame_of, is_table
from hale.data.sources.layout import ROLES, Layout, parse_columns
from hale.data.sources.parquet import parquet_frame
from hale.data.sources.rdf import read_rdf
from hale.data.sources.text import TextRows, text_rows
from hale.data.vocabulary import BREAKS
from hale.errors import InputError, SourceError

RDF = (".nt", ".ttl")
FREE_TEXT = ("label",)  # columns that are no names, so that they may hold anything


@dataclass(frozen=True)
class Records:
    """The good rows of a file or table, and what is wrong with the others.

    ``rows`` has a column for each role that the file has, its fields stripped, and ``place``, the
    number of the line or row. ``unit`` is what one is called.
    """

    source: str
    unit: str
    rows: pl.DataFrame
    faults: tuple[Fault, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def refuse(self, more: tuple[Fault, ...] = (), *, skip_bad: bool = False) -> None:
        """Raise one error for all faults, with those that were found later."""
        refuse(self.source, (*self.faults, *more), unit=self.unit, skip_bad=skip_bad)


def read_records(
    source: object,
    layout: Layout,
    *,
    what: str = "the table",
    columns: str | None = None,
    header: bool | None = None,
    dtypes: Mapping[str, pl.DataType] | None = None,
    reading: Announce | None = None,
) -> Records:
    """The rows of a file, by its suffix, or of a table; ``what`` is what an error calls a table.

    ``columns`` is the order of head, relation and tail ('hrt'). ``header`` says whether text
    begins with one; None recognises the usual words, which then give the order. Whatever is wrong
    with a row is kept in ``faults``; only what concerns the whole is an error here.

    Text is read in parts. Columns that ``dtypes`` names get their type part by part, so that
    texts which occur again and again need not be held as often. ``reading`` is called with the
    path of a file; what it returns follows the bytes.
    """
    order = parse_columns(columns)
    if isinstance(source, str | Path):
        path = Path(source)
        progress = reading(str(path)) if reading else None
        found = _read_file(path, progress, layout, order, header, dtypes or {})
    elif is_table(source):
        frame = frame_of(source, what, widths=layout.widths)
        found = _from_frame(frame, what, layout, order)
    else:
        raise InputError(
            f"{layout.many.capitalize()} are read from a path, a polars or pandas frame or an "
            f"(n, {layout.widths[0]}) array, got {type(source).__name__}."
        )
    if found.rows.is_empty() and not found.faults:
        raise SourceError(f"holds no {layout.many}", source=found.source)
    return replace(found, rows=_typed(found.rows, dtypes or {}))


def _read_file(
    path: Path,
    progress: Progress | None,
    layout: Layout,
    order: tuple[str, ...] | None,
    header: bool | None,
    dtypes: Mapping[str, pl.DataType],
) -> Records:
    suffix, source = format_suffix(path), str(path)
    if suffix == ".parquet":
        frame = parquet_frame(read_bytes(path, progress=progress), source)
        return _from_frame(frame, source, layout, order)
    if suffix not in RDF:
        parts = text_rows(read_parts(path, progress=progress), source, suffix=suffix)
        return _from_text(parts, source, layout, order, header, dtypes)
    if order or header is not None:
        raise InputError(f"{path}: RDF has neither columns nor a header to choose.")
    if layout.required != ROLES:
        raise InputError(f"{path}: RDF holds triples, not {layout.many}; give text or Parquet.")
    data = read_bytes(path, progress=progress)
    frame, labels, notes = read_rdf(data, source, suffix=suffix)
    rows, faults = _checked(frame.with_row_index("place", offset=1), layout)
    return Records(source, "statement", rows, faults, labels, notes)


def _from_text(
    parts: Iterable[TextRows],
    source: str,
    layout: Layout,
    order: tuple[str, ...] | None,
    header: bool | None,
    dtypes: Mapping[str, pl.DataType],
) -> Records:
    notes: list[str] = []
    good: list[pl.DataFrame] = []
    last: list[pl.DataFrame] = []
    odd: list[pl.DataFrame] = []  # rows of another width
    faults: list[Fault] = []
    first: list[str] | None = None
    width, places = None, layout.by_order(layout.widths[0], order)  # till a row is seen that fits
    separated_by, fields = "", pl.col("fields")
    for part in parts:
        rows, separated_by = part
        if first is None:
            first = rows["fields"][0].to_list()
            named = layout.by_header(first)
            if header or (header is None and named is not None):
                rows = rows.slice(1)
                if header is None:
                    notes.append(f"{source}: the first line was taken for a header")
                if order is None and named is not None:
                    width, places = len(first), named
                    notes += _left_out(source, first, places)
        if width is None:
            widths = rows.select(fields.list.len()).to_series()
            allowed = widths.filter(widths.is_in(layout.widths))
            if len(allowed):
                width = int(allowed[0])
                places = layout.by_order(width, order)
        fits = fields.list.len() == (-1 if width is None else width)
        odd.append(rows.filter(~fits))
        columns = (fields.list.get(place).alias(role) for role, place in places.items())
        named_rows, wrong = _checked(rows.filter(fits).select("place", *columns), layout)
        good.append(_typed(named_rows, dtypes))
        faults += wrong
        if width is None:  # then no row, and columns that may turn out to be others
            last = [good.pop()]
    due = " or ".join(map(str, [width] if width else layout.widths))
    faults += (
        Fault(place, _miscounted(texts, due, separated_by))
        for place, texts in pl.concat(odd).iter_rows()
    )
    rows = pl.concat(good or last, rechunk=True)
    return Records(source, "line", rows, tuple(faults), notes=tuple(notes))


def _from_frame(
    frame: pl.DataFrame, source: str, layout: Layout, order: tuple[str, ...] | None
) -> Records:
    places = None if order else layout.by_header(frame.columns)
    notes: list[str] = []
    if places is not None:
        notes = _left_out(source, frame.columns, places)
    elif frame.width in layout.widths:
        places = layout.by_order(frame.width, order)
    else:
        due = " or ".join(map(str, layout.widths))
        raise SourceError(
            f"expected {due} columns ({', '.join(layout.required)}), found {frame.width}: "
            f"{', '.join(frame.columns[:8])}",
            source=source,
        )
    try:
        named = frame.select(
            pl.col(frame.columns[place]).cast(pl.String).alias(role)
            for role, place in places.items()
        )
    except pl.exceptions.PolarsError as error:
        raise SourceError(f"holds columns that are not names ({error})", source=source) from None
    rows, faults = _checked(named.with_row_index("place", offset=1), layout)
    return Records(source, "row", rows, faults, notes=tuple(notes))


def _checked(rows: pl.DataFrame, layout: Layout) -> tuple[pl.DataFrame, tuple[Fault, ...]]:
    """Fields without surrounding space; those that are no names become faults.

    A byte order mark counts as space: at the start of a file it would be taken for one.
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
        )
        if holds
    }
    bad = pl.any_horizontal(*wrong.values())
    if not rows.select(bad.any()).item():
        return rows, ()
    faults = [
        Fault(place, next(what for what, is_so in zip(wrong, marks, strict=True) if is_so))
        for place, *marks in rows.filter(bad).select("place", **wrong).iter_rows()
    ]
    return rows.filter(~bad), tuple(faults)


def _typed(rows: pl.DataFrame, dtypes: Mapping[str, pl.DataType]) -> pl.DataFrame:
    return rows.with_columns(pl.col(role).cast(dtype) for role, dtype in dtypes.items())


def _left_out(source: str, names: list[str], places: dict[str, int]) -> list[str]:
    others = [name for i, name in enumerate(names) if i not in places.values()]
    return [f"{source}: left out {', '.join(map(repr, others[:8]))}"] if others else []


def _miscounted(fields: list[str], due: str, separated_by: str) -> str:
    if not "".join(fields).strip():
        return "is blank"
    text = {"tabs": "\t", "commas": ","}[separated_by].join(fields)
    return f"expected {due} columns separated by {separated_by}, found {len(fields)}: {text[:60]!r}"

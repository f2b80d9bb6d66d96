"""The one reader: text, JSON lines, Parquet, RDF and tables -> rows of names, faults beside.

Graphs, updates, queries, triples to judge, negatives and labels all come through here, so a file
means the same to every command and has the same errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import polars as pl

from hale.data.progress import Announce, Progress
from hale.data.room import check_room
from hale.data.sources.archive import is_archive, one_member, opened
from hale.data.sources.arrangement import Asked, arrange_table, check_asked
from hale.data.sources.compression import format_suffix, read_bytes, read_parts
from hale.data.sources.frames import frame_of, is_table
from hale.data.sources.json_lines import SUFFIXES as JSON
from hale.data.sources.json_lines import from_json_lines
from hale.data.sources.layout import ROLES, Layout, parse_columns, parse_pick
from hale.data.sources.parquet import parquet_frame
from hale.data.sources.rdf import SUFFIXES as RDF
from hale.data.sources.rdf import read_rdf
from hale.data.sources.records import Records, checked, typed
from hale.data.sources.separated import from_text
from hale.data.sources.text import decoded, text_rows
from hale.errors import InputError, SourceError


def read_records(
    source: object,
    layout: Layout,
    *,
    what: str = "the table",
    columns: str | None = None,
    header: bool | None = None,
    weights: str | None = None,
    weights_required: bool = True,
    dtypes: Mapping[str, pl.DataType] | None = None,
    reading: Announce | None = None,
) -> Records:
    """The rows of a file, by its suffix, or of a table; ``what`` is what an error calls a table.

    ``columns`` is the order of head, relation and tail ('htr'), or which columns they are, by name
    or number ('person,verb,thing', '1,2,4'). ``header`` says whether text begins with one; None
    recognises the usual words, which then tell the columns. ``weights`` is the column of weights,
    by name or number, which may be lacking unless ``weights_required``. Whatever is wrong with a
    row is kept in ``faults``; only what concerns the whole is an error here.

    Text is read in parts. Columns that ``dtypes`` names get their type part by part, so that
    texts which occur again and again need not be held as often. ``reading`` is called with the
    path of a file; what it returns follows the bytes.
    """
    weight = None if weights is None else parse_pick(weights)
    asked = Asked(parse_columns(columns), header, weight, weights_required)
    check_asked(asked.columns, header)
    if isinstance(source, str | Path):
        path = Path(source)
        path = one_member(path) if is_archive(path) else path
        progress = reading(str(path)) if reading else None
        found = _read_file(path, progress, layout, asked, dtypes or {})
    elif is_table(source):
        widths = range(1, 1 << 16) if asked.columns or weights else layout.widths
        frame = frame_of(source, what, widths=widths)
        found = _from_frame(frame, what, layout, asked)
    else:
        raise InputError(
            f"{layout.many.capitalize()} are read from a path, a polars or pandas frame or an "
            f"(n, {layout.widths[0]}) array, got {type(source).__name__}."
        )
    if found.rows.is_empty() and not found.faults:
        raise SourceError(f"holds no {layout.many}", source=found.source)
    return replace(found, rows=typed(found.rows, dtypes or {}))


def _read_file(
    path: Path,
    progress: Progress | None,
    layout: Layout,
    asked: Asked,
    dtypes: Mapping[str, pl.DataType],
) -> Records:
    suffix, source = format_suffix(path), str(path)
    if suffix == ".parquet":
        frame = parquet_frame(_all_of(path, progress), source)
        return _from_frame(frame, source, layout, asked)
    if suffix in JSON:
        texts = decoded(read_parts(path, progress=progress), source)
        return from_json_lines(texts, source, layout, asked, dtypes)
    if suffix not in RDF:
        parts = read_parts(path, progress=progress)
        lines = text_rows(parts, source, suffix=suffix, least=len(layout.required))
        return from_text(lines, source, layout, asked, dtypes)
    if asked.is_anything:
        raise InputError(f"{path}: RDF has neither columns nor a header nor weights to choose.")
    if layout.required != ROLES:
        raise InputError(f"{path}: RDF holds triples, not {layout.many}; give text or Parquet.")
    data = _all_of(path, progress)
    frame, labels, notes = read_rdf(data, source, suffix=suffix)
    rows, faults = checked(frame.with_row_index("place", offset=1), layout)
    return Records(source, "statement", rows, faults, labels, notes)


def _all_of(path: Path, progress: Progress | None) -> bytes:
    """The bytes of a file that is read as a whole, unless there is no room for them."""
    with suppress(OSError), opened(path) as (_, size, _):  # whoever reads it tells why it cannot
        check_room(path, size)
    return read_bytes(path, progress=progress)


def _from_frame(frame: pl.DataFrame, source: str, layout: Layout, asked: Asked) -> Records:
    found = arrange_table(frame.columns, source, layout, asked)
    assert found.places is not None
    try:
        named = frame.select(
            pl.col(frame.columns[place]).cast(pl.String).alias(role)
            for role, place in found.places.items()
        )
    except pl.exceptions.PolarsError as error:
        raise SourceError(f"holds columns that are not names ({error})", source=source) from None
    rows, faults = checked(named.with_row_index("place", offset=1), layout)
    titles = tuple(found.titles[found.places[role]] for role in layout.required)
    return Records(source, "row", rows, faults, notes=found.notes, titles=titles)

"""Tab- or comma-separated text -> rows."""

from __future__ import annotations

import codecs
import csv
import io

import polars as pl

from hale.data.sources.checks import checked
from hale.data.sources.columns import ROLES, header_roles
from hale.errors import SourceError

SEPARATORS = {".tsv": "\t", ".tab": "\t", ".csv": ","}


def read_text(
    data: bytes,
    source: str,
    *,
    suffix: str = "",
    columns: tuple[str, ...] | None = None,
    header: bool | None = None,
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Three columns of text -> (rows, notes).

    The separator follows the suffix (.tsv, .csv) or else the first line. Comma
    files may quote with double quotes; tab files take every character as it is.
    ``header=None`` takes the first line for a header only if its three fields
    are the usual words (subject, predicate, object and the like).
    """
    text = decoded(data, source)
    separator = SEPARATORS.get(suffix) or _separator(text, source)
    if separator == "," and '"' in text:
        rows = _quoted(text, source)
    else:
        rows = _plain(text, separator, source)

    named = header_roles([rows[name][0] for name in rows.columns[:3]])
    notes: tuple[str, ...] = ()
    if header or (header is None and named is not None):
        rows = rows.slice(1)
        if header is None:
            notes = (f"{source}: the first line was taken for a header",)
        columns = columns or named
    order = dict(zip(rows.columns[:3], columns or ROLES, strict=True))
    return checked(rows.rename(order), source), notes


def decoded(data: bytes, source: str) -> str:
    """UTF-8 bytes -> text with plain line ends; names the line of what is not text."""
    data = data.removeprefix(codecs.BOM_UTF8)
    if not data.strip():
        raise SourceError("is empty", source=source)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if b"\0" in data[:8192]:
            raise SourceError(
                "is a binary file; hale reads text, Parquet (.parquet) and RDF (.nt, .ttl), "
                "each also as .gz, .xz or .zst",
                source=source,
            ) from None
        raise SourceError(
            f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8",
            source=source,
            line=data.count(b"\n", 0, error.start) + 1,
        ) from None
    nul = text.find("\0")
    if nul >= 0:
        raise SourceError(
            "holds a NUL byte, so it is not a text file or is damaged",
            source=source,
            line=text.count("\n", 0, nul) + 1,
        )
    return text.replace("\r\n", "\n")


def _separator(text: str, source: str) -> str:
    first = text.split("\n", 1)[0]
    for separator in ("\t", ","):
        if separator in first:
            return separator
    raise SourceError(
        f"expected three columns separated by tabs or commas, got {first[:60]!r}",
        source=source,
        line=1,
    )


def _plain(text: str, separator: str, source: str) -> pl.DataFrame:
    """One triple a line, no quoting: columns 0, 1, 2 and line."""
    lines = pl.DataFrame({"text": text.rstrip("\n").split("\n")}).with_row_index("line", offset=1)
    counted = lines.with_columns(
        found=pl.col("text").str.count_matches(separator, literal=True) + 1
    )
    wrong = counted.filter(pl.col("found") != 3)
    if not wrong.is_empty():
        line, content, found = wrong.select("line", "text", "found").row(0)
        raise _miscounted(content.split(separator), found, len(wrong), separator, source, line)
    fields = pl.col("text").str.split_exact(separator, 2).struct.rename_fields(["0", "1", "2"])
    return lines.select(fields.alias("fields"), "line").unnest("fields")


def _quoted(text: str, source: str) -> pl.DataFrame:
    """Comma-separated text with quotes: columns 0, 1, 2 and line."""
    reader = csv.reader(io.StringIO(text.rstrip("\n"), newline=""), strict=True)
    records: list[tuple[str, str, str, int]] = []
    start = 1
    try:
        for record in reader:
            if len(record) != 3:
                raise _miscounted(record, len(record), 1, ",", source, start)
            records.append((record[0], record[1], record[2], start))
            start = reader.line_num + 1
    except csv.Error as error:
        raise SourceError(
            f"cannot be read as comma-separated text: {error}", source=source, line=start
        ) from None
    return pl.DataFrame(records, schema=["0", "1", "2", "line"], orient="row")


def _miscounted(
    fields: list[str], found: int, faults: int, separator: str, source: str, line: int
) -> SourceError:
    name = {"\t": "tab", ",": "comma"}[separator]
    if not "".join(fields).strip():
        message = "is blank; every line holds a triple"
    else:
        message = f"expected 3 columns separated by {name}s, found {found}"
    more = f" ({faults - 1} more such lines follow)" if faults > 1 else ""
    return SourceError(message + more, source=source, line=line)

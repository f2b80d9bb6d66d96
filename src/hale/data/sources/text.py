"""Tab- or comma-separated text -> rows of fields."""

from __future__ import annotations

import codecs
import csv
import io
from typing import NamedTuple

import polars as pl

from hale.errors import SourceError

SEPARATORS = {".tsv": "\t", ".tab": "\t", ".csv": ","}
SEPARATORS_IN_ORDER = ("\t", ",")
WORDS = {"\t": "tabs", ",": "commas"}


class TextRows(NamedTuple):
    """Columns ``place``, the line that a row begins on, and ``fields``, a list of texts."""

    rows: pl.DataFrame
    separated_by: str  # 'tabs' or 'commas'


def text_rows(data: bytes, source: str, *, suffix: str = "") -> TextRows:
    """The fields of every line, however many there are.

    The separator follows the suffix (.tsv, .csv) or else the first line that has one. Comma files
    may quote with double quotes; tab files take every character as it is.
    """
    text = decoded(data, source).rstrip("\n")
    separator = SEPARATORS.get(suffix) or _separator(text)
    if separator == "," and '"' in text:
        rows = _quoted(text, source)
    else:
        lines = pl.DataFrame({"text": text.split("\n")})
        fields = pl.col("text").str.split(separator).alias("fields")
        rows = lines.select(fields).with_row_index("place", offset=1)
    return TextRows(rows, WORDS[separator])


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


def _separator(text: str) -> str:
    """That of the first line which has one: a tab before a comma, and tabs where none has."""
    places = [(text.find(separator), separator) for separator in SEPARATORS_IN_ORDER]
    first = min((place for place, _ in places if place >= 0), default=0)
    line = text[text.rfind("\n", 0, first) + 1 :].split("\n", 1)[0]
    return next((separator for separator in SEPARATORS_IN_ORDER if separator in line), "\t")


def _quoted(text: str, source: str) -> pl.DataFrame:
    """Comma-separated text with quotes: a record may run over several lines."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    places: list[int] = []
    fields: list[list[str]] = []
    start = 1
    try:
        for record in reader:
            places.append(start)
            fields.append(record or [""])
            start = reader.line_num + 1
    except csv.Error as error:
        raise SourceError(
            f"cannot be read as comma-separated text: {error}", source=source, line=start
        ) from None
    numbers = pl.Series("place", places, dtype=pl.UInt32)
    if len({len(record) for record in fields}) == 1:  # by columns: half the memory of lists
        columns = pl.DataFrame(
            {str(i): column for i, column in enumerate(zip(*fields, strict=True))}
        )
        joined = columns.select(pl.concat_list(pl.all()).alias("fields"))
        return joined.with_columns(numbers).select("place", "fields")
    return pl.DataFrame([numbers, pl.Series("fields", fields, dtype=pl.List(pl.String))])

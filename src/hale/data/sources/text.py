"""Tab- or comma-separated text -> rows of fields."""

from __future__ import annotations

import codecs
import csv
import io
from typing import NamedTuple

import polars as pl

from hale.errors import SourceError

SEPARATORS = {".tsv": "\t", ".tab": "\t", ".csv": ","}
WORDS = {"\t": "tabs", ",": "commas"}


class TextRows(NamedTuple):
    """Columns ``place``, the line that a row begins on, and ``fields``, a list of texts."""

    rows: pl.DataFrame
    separated_by: str  # 'tabs' or 'commas'


def text_rows(data: bytes, source: str, *, suffix: str = "") -> TextRows:
    """The fields of every line, however many there are.

    The separator follows the suffix (.tsv, .csv) or else the first line. Comma files may quote
    with double quotes; tab files take every character as it is.
    """
    text = decoded(data, source).rstrip("\n")
    separator = SEPARATORS.get(suffix) or _separator(text, source)
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


def _separator(text: str, source: str) -> str:
    first = text.split("\n", 1)[0]
    for separator in ("\t", ","):
        if separator in first:
            return separator
    raise SourceError(
        f"expected columns separated by tabs or commas, got {first[:60]!r}",
        source=source,
        line=1,
    )


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
    return pl.DataFrame(
        {"place": places, "fields": fields},
        schema={"place": pl.UInt32, "fields": pl.List(pl.String)},
    )

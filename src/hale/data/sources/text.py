"""Tab- or comma-separated text -> rows of fields, part by part."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

import polars as pl

from hale.data.lines import lines_in, whole_lines
from hale.errors import SourceError

SEPARATORS = {".tsv": "\t", ".tab": "\t", ".csv": ","}
SEPARATORS_IN_ORDER = ("\t", ",")
WORDS = {"\t": "tabs", ",": "commas"}

# Quoted records that are looked at together.
PART_RECORDS = 1 << 16


class TextRows(NamedTuple):
    """Columns ``place``, the line that a row begins on, and ``fields``, a list of texts."""

    rows: pl.DataFrame
    separated_by: str  # 'tabs' or 'commas', as far as was seen


def text_rows(parts: Iterable[bytes], source: str, *, suffix: str = "") -> Iterator[TextRows]:
    """The fields of every line, however many there are.

    The separator follows the suffix (.tsv, .csv) or else the first line that has one. Comma files
    may quote with double quotes; tab files take every character as it is.
    """
    separator = SEPARATORS.get(suffix)
    texts = decoded(parts, source)
    place = 1
    for text in texts:
        separator = separator or _separator(text)
        if separator == "," and '"' in text:  # from here on a record may run into the next part
            for rows in _quoted(chain([text], texts), source, place):
                yield TextRows(rows, WORDS[separator])
            return
        fields = lines_in(text).str.split(separator or "\t").alias("fields")
        yield TextRows(
            fields.to_frame().with_row_index("place", offset=place), WORDS[separator or "\t"]
        )
        place += len(fields)


def decoded(parts: Iterable[bytes], source: str) -> Iterator[str]:
    """UTF-8 bytes -> texts of whole lines with plain ends; names the line of what is not text."""
    lines = 0  # before the part
    binary, empty = False, True
    for number, part in enumerate(whole_lines(parts)):
        data = part
        if number == 0:
            data = part.removeprefix(codecs.BOM_UTF8)
            binary = b"\0" in data[:8192]
        empty = empty and not data.strip()
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            if binary:
                raise SourceError(
                    "is a binary file; hale reads text, Parquet (.parquet) and RDF (.nt, .ttl), "
                    "each also as .gz, .xz or .zst",
                    source=source,
                ) from None
            raise SourceError(
                f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8",
                source=source,
                line=lines + data.count(b"\n", 0, error.start) + 1,
            ) from None
        nul = text.find("\0")
        if nul >= 0:
            raise SourceError(
                "holds a NUL byte, so it is not a text file or is damaged",
                source=source,
                line=lines + text.count("\n", 0, nul) + 1,
            )
        lines += text.count("\n") + 1
        yield text
    if empty:
        raise SourceError("is empty", source=source)


def _separator(text: str) -> str | None:
    """That of the first line which has one: a tab before a comma."""
    places = [(text.find(separator), separator) for separator in SEPARATORS_IN_ORDER]
    first = min((place for place, _ in places if place >= 0), default=0)
    line = text[text.rfind("\n", 0, first) + 1 :].split("\n", 1)[0]
    return next((separator for separator in SEPARATORS_IN_ORDER if separator in line), None)


def _quoted(texts: Iterable[str], source: str, place: int) -> Iterator[pl.DataFrame]:
    """Comma-separated text with quotes: a record may run over several lines."""
    lines = chain.from_iterable(io.StringIO(text + "\n", newline="") for text in texts)
    reader = csv.reader(lines, strict=True)
    start = place

    def records() -> Iterator[tuple[int, list[str]]]:
        nonlocal start
        for record in reader:
            yield start, record or [""]
            start = place + reader.line_num

    numbered = records()
    try:
        while part := list(islice(numbered, PART_RECORDS)):
            yield _frame([number for number, _ in part], [record for _, record in part])
    except csv.Error as error:
        raise SourceError(
            f"cannot be read as comma-separated text: {error}", source=source, line=start
        ) from None


def _frame(places: list[int], fields: list[list[str]]) -> pl.DataFrame:
    numbers = pl.Series("place", places, dtype=pl.UInt32)
    if len({len(record) for record in fields}) == 1:  # by columns: half the memory of lists
        columns = pl.DataFrame(
            {str(i): column for i, column in enumerate(zip(*fields, strict=True))}
        )
        joined = columns.select(pl.concat_list(pl.all()).alias("fields"))
        return joined.with_columns(numbers).select("place", "fields")
    return pl.DataFrame([numbers, pl.Series("fields", fields, dtype=pl.List(pl.String))])

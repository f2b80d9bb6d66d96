"""Separated text -> rows of fields, part by part.

Fields are parted by tabs, commas, semicolons or spaces. Double quotes round a field belong to the
format where commas or semicolons part, and a quote within is doubled there. Where tabs part, quotes
belong to the names, as hale writes them, unless every field of the first line stands in quotes.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, islice

import polars as pl

from hale.data.lines import lines_in, whole_lines
from hale.data.sources.faults import SHOWN
from hale.errors import SourceError

# What may part the fields, by the suffix of a file's name; the order counts.
SEPARATORS = {".tsv": "\t", ".tab": "\t", ".csv": ",;\t"}
ANY = "\t,; "
WORDS = {"\t": "tabs", ",": "commas", ";": "semicolons", " ": "spaces"}

# Quoted records that are looked at together.
PART_RECORDS = 1 << 16
# Lines by which the separator is told, and how many are looked at until one has any.
TELLING, MOST_LINES = 10, 1000


@dataclass(frozen=True)
class TextRows:
    """Rows of a part: the line that each begins on, and its fields.

    ``fields`` is a list of texts for each row or, where all have as many, a column for each.
    """

    places: pl.Series
    fields: pl.Series | tuple[pl.Series, ...]
    separator: str
    kept_quotes: int = 0  # rows with fields that stand in quotes, where these belong to names

    def __len__(self) -> int:
        return len(self.places)

    def first(self) -> list[str]:
        """The fields of the first row."""
        return self._lists(pl.Series([0], dtype=pl.UInt32))[0]

    def without_first(self) -> TextRows:
        """The rows after the first."""
        rest = (
            tuple(column[1:] for column in self.fields)
            if isinstance(self.fields, tuple)
            else self.fields[1:]
        )
        return replace(self, places=self.places[1:], fields=rest)

    def widths(self) -> pl.Series:
        """How many fields each row has."""
        if isinstance(self.fields, tuple):
            return pl.select(pl.repeat(len(self.fields), len(self), dtype=pl.UInt32)).to_series()
        return self.fields.list.len()

    def columns(self, places: Mapping[str, int], width: int) -> pl.DataFrame:
        """``place`` and the columns at some places, of the rows that have ``width`` fields."""
        if isinstance(self.fields, tuple):
            fits = len(self.fields) == width
            rows = self.places if fits else self.places[:0]
            columns = {
                role: self.fields[place] if fits else pl.Series([], dtype=pl.String)
                for role, place in places.items()
            }
            return pl.DataFrame({"place": rows, **columns})
        frame = pl.DataFrame({"place": self.places, "fields": self.fields})
        fields = pl.col("fields")
        return frame.filter(fields.list.len() == width).select(
            "place", *(fields.list.get(place).alias(role) for role, place in places.items())
        )

    def others(self, width: int | None) -> tuple[int, list[tuple[int, list[str]]]]:
        """How many rows have another width, and the first of them with their places."""
        if width is None:
            odd = pl.Series(range(len(self)), dtype=pl.UInt32)
        else:
            odd = (self.widths() != width).arg_true()
        some = odd[:SHOWN]
        return len(odd), list(zip(self.places.gather(some), self._lists(some), strict=True))

    def _lists(self, rows: pl.Series) -> list[list[str]]:
        if isinstance(self.fields, tuple):
            return [
                list(row)
                for row in zip(*(column.gather(rows) for column in self.fields), strict=True)
            ]
        return self.fields.gather(rows).to_list()


def text_rows(
    parts: Iterable[bytes], source: str, *, suffix: str = "", least: int = 3
) -> Iterator[TextRows]:
    """The fields of every line, however many there are; ``least`` is how many a row should have.

    The separator follows the suffix and the first lines (``separator_of``). Tables of two columns
    that tabs part, as hale writes labels without a header, are never taken as quoted.
    """
    waiting = decoded(parts, source)
    begin, lines = _beginning(waiting)
    separator = separator_of(lines, SEPARATORS.get(suffix, ANY), least)
    texts = chain(begin, waiting)
    quotes = separator in ",;" or (
        separator == "\t" and least > 2 and _all_quoted(next(iter(lines), "").split("\t"))
    )
    place = 1
    for text in texts:
        lines_here = lines_in(text)
        count, kept = len(lines_here), 0
        if quotes and '"' in text:
            if not lines_here.str.contains(_regular(separator)).all():
                # from here on a record may run into the next part
                yield from _records(chain([text], texts), source, place, separator)
                return
            yield from _quoted_lines(text, source, place, separator, count)
            place += count
            continue
        if separator == " ":
            lines_here = lines_here.str.replace_all(" +", " ").str.strip_chars(" ")
        elif separator == "\t" and '"' in text:
            kept = int(lines_here.str.contains(r'(?:^|\t)"[^\t]*"(?:\t|$)').sum())
        yield TextRows(_places(place, count), lines_here.str.split(separator), separator, kept)
        place += count


def decoded(parts: Iterable[bytes], source: str) -> Iterator[str]:
    """UTF-8 bytes -> texts of whole lines with plain ends; names the line of what is not text."""
    lines = 0  # before the part
    binary, empty = False, True
    for number, part in enumerate(whole_lines(parts, source)):
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
                    "is a binary file; hale reads text, JSON lines (.jsonl), Parquet (.parquet) "
                    "and RDF (.nt, .nq, .ttl), each also as .gz, .bz2, .xz or .zst, or in a .zip",
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


def separator_of(lines: list[str], candidates: str, least: int) -> str:
    """What parts the fields of some lines that are not blank, the first of a file.

    That which cuts the first ten lines into equally many fields, at least ``least``; spaces where
    they cut them into ``least`` exactly. Else that which cuts the first line it is in, best into
    ``least`` or more; a tab before a comma before a semicolon.
    """
    if len(candidates) == 1:
        return candidates
    signs = [sign for sign in candidates if sign != " "]
    telling = lines[:TELLING]
    for sign in signs:
        counts = {_num_fields(line, sign) for line in telling}
        if len(counts) == 1 and min(counts) >= least:
            return sign
    in_spaces = all("\t" not in line and len(line.split()) == least for line in telling)
    if " " in candidates and telling and in_spaces:
        return " "
    for line in lines:
        counted = {sign: _num_fields(line, sign) for sign in signs}
        if max(counted.values()) > 1:
            enough = [sign for sign in signs if counted[sign] >= least]
            return (enough or [sign for sign in signs if counted[sign] > 1])[0]
    return "\t" if "\t" in candidates[0] else candidates[0]


def _beginning(texts: Iterator[str]) -> tuple[list[str], list[str]]:
    """The first texts, and those of their first lines that are not blank."""
    found: list[str] = []
    lines: list[str] = []
    for text in texts:
        found.append(text)
        lines += [line for line in text.split("\n", MOST_LINES)[:MOST_LINES] if line.strip()]
        if len(lines) >= MOST_LINES:
            break
    return found, lines[:MOST_LINES]


def _num_fields(line: str, separator: str) -> int:
    if separator == "\t" or '"' not in line:
        return line.count(separator) + 1
    try:
        return len(next(csv.reader([line], delimiter=separator, skipinitialspace=True)))
    except csv.Error:
        return line.count(separator) + 1


def _all_quoted(fields: list[str]) -> bool:
    return all(len(text) > 1 and text[0] == text[-1] == '"' for text in map(str.strip, fields))


@cache
def _regular(separator: str) -> str:
    """A pattern of lines that are whole records: quotes round whole fields, doubled within."""
    sign = re.escape(separator)
    field = f'(?:"(?:[^"]|"")*"|[^"{sign}]*)'
    return f"^{field}(?:{sign}{field})*$"


def _quoted_lines(
    text: str, source: str, place: int, separator: str, count: int
) -> Iterator[TextRows]:
    """Lines that are whole records, by columns where all have as many fields and none is empty."""
    try:
        frame = pl.read_csv(
            text.encode(), has_header=False, separator=separator, infer_schema=False
        )
    except pl.exceptions.PolarsError:  # rows of several widths
        frame = pl.DataFrame()
    if len(frame) == count and not any(frame.null_count().row(0)):
        yield TextRows(_places(place, count), tuple(frame.get_columns()), separator)
    else:  # an empty field and a missing one are told apart
        yield from _records([text], source, place, separator)


def _records(texts: Iterable[str], source: str, place: int, separator: str) -> Iterator[TextRows]:
    """Text with quotes, record by record: one may run over several lines."""
    lines = chain.from_iterable(io.StringIO(text + "\n", newline="") for text in texts)
    reader = csv.reader(lines, delimiter=separator, strict=True, skipinitialspace=True)
    start = place

    def records() -> Iterator[tuple[int, list[str]]]:
        nonlocal start
        for record in reader:
            yield start, record or [""]
            start = place + reader.line_num

    numbered = records()
    try:
        while part := list(islice(numbered, PART_RECORDS)):
            places = pl.Series("place", [number for number, _ in part], dtype=pl.UInt32)
            fields = _fields([record for _, record in part])
            yield TextRows(places, fields, separator)
    except csv.Error as error:
        kind = WORDS[separator].removesuffix("s")
        raise SourceError(
            f"cannot be read as {kind}-separated text: {error}", source=source, line=start
        ) from None


def _fields(records: list[list[str]]) -> pl.Series | tuple[pl.Series, ...]:
    if len({len(record) for record in records}) == 1:  # by columns: half the memory of lists
        columns = zip(*records, strict=True)
        return tuple(pl.Series(str(i), column, dtype=pl.String) for i, column in enumerate(columns))
    return pl.Series("fields", records, dtype=pl.List(pl.String))


def _places(first: int, count: int) -> pl.Series:
    return pl.select(pl.int_range(first, first + count, dtype=pl.UInt32).alias("place")).to_series()

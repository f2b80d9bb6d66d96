"""A table written as it comes: CSV, TSV or Parquet, whole under its name or not there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import polars as pl

from hale.data.files import (
    aside,
    check_writable,
    followed,
    make_folder,
    put_in_place,
    sweep_aside,
    writing_to,
)
from hale.data.vocabulary import BREAKS
from hale.errors import InputError, UnknownNameError
from hale.export.formulas import without_formulas

TEXT = (".csv", ".tsv")
SUFFIXES = (*TEXT, ".parquet")


def write_table(
    table: pl.DataFrame, file: IO[bytes], suffix: str, *, include_header: bool = True
) -> None:
    """A table as text that hale's own reader takes back: commas quote, tabs never do.

    Names hold neither tabs nor line breaks; in other texts they become spaces.
    """
    if suffix == ".csv":
        table.write_csv(file, include_header=include_header)
        return
    plain = table.with_columns(
        pl.col(pl.String).str.replace_all(f"[\0{BREAKS}]+", " ").str.strip_chars()
    )
    plain.write_csv(file, separator="\t", include_header=include_header, quote_style="never")


class TableFile:
    """A file that tables with the same columns are added to, one or more.

    Text is appended to a file beside the target. Parquet has its index at the
    end, so parts go to a folder beside the target, which are read piece by piece
    and written as one at the end.
    """

    def __init__(self, path: Path, *, csv_safe: bool = False) -> None:
        self.path = path
        self.csv_safe = csv_safe
        self.rows = 0
        self._waiting, self._parts = aside(path), aside(path, "parts")
        self._count = 0

    def add(self, table: pl.DataFrame) -> None:
        """Write the rows of one more table."""
        if self.path.suffix in TEXT:
            with self._waiting.open("ab") as file:
                shown = without_formulas(table) if self.csv_safe else table
                first = self._count == 0
                write_table(shown, file, self.path.suffix, include_header=first)
        else:
            table.write_parquet(self._parts / f"{self._count:08}.parquet")
        self._count += 1
        self.rows += len(table)

    def begin(self) -> None:
        """Make the places beside the target; what a kill left there goes."""
        make_folder(self.path.parent)
        sweep_aside(self.path)
        self.discard()
        if self.path.suffix in TEXT:
            self._waiting.touch()
        else:
            self._parts.mkdir()

    def finish(self) -> None:
        """Put what was added under the file's name, in place of what is there."""
        if self.path.suffix not in TEXT:
            parts = sorted(self._parts.iterdir())
            pl.scan_parquet(parts, glob=False).sink_parquet(self._waiting)
        put_in_place(self._waiting, self.path)
        self.discard()

    def discard(self) -> None:
        """Remove what stands beside the target."""
        self._waiting.unlink(missing_ok=True)
        shutil.rmtree(self._parts, ignore_errors=True)


def check_table_path(path: Path) -> None:
    """Refuse a file name that tells no format, and one that cannot be written."""
    if path.suffix not in SUFFIXES:
        raise UnknownNameError(f"format of {path}:", path.suffix or "none", SUFFIXES)
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file.")
    check_writable(path)


@contextmanager
def table_file(path: str | Path, *, csv_safe: bool = False) -> Iterator[TableFile]:
    """A TableFile for the time of the context; on an error nothing is left of it.

    ``csv_safe``: text that a spreadsheet would compute is written as text (CSV and TSV).
    """
    check_table_path(Path(path))
    file = TableFile(followed(Path(path)), csv_safe=csv_safe)
    with writing_to(file.path):
        file.begin()
        try:
            yield file
            file.finish()
        finally:
            file.discard()

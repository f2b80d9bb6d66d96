"""Lines of text files as columns, read and written in parts: no Python string for each line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import polars as pl

from hale.data.files import write_whole
from hale.errors import SourceError

# Bytes of a file that are looked at together.
PART_BYTES = 1 << 22
# Lines that are written together.
PART_LINES = 1 << 16
# Bytes of a line that is read: names have 64 kB at most.
LONGEST_LINE = 1 << 23


def lines_in(text: str) -> pl.Series:
    """The lines of a text, as a split at every line feed has them."""
    return pl.Series("text", [text], dtype=pl.String).str.split("\n").explode()


def whole_lines(parts: Iterable[bytes], source: str | None = None) -> Iterator[bytes]:
    """Bytes in parts, cut anew at line ends, which become line feeds; at the end of a part none.

    Ends at the end of everything, however many, make no lines. A line without an end in sight is an
    error that names the ``source``, before memory is filled with it.
    """
    rest: list[bytes] = []  # of a line, perhaps many, that is not over
    for part in parts:
        cut = part.rfind(b"\n") + 1
        if not cut:
            rest.append(part)
            if source is not None and sum(map(len, rest)) > LONGEST_LINE:
                raise SourceError(
                    f"holds a line of more than {LONGEST_LINE >> 20} MB, which no fact is",
                    source=source,
                )
            continue
        done = b"".join([*rest, part[:cut]]).replace(b"\r\n", b"\n")
        lines = done.rstrip(b"\n")
        rest = [done, part[cut:]]
        if lines:
            yield lines
            rest = [done[len(lines) + 1 :], part[cut:]]
    last = b"".join(rest).rstrip(b"\n")
    if last:
        yield last


def parts_of(path: Path) -> Iterator[bytes]:
    """The bytes of a file in parts."""
    with path.open("rb") as file:
        while part := file.read(PART_BYTES):
            yield part


def read_lines(path: Path) -> pl.Series:
    """The lines of a UTF-8 file; an empty file has one, which is empty."""
    found = [lines_in(part.decode()) for part in whole_lines(parts_of(path))]
    return pl.concat(found).rechunk() if found else lines_in("")


def write_lines(target: Path, lines: pl.Series) -> None:
    """A UTF-8 file with each text on a line of its own, whole or not at all."""
    write_whole(target, partial(_write, lines))


def _write(lines: pl.Series, path: Path) -> None:
    with path.open("wb") as file:
        for start in range(0, len(lines), PART_LINES):
            text: str = lines[start : start + PART_LINES].str.join("\n").item()
            file.write(text.encode())
            file.write(b"\n")

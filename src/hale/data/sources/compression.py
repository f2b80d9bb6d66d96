"""A path -> its bytes, unpacked by the last suffix of its name, in parts or whole.

A file in a zip archive has a path below the archive's own (see archive). What unpacks to far more
than a graph's text does is refused while it is unpacked: a few kilobytes can stand for a terabyte.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import zstandard

from hale.data.lines import PART_BYTES
from hale.data.progress import Progress
from hale.data.sources.archive import opened
from hale.errors import SourceError

# Text of a graph is some five to fifty times as long as it is packed.
MOST_TIMES = 200
FREE_BYTES = 1 << 30  # whatever the ratio
SIP = 1 << 12  # bytes of zstd at once: each may stand for 32,000


def _plain(file: IO[bytes] | gzip.GzipFile | bz2.BZ2File, size: int) -> Iterator[bytes]:
    while part := file.read(size):
        yield part


def _gunzip(file: IO[bytes], size: int) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=file) as unpacked:
        yield from _plain(unpacked, size)


def _unbz2(file: IO[bytes], size: int) -> Iterator[bytes]:
    with bz2.BZ2File(file) as unpacked:
        yield from _plain(unpacked, size)


def _unxz(file: IO[bytes], size: int) -> Iterator[bytes]:
    with lzma.LZMAFile(file) as unpacked:
        yield from _plain(unpacked, size)


def _unzstd(file: IO[bytes], size: int) -> Iterator[bytes]:
    """Frame by frame; the library itself does not mind a frame that ends too early."""
    frame, whole = None, bytearray()
    for packed in _plain(file, SIP):
        data = packed
        while data:
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            whole += frame.decompress(data)
            data, frame = (frame.unused_data, None) if frame.eof else (b"", frame)
        if len(whole) >= size:
            yield bytes(whole)
            whole.clear()
    if whole:
        yield bytes(whole)
    if frame is not None:
        raise EOFError("it ends in the middle of a frame")


UNPACKERS: dict[str, Callable[[IO[bytes], int], Iterator[bytes]]] = {
    ".gz": _gunzip,
    ".bz2": _unbz2,
    ".xz": _unxz,
    ".zst": _unzstd,
}


def format_suffix(path: Path) -> str:
    """The suffix that names the format, in lower case: '.csv' of 'a.csv.gz'."""
    inner = path.with_suffix("") if path.suffix.lower() in UNPACKERS else path
    return inner.suffix.lower()


def read_parts(
    path: Path, *, progress: Progress | None = None, size: int = PART_BYTES
) -> Iterator[bytes]:
    """The file in parts, unpacked when its name ends in .gz, .bz2, .xz or .zst.

    ``progress`` follows the bytes of the file as it lies there, or in its archive.
    """
    try:
        with opened(path) as (file, total, packed):
            unpacked = 0
            unpack = UNPACKERS.get(path.suffix.lower(), _plain)
            is_packed = unpack is not _plain or packed < total  # a pipe says that it has no bytes
            for part in unpack(file, size):
                unpacked += len(part)
                if is_packed and unpacked > max(FREE_BYTES, MOST_TIMES * packed):
                    raise _too_much(path, packed)
                if progress:
                    progress(file.tell() if file.seekable() else unpacked, total)
                yield part
    except (gzip.BadGzipFile, EOFError, lzma.LZMAError, zlib.error, zstandard.ZstdError) as error:
        raise _not_whole(path, error) from None
    except FileNotFoundError:
        raise SourceError("there is no such file", source=str(path)) from None
    except OSError as error:
        if error.errno is None:  # of bz2: it is the data that is wrong
            raise _not_whole(path, error) from None
        raise SourceError(f"cannot be read: {error.strerror}", source=str(path)) from None


def _not_whole(path: Path, error: Exception) -> SourceError:
    return SourceError(
        f"is not a whole {path.suffix} file ({error}); fetch or pack it again", source=str(path)
    )


def _too_much(path: Path, packed: int) -> SourceError:
    return SourceError(
        f"{packed:,} bytes unpack to more than {MOST_TIMES} times as many and {FREE_BYTES:,}, "
        "which no graph's text does; if it is right, unpack it first",
        source=str(path),
    )


def read_bytes(path: Path, *, progress: Progress | None = None) -> bytes:
    """The whole file, unpacked."""
    return b"".join(read_parts(path, progress=progress))

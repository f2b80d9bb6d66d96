"""A path -> its bytes, unpacked by the last suffix of its name."""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path

import zstandard

from hale.errors import SourceError


def _unzstd(data: bytes) -> bytes:
    """Frame by frame; the library itself does not mind a frame that ends too early."""
    parts = []
    while data:
        frame = zstandard.ZstdDecompressor().decompressobj()
        parts.append(frame.decompress(data))
        if not frame.eof:
            raise EOFError("it ends in the middle of a frame")
        data = frame.unused_data
    return b"".join(parts)


UNPACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".xz": lzma.decompress,
    ".zst": _unzstd,
}


def format_suffix(path: Path) -> str:
    """The suffix that names the format, in lower case: '.csv' of 'a.csv.gz'."""
    inner = path.with_suffix("") if path.suffix.lower() in UNPACKERS else path
    return inner.suffix.lower()


def read_bytes(path: Path) -> bytes:
    """The whole file, unpacked when its name ends in .gz, .xz or .zst."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise SourceError("there is no such file", source=str(path)) from None
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", source=str(path)) from None
    unpack = UNPACKERS.get(path.suffix.lower())
    if unpack is None:
        return data
    try:
        return unpack(data)
    except (OSError, EOFError, lzma.LZMAError, zlib.error, zstandard.ZstdError) as error:
        raise SourceError(
            f"is not a whole {path.suffix} file ({error}); fetch or pack it again",
            source=str(path),
        ) from None

"""Zip archives: their members are paths below the archive's own, such as facts.zip/train.tsv."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from hale.errors import SourceError

ZIP = ".zip"
NAMED = 20  # members that an error names


def is_archive(path: Path) -> bool:
    """Whether the path is that of a zip archive itself."""
    return path.suffix.lower() == ZIP and path.is_file()


def members(path: Path) -> list[Path]:
    """The files in an archive as paths below it; what systems put there for themselves aside."""
    with _opened(path) as archive:
        return [
            path / info.filename
            for info in archive.infolist()
            if not info.is_dir()
            and not any(part.startswith((".", "__MACOSX")) for part in Path(info.filename).parts)
        ]


def one_member(path: Path) -> Path:
    """The only file in an archive."""
    found = members(path)
    if len(found) == 1:
        return found[0]
    if not found:
        raise SourceError("is an archive without files", source=str(path))
    names = [str(member) for member in found[:NAMED]]
    more = [f"and {len(found) - NAMED:,} more"] if len(found) > NAMED else []
    raise SourceError(
        f"is an archive of {len(found):,} files, none of which is called train; name one:\n"
        + "\n".join(f"  - {name}" for name in (*names, *more)),
        source=str(path),
    )


@contextmanager
def opened(path: Path) -> Iterator[tuple[IO[bytes], int, int]]:
    """A file's bytes as they lie there or in an archive, their number, and that on disk."""
    outer = next((parent for parent in path.parents if is_archive(parent)), None)
    if outer is None:
        with path.open("rb") as file:
            size = path.stat().st_size
            yield file, size, size
        return
    name = path.relative_to(outer).as_posix()
    with _opened(outer) as archive:
        try:
            info = archive.getinfo(name)
        except KeyError:
            raise SourceError(f"there is no such file in {outer}", source=str(path)) from None
        with archive.open(info) as file:
            packed = min(info.compress_size, outer.stat().st_size)  # whatever its header says
            yield file, info.file_size, packed


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, NotImplementedError, IndexError, ValueError, zlib.error) as error:
        raise SourceError(
            f"is not a whole .zip file ({error}); fetch or pack it again", source=str(path)
        ) from None
    except RuntimeError as error:  # a password is needed
        raise SourceError(f"cannot be unpacked: {error}", source=str(path)) from None

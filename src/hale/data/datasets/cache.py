"""Where data sets lie on this machine, and how a missing one gets there."""

from __future__ import annotations

import gzip
import os
import tarfile
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple, cast

import platformdirs
from filelock import FileLock

from hale.data.datasets.catalog import CATALOG, Dataset, RemoteFile
from hale.data.datasets.download import MOST_BYTES, fetch
from hale.data.file_lock import acquire
from hale.data.files import make_folder, write_whole
from hale.data.progress import Announce
from hale.errors import DatasetError, DownloadError, HaleWarning

BUNDLED = Path(__file__).parent
MOST_UNPACKED = 1 << 30  # bytes: the largest data set here has a tenth of them


class Place(NamedTuple):
    """Where a data set was found, in words and as a folder."""

    source: str  # 'HALE_DATA', 'bundled', 'cache'
    folder: Path


def locate(name: str) -> Place | None:
    """The folder of a data set on this machine, or None when it is not here."""
    for root in os.environ.get("HALE_DATA", "").split(os.pathsep):
        folder = Path(root) / name
        if root and any(folder.glob("train*")):
            return Place("HALE_DATA", folder)
    dataset = CATALOG.get(name)
    if dataset is None:
        return None
    if not dataset.files:
        return Place("bundled", BUNDLED / name)
    folder = cache_folder() / name
    if all((folder / f"{split}.txt").is_file() for split in dataset.files):
        return Place("cache", folder)
    return None


def cache_folder() -> Path:
    """Where downloads go: ``HALE_CACHE``, else the user's cache folder of this system."""
    given = os.environ.get("HALE_CACHE")
    return Path(given) if given else platformdirs.user_cache_path("hale", appauthor=False)


def download(dataset: Dataset, *, announce: Announce | None = None) -> Path:
    """Fetch what is missing of a data set, verify it, and return its folder."""
    folder = cache_folder() / dataset.name
    with _alone(folder):
        for split, remote in dataset.files.items():
            target = folder / f"{split}.txt"
            if not target.is_file():
                content = _content(remote, folder, announce)
                write_whole(target, partial(_write_bytes, content))
        for archive in folder.glob("*.tar.gz"):
            archive.unlink()
    return folder


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time fetches a data set; another waits, and finds it then."""
    lock = FileLock(folder.with_name(f".{folder.name}.lock"))

    def waits() -> None:
        words = f"another process is downloading {folder.name}; this one waits for it"
        warnings.warn(words, HaleWarning, stacklevel=5)

    try:
        make_folder(folder.parent)
        acquire(lock, waits)
    except OSError as error:
        raise DownloadError(f"{folder} cannot be made: {error.strerror or error}.") from None
    try:
        yield
    finally:
        lock.release()


def _write_bytes(content: bytes, path: Path) -> None:
    path.write_bytes(content)


def _content(remote: RemoteFile, folder: Path, announce: Announce | None) -> bytes:
    """The verified bytes of one split; a file that fails is removed, not used."""
    fetched = folder / remote.url.rsplit("/", 1)[1]
    if remote.member is None:
        fetched = fetched.with_name(fetched.name + ".download")
    if not fetched.is_file():
        most = MOST_BYTES if remote.size is None else remote.size
        progress = announce(remote.url) if announce else None
        fetch(remote.url, fetched, most=most, progress=progress)
    content = fetched.read_bytes() if remote.member is None else _member(fetched, remote.member)
    if not remote.digest.matches(content):
        fetched.unlink()
        raise DatasetError(
            f"{remote.url}: the content is not the expected one ({remote.digest.kind} "
            f"{remote.digest.of(content)}, expected {remote.digest.value}), so it was thrown "
            "away. Try again, or put the official files into a folder named by HALE_DATA."
        )
    if remote.member is None:
        fetched.unlink()
    return content


class _Bounded:
    """What an archive unpacks to, as far as it may go: headers can be as long as files."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.passed = 0

    def read(self, size: int) -> bytes:
        """The next bytes, which tarfile asks for in parts."""
        part = self.stream.read(size)
        self.passed += len(part)
        if self.passed > MOST_UNPACKED:
            raise _too_large()
        return part


def _too_large() -> tarfile.TarError:
    return tarfile.TarError(f"its files are larger than {MOST_UNPACKED:,} bytes")


def _member(archive: Path, name: str) -> bytes:
    """One file of a packed tar archive by its last path component; nothing else is unpacked.

    Nothing is known of the archive yet, so bytes are counted while they are unpacked, and members
    before they are read: one with holes is longer than what stands for it. It is read from front
    to back, so that no header can lead backwards.
    """
    try:
        with gzip.open(archive) as unpacked:
            stream = cast("IO[bytes]", _Bounded(cast("IO[bytes]", unpacked)))
            with tarfile.open(fileobj=stream, mode="r|") as tar:
                for entry in tar:
                    if entry.size > MOST_UNPACKED:
                        raise _too_large()
                    if entry.isfile() and Path(entry.name).name == name:
                        file = tar.extractfile(entry)
                        assert file is not None
                        return file.read()
    except (tarfile.TarError, OSError, EOFError, ValueError, zlib.error) as error:
        archive.unlink()
        raise DownloadError(f"{archive.name} is damaged ({error}); try again.") from None
    archive.unlink()
    raise DownloadError(f"{archive.name} has no {name}; its home has changed.")

"""What is packed comes out as it went in; what unpacks to far too much is refused early."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import threading
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from hale.data.sources import compression
from hale.data.sources.archive import opened
from hale.data.sources.compression import read_bytes, read_parts
from hale.errors import SourceError

Pack = Callable[[bytes], bytes]
PACKERS: dict[str, Pack] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("suffix", PACKERS)
def test_parts_make_the_whole(tmp_path: Path, suffix: str) -> None:
    text = b"".join(b"a%d\tr\tb%d\n" % (i, i * i) for i in range(20_000))
    path = tmp_path / f"facts.tsv{suffix}"
    half = len(text) // 2
    path.write_bytes(PACKERS[suffix](text[:half]) + PACKERS[suffix](text[half:]))  # two frames
    assert read_bytes(path) == text
    parts = list(read_parts(path, size=1000))
    assert b"".join(parts) == text
    assert len(parts) > 1


@pytest.mark.parametrize("suffix", PACKERS)
def test_what_unpacks_to_far_too_much_is_refused_without_holding_it(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compression, "FREE_BYTES", 1 << 22)
    path = tmp_path / f"facts.tsv{suffix}"
    path.write_bytes(PACKERS[suffix](bytes(1 << 28)))
    assert path.stat().st_size < (1 << 28) / compression.MOST_TIMES
    tracemalloc.start()
    with pytest.raises(SourceError, match="unpack to more than 200 times"):
        read_bytes(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # what was unpacked before the refusal, once whole and once in parts; and one sip of zstd
    assert most < 2 * compression.MOST_TIMES * path.stat().st_size + (1 << 28)


def test_a_member_of_an_archive_is_measured_by_its_bytes_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compression, "FREE_BYTES", 1 << 20)
    path = tmp_path / "facts.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("facts.tsv", bytes(1 << 24))
    with pytest.raises(SourceError, match=r"[\d,]+ bytes unpack to more"):
        read_bytes(path / "facts.tsv")


def test_plain_files_of_any_size_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "FREE_BYTES", 10)
    path = tmp_path / "facts.tsv"
    path.write_bytes(b"a\tr\tb\n" * 100)
    assert read_bytes(path) == b"a\tr\tb\n" * 100


def test_an_archive_cannot_say_that_it_is_larger_than_its_file(tmp_path: Path) -> None:
    """What unpacks to far more than is packed is refused; a header may lie about the latter."""
    path = tmp_path / "facts.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("train.tsv", "a\tr\tb\n" * 100)
    data = bytearray(path.read_bytes())
    entry = data.index(b"PK\x01\x02")  # of the central directory; its packed size is at 20
    data[entry + 20 : entry + 24] = (2_000_000_000).to_bytes(4, "little")
    path.write_bytes(data)
    with opened(path / "train.tsv") as (_, size, packed):
        assert (size, packed) == (600, len(data))


def test_a_pipe_is_read_and_followed(tmp_path: Path) -> None:
    """As of `hale train <(command)`: it has no place to tell, and no length."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(b"a\tr\tb\n" * 50_000,))
    writer.start()
    told: list[int] = []
    parts = read_parts(path, progress=lambda done, _total: told.append(done))
    assert b"".join(parts) == b"a\tr\tb\n" * 50_000
    writer.join()
    assert told[-1] == 300_000


def test_a_pipe_of_any_size_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says that it has no bytes, of which any number is more than 200 times as many."""
    monkeypatch.setattr(compression, "FREE_BYTES", 10)
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(b"a\tr\tb\n" * 50_000,), daemon=True)
    writer.start()
    assert read_bytes(path) == b"a\tr\tb\n" * 50_000
    writer.join()

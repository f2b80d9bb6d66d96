"""Downloads against a server on this machine: good, wrong, cut, missing."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from hale.data.datasets import cache as datasets_cache
from hale.data.datasets import catalog, load, locate
from hale.data.datasets.catalog import Dataset, Digest, RemoteFile
from hale.data.datasets.download import fetch
from hale.data.graph import Split
from hale.errors import DatasetError, DownloadError, HaleWarning

TRAIN = b"a\tr\tb\nb\tr\tc\nc\tr\ta\n"
FILES: dict[Split, bytes] = {"train": TRAIN, "valid": b"a\tr\tc\n", "test": b"b\tr\ta\n"}


class Handler(BaseHTTPRequestHandler):
    content: ClassVar[dict[str, bytes]] = {}
    cut_after: ClassVar[dict[str, int]] = {}  # first request for a path ends early
    ranges: ClassVar[list[str | None]] = []
    length: ClassVar[str | None] = None  # what it says of each body, where it lies

    def do_GET(self) -> None:
        body = self.content.get(self.path)
        asked = self.headers.get("Range")
        self.ranges.append(asked)
        if body is None:
            self.send_error(404, "Not Found")
            return
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        if start >= len(body) and asked:
            self.send_error(416, "Range Not Satisfiable")
            return
        self.send_response(206 if asked else 200)
        if self.length != "":
            self.send_header("Content-Length", self.length or str(len(body) - start))
        self.end_headers()
        end = self.cut_after.pop(self.path, len(body))
        self.wfile.write(body[start:end])
        if end < len(body):
            self.close_connection = True

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    Handler.content, Handler.cut_after, Handler.ranges = {}, {}, []
    Handler.length = None
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_port}"
    httpd.shutdown()
    httpd.server_close()
    thread.join()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HALE_DATA", raising=False)
    return tmp_path / "cache"


def registered(monkeypatch: pytest.MonkeyPatch, files: dict[Split, RemoteFile]) -> Dataset:
    dataset = Dataset("tiny", "a test", 3, 1, (3, 1, 1), "MIT", files)
    monkeypatch.setitem(catalog.CATALOG, "tiny", dataset)
    return dataset


def sha256(data: bytes) -> Digest:
    return Digest("sha256", hashlib.sha256(data).hexdigest())


def plain(server: str) -> dict[Split, RemoteFile]:
    Handler.content = {f"/{split}.txt": data for split, data in FILES.items()}
    return {s: RemoteFile(f"{server}/{s}.txt", sha256(data)) for s, data in FILES.items()}


def test_a_good_file_is_fetched_verified_and_kept(
    server: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered(monkeypatch, plain(server))
    assert locate("tiny") is None
    seen: list[tuple[int, int | None]] = []
    graph = load("tiny", announce=lambda url: lambda done, total: seen.append((done, total)))
    assert (graph.name, len(graph.train), len(graph.test)) == ("tiny", 3, 1)
    assert seen[0] == (len(TRAIN), len(TRAIN))
    place = locate("tiny")
    assert place is not None
    assert place.source == "cache"
    assert sorted(file.name for file in cache.rglob("*.txt")) == [
        "test.txt",
        "train.txt",
        "valid.txt",
    ]
    Handler.content = {}
    assert load("tiny").train.tolist() == graph.train.tolist()  # no network a second time


def test_an_archive_is_fetched_once_and_read_by_member(
    server: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for split, data in FILES.items():
            info = tarfile.TarInfo(f"deep/{split}.txt")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    Handler.content = {"/a.tar.gz": buffer.getvalue()}
    registered(
        monkeypatch,
        {
            s: RemoteFile(f"{server}/a.tar.gz", sha256(data), member=f"{s}.txt")
            for s, data in FILES.items()
        },
    )
    assert len(load("tiny").train) == 3
    assert len(Handler.ranges) == 1
    assert not list(cache.rglob("*.tar.gz"))


def test_a_wrong_hash_is_thrown_away(
    server: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered(monkeypatch, plain(server))
    Handler.content["/train.txt"] = b"evil\tr\tb\n"
    with pytest.raises(DatasetError, match="is not the expected one"):
        load("tiny")
    files = [file for file in cache.rglob("*") if file.is_file()]
    assert [file.name for file in files] == [".tiny.lock"]


def test_a_cut_connection_goes_on_where_it_stopped(
    server: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered(monkeypatch, plain(server))
    Handler.cut_after = {"/train.txt": 10}
    with pytest.raises(DownloadError, match=r"cut after 10 of 18"):
        load("tiny")
    assert [file.stat().st_size for file in cache.rglob("*.part")] == [10]
    assert len(load("tiny").train) == 3
    assert "bytes=10-" in Handler.ranges


def test_a_stale_beginning_is_dropped(server: str, tmp_path: Path) -> None:
    Handler.content = {"/x": b"12345"}
    (tmp_path / "x.part").write_bytes(b"far too long a beginning")
    assert fetch(f"{server}/x", tmp_path / "x").read_bytes() == b"12345"


def test_missing_on_the_server(server: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = plain(server)
    Handler.content = {}
    registered(monkeypatch, files)
    with pytest.raises(DownloadError, match="answered 404 Not Found"):
        load("tiny")


def test_no_server_at_all(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Port 9 of this machine: nothing listens there.
    files: dict[Split, RemoteFile] = {"train": RemoteFile("http://127.0.0.1:9/t", sha256(b""))}
    registered(monkeypatch, files)
    with pytest.raises(DownloadError, match="could not be fetched"):
        load("tiny")


def test_a_cache_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HALE_DATA", raising=False)
    monkeypatch.setenv("HALE_CACHE", "/dev/null")
    registered(monkeypatch, {"train": RemoteFile("http://127.0.0.1:9/t", sha256(b""))})
    with pytest.raises(DownloadError, match="cannot be made"):
        load("tiny")


def test_a_damaged_archive_is_thrown_away(
    server: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Handler.content = {"/a.tar.gz": b"\x1f\x8b\x08\x00" + b"junk" * 50}
    remote = RemoteFile(f"{server}/a.tar.gz", sha256(TRAIN), member="train.txt")
    registered(monkeypatch, {"train": remote})
    with pytest.raises(DownloadError, match="damaged"):
        load("tiny")
    assert not list(cache.rglob("*.tar.gz"))


def test_git_blob_ids_are_those_of_git() -> None:
    # `printf hello | git hash-object --stdin`
    assert Digest("git", "b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0").matches(b"hello")
    assert not Digest("git", "b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0").matches(b"hello\n")


def test_hale_data_is_searched_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for root, entity in (("one", "x"), ("two", "y")):
        folder = tmp_path / root / "wn18rr"
        folder.mkdir(parents=True)
        (folder / "train.txt").write_text(f"{entity}\tr\tb\n")
    monkeypatch.setenv("HALE_DATA", f"{tmp_path / 'none'}:{tmp_path / 'two'}:{tmp_path / 'one'}")
    place = locate("wn18rr")
    assert place is not None
    assert place.source == "HALE_DATA"
    with pytest.warns(HaleWarning, match="no test split"):
        assert "y" in load("wn18rr").entities


def test_an_archive_with_files_larger_than_any_here_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "set.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for name in ("other.txt", "train.txt"):
            entry = tarfile.TarInfo(f"set/{name}")
            entry.size = 600
            tar.addfile(entry, io.BytesIO(bytes(600)))
    assert datasets_cache._member(archive, "train.txt") == bytes(600)
    monkeypatch.setattr(datasets_cache, "MOST_UNPACKED", 1000)
    with pytest.raises(DownloadError, match="larger than 1,000 bytes"):
        datasets_cache._member(archive, "train.txt")
    assert not archive.exists()


def test_what_an_archive_says_of_its_files_is_counted_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A header may be as long as a file, and is read before the file it is about."""
    archive = tmp_path / "set.tar.gz"
    with tarfile.open(archive, "w:gz", format=tarfile.PAX_FORMAT) as tar:
        entry = tarfile.TarInfo("train.txt")
        entry.pax_headers = {"comment": "x" * 200_000}
        tar.addfile(entry)
    monkeypatch.setattr(datasets_cache, "MOST_UNPACKED", 100_000)
    with pytest.raises(DownloadError, match="larger than 100,000 bytes"):
        datasets_cache._member(archive, "train.txt")
    assert not archive.exists()


def test_a_header_that_leads_backwards_ends_the_reading(tmp_path: Path) -> None:
    """A size below zero, in the binary form that tar has for large ones."""
    entry = tarfile.TarInfo("other.txt").tobuf(tarfile.GNU_FORMAT)
    size = b"\xff" * 10 + b"\xfc\x00"  # -1024: back to this header
    head = bytearray(entry[:124] + size + entry[136:])
    head[148:156] = b"%06o\0 " % (sum(head[:148]) + sum(head[156:512]) + 8 * 32)
    archive = tmp_path / "set.tar.gz"
    archive.write_bytes(gzip.compress(bytes(head) + bytes(10240 - len(head))))
    with pytest.raises(DownloadError, match="damaged|has no train.txt"):
        datasets_cache._member(archive, "train.txt")


@pytest.mark.parametrize("length", ["many", "-5", "", "9" * 30, "²", "1e3"])
def test_a_length_that_is_no_number_is_not_believed(
    server: str, tmp_path: Path, length: str
) -> None:
    Handler.content, Handler.length = {"/a.txt": TRAIN}, length
    assert fetch(f"{server}/a.txt", tmp_path / "a.txt").read_bytes() == TRAIN


@pytest.mark.parametrize("length", [None, ""])
def test_a_body_larger_than_expected_is_thrown_away(
    server: str, tmp_path: Path, length: str | None
) -> None:
    """Whether the server tells its length beforehand or not."""
    Handler.content, Handler.length = {"/a.txt": TRAIN}, length
    with pytest.raises(DownloadError, match=f"larger than the {len(TRAIN) - 1} bytes"):
        fetch(f"{server}/a.txt", tmp_path / "a.txt", most=len(TRAIN) - 1)
    assert list(tmp_path.iterdir()) == []
    assert fetch(f"{server}/a.txt", tmp_path / "a.txt", most=len(TRAIN)).read_bytes() == TRAIN


def test_a_file_of_known_size_is_fetched_as_far_as_that(
    server: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {s: Digest("size", str(len(data))) for s, data in FILES.items()}
    files = {s: RemoteFile(f"{server}/{s}.txt", digest) for s, digest in sizes.items()}
    registered(monkeypatch, files)
    Handler.content = {f"/{s}.txt": data * 1000 for s, data in FILES.items()}
    with pytest.raises(DownloadError, match=f"larger than the {len(TRAIN)} bytes"):
        load("tiny")
    assert [path.name for path in cache.rglob("*train*")] == []

"""A data set on a server of this machine's own, so that a download can be broken off."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal

SPLITS: tuple[Literal["train", "valid", "test"], ...] = ("train", "valid", "test")


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


def serve(folder: Path) -> tuple[int, int]:
    """A process that serves a folder on a free port of this machine -> its id and the port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    child = os.fork()
    if child == 0:
        server.serve_forever()
    server.server_close()
    return child, server.server_address[1]


def known_as_served(folder: Path, port: int) -> Callable[[], None]:
    """What makes ``served`` a named data set, in the process that calls it."""
    digests = {
        split: hashlib.sha256((folder / f"{split}.tsv").read_bytes()).hexdigest()
        for split in SPLITS
    }

    def add() -> None:
        from hale.data.datasets import catalog
        from hale.data.datasets.catalog import Dataset, Digest, RemoteFile

        files = {
            split: RemoteFile(f"http://127.0.0.1:{port}/{split}.tsv", Digest("sha256", value))
            for split, value in digests.items()
        }
        catalog.CATALOG["served"] = Dataset(
            "served", "for this test", 300, 5, (1300, 100, 100), "none", files
        )

    assert threading.active_count() == 1  # a fork takes no threads along
    return add

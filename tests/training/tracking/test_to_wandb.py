"""An offline run of Weights & Biases, read back from its file."""

from __future__ import annotations

import json
import struct
import time
from pathlib import Path
from typing import Any

import pytest

import hale
from hale.data.graph import Graph
from tests.training.tracking.test_tracker import FAST

pytest.importorskip("wandb", reason="the extra wandb is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of a package that is not ours


BLOCK, HEADER = 1 << 15, 7  # of the file: LevelDB's log, its own header in the first block
FULL, FIRST, LAST = 1, 2, 4


def records(path: Path) -> list[Any]:
    """What a file of an offline run holds."""
    from wandb.proto import wandb_internal_pb2

    data, place, found, begun = path.read_bytes(), HEADER, [], b""
    while place + HEADER <= len(data):
        left = BLOCK - place % BLOCK
        if left < HEADER:
            place += left
            continue
        _, length, kind = struct.unpack_from("<IHB", data, place)
        part = data[place + HEADER : place + HEADER + length]
        begun = part if kind in (FULL, FIRST) else begun + part
        if kind in (FULL, LAST):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(begun)
            found.append(record)
        place += HEADER + length
    return found


def finished(path: Path) -> list[Any]:
    """All of it: wandb's own process writes the last of it when the run is over for us."""
    late = time.monotonic() + 60
    while time.monotonic() < late:
        found = records(path)
        if found and found[-1].WhichOneof("record_type") == "exit":
            return found
        time.sleep(0.1)
    raise AssertionError("the run was not finished")


def test_an_offline_run_in_the_folder(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WANDB_MODE", raising=False)
    run = hale.train(graph, out=tmp_path / "x", track="wandb", validate_every=2, **FAST)
    (file,) = (tmp_path / "x" / "wandb").glob("offline-run-*/run-*.wandb")
    rows = []
    for record in finished(file):
        if record.WhichOneof("record_type") == "history":
            items = record.history.item
            row = {one.key or one.nested_key[0]: json.loads(one.value_json) for one in items}
            rows.append((row["_step"], row.get("valid/mrr")))
    assert [row for row in rows if row[1] is not None] == [
        (record.step, record.metrics["mrr"]) for record in run.history
    ]

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from hale.data.sources import trial
from hale.data.sources.parquet import parquet_frame
from hale.data.sources.trial import Trial
from hale.errors import SourceError

ABORTS = Path(__file__).parents[2] / "scripts/corpus/parquet/aborts-its-reader.bin"
TABLE = pl.DataFrame({"head": ["a", "b"], "relation": ["r", "r"], "tail": ["c", "d"]})


def packed(table: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    table.write_parquet(file)
    return file.getvalue()


def test_a_good_file_has_no_fault_and_is_read() -> None:
    assert parquet_frame(packed(TABLE), "facts.parquet").equals(TABLE)


def test_a_file_that_ends_its_reader_is_refused_and_the_next_is_tried() -> None:
    with Trial() as tried:
        fault = tried.fault_of(ABORTS.read_bytes())
        assert fault is not None
        assert "\n" not in fault
        assert tried.fault_of(packed(TABLE)) is None
        assert tried.fault_of(b"PAR1 and no more") is not None
        assert tried.fault_of(packed(TABLE)) is None
    assert tried._process is None


def test_the_error_names_the_file_and_what_came_of_it() -> None:
    with pytest.raises(SourceError, match=r"^facts\.parquet: is not a readable Parquet file \(\S"):
        parquet_frame(ABORTS.read_bytes(), "facts.parquet")


def test_a_process_that_is_killed_is_told_by_its_signal() -> None:
    with Trial() as tried:
        assert tried.fault_of(packed(TABLE)) is None
        assert tried._process is not None
        tried._process.kill()
        assert tried.fault_of(packed(TABLE)) == "reading it ended a process by SIGKILL"


def test_a_file_that_unpacks_to_more_than_is_allowed_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = packed(pl.DataFrame({"n": pl.zeros(100_000, pl.Int64, eager=True)}))
    assert len(data) < 4000
    assert trial._fault(data, bounded=False) is None
    monkeypatch.setattr(trial, "FREE_BYTES", 1000)
    assert trial._fault(data, bounded=False) == f"{len(data):,} bytes unpack to 800,000"
    monkeypatch.setattr(trial, "MOST_TIMES", 2000)
    assert trial._fault(data, bounded=False) is None


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded by what Linux tells")
def test_memory_is_bounded() -> None:
    asked = "from hale.data.sources.trial import _bound_memory as bound; {}bytearray(1 << 29)"
    for before, status in (("", 0), ("bound(1 << 28); ", 1), ("bound(1 << 31); ", 0)):
        command = [sys.executable, "-c", asked.format(before)]
        assert subprocess.run(command, check=False, capture_output=True).returncode == status


def test_a_file_that_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "SECONDS", 0.05)  # less than a process needs to start
    with Trial() as tried:
        assert tried.fault_of(packed(TABLE)) == "reading it took more than 0 s"
        monkeypatch.setattr(trial, "SECONDS", 60.0)
        assert tried.fault_of(packed(TABLE)) is None

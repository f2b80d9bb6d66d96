"""Memory that there is, read from a system of the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from hale.engine.memory import available, held_mb, peak_mb, was_refused


def machine(root: Path, **files: str) -> Path:
    places = {"meminfo": "proc/meminfo", "most": "sys/fs/cgroup/memory.max"}
    places |= {"now": "sys/fs/cgroup/memory.current"}
    for name, text in files.items():
        path = root / places[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_the_least_of_machine_and_control_group(tmp_path: Path) -> None:
    assert available(tmp_path) is None  # a system that does not tell
    told = "MemTotal:  2000 kB\nMemFree: 5 kB\nMemAvailable:    1000 kB\n"
    assert available(machine(tmp_path, meminfo=told)) == 1_024_000
    assert available(machine(tmp_path, most="max\n", now="7\n")) == 1_024_000
    assert available(machine(tmp_path, most="1000000\n", now="400000\n")) == 600_000
    assert available(machine(tmp_path, most="1000\n", now="4000\n")) == 0


def test_refused_memory_is_told_from_other_faults() -> None:
    assert was_refused(MemoryError())
    assert not was_refused(RuntimeError("shapes do not agree"))
    assert not was_refused(ValueError("out of memory"))
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 60)
    assert was_refused(caught.value)


def test_what_was_held_grows_with_what_is_held() -> None:
    before = peak_mb()
    held = torch.ones(int(before) * (1 << 20) // 4 + (64 << 18))
    assert peak_mb() > before + 32
    assert len(held)


def test_what_is_held_is_told_by_the_system(tmp_path: Path) -> None:
    told = tmp_path / "smaps_rollup"
    told.write_text("5-7 ---p 0 0 [rollup]\nRss:  9000 kB\nPss:  3072 kB\nPss_Anon:  2048 kB\n")
    assert held_mb(told) == 3.0
    assert held_mb(tmp_path / "none") == pytest.approx(peak_mb(), rel=0.1)

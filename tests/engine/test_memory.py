"""Memory that this process holds and has held, and how it is told that there is no more."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from hale.engine.memory import held_mb, peak_mb, was_refused


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

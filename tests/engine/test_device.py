from __future__ import annotations

import pytest
import torch

from hale.engine import device
from hale.engine.device import choose_device, keep_freed_memory, on_large_pages, use_threads
from hale.errors import InputError, SettingsError, UnknownNameError


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_device("cpu").type == "cpu"
    with pytest.raises(UnknownNameError, match="Did you mean 'cuda'"):
        choose_device("cudda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert choose_device("auto").type == "cpu"
    for name in ("cuda", "mps"):
        with pytest.raises(SettingsError, match=f"no usable {name}; try auto or cpu"):
            choose_device(name)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto").type == "cuda"


def test_threads() -> None:
    before = torch.get_num_threads()
    assert use_threads(None) == before
    assert use_threads(1) == torch.get_num_threads() == 1
    use_threads(before)


def test_threads_whose_stacks_find_no_room_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_num_threads()
    monkeypatch.setattr(device, "stack_bytes", lambda: 8 << 20)
    monkeypatch.setattr(device, "addresses_left", lambda: 3 << 30)
    with pytest.raises(InputError, match=r"^256 threads take 2\.0 GB .* leaves 3\.0 GB"):
        use_threads(256)
    assert use_threads(3) == 3
    monkeypatch.setattr(device, "addresses_left", lambda: 16)
    assert use_threads(1) == 1, "it is there already"
    torch.set_num_threads(before)  # which may be more than there is said to be room for


def test_freed_memory_is_kept_without_fuss() -> None:
    keep_freed_memory()
    assert torch.zeros(1 << 20).sum() == 0


def test_large_pages_change_no_number() -> None:
    """Also of a table that begins in the middle of a page, and of none worth it."""
    for table in (torch.zeros(5000, 4096), torch.zeros(17 << 20)[3:], torch.zeros(3, 4)):
        before = table.data_ptr()
        assert on_large_pages(table) is table
        assert table.data_ptr() == before
        assert not table.any()
        table[-1] = 1
        assert table.sum() == table[-1].numel()

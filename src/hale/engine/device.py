"""Where tensors live, and how many CPU threads work on them."""

from __future__ import annotations

import ctypes
from functools import cache

import torch

from hale.data.room import GB, addresses_left, stack_bytes
from hale.errors import InputError, SettingsError, UnknownNameError

DEVICES = ("auto", "cpu", "cuda", "mps")


def choose_device(name: str) -> torch.device:
    """The device of that name; 'auto' takes an accelerator if there is one."""
    if name not in DEVICES:
        raise UnknownNameError("device", name, DEVICES)
    present = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name == "auto":
        name = next(device for device, here in present.items() if here)
    if not present[name]:
        raise SettingsError([f"device: this machine has no usable {name}; try auto or cpu"])
    return torch.device(name)


@cache
def keep_freed_memory() -> None:
    """Let the allocator keep what a step frees for the next one (glibc; elsewhere nothing).

    By default a freed table goes back to the system, and the next step pays a page fault for
    every 4 KB of it: a third of the kernel's time at N = 40,943 and d = 256.
    """
    trim_threshold, mmap_threshold, most = -1, -3, 1 << 30
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(trim_threshold, most)
    mallopt(mmap_threshold, most)


LARGE = 1 << 26  # bytes of a table from which on its pages are better large


def on_large_pages(table: torch.Tensor) -> torch.Tensor:
    """Ask the system for large pages under a table that is not filled yet (Linux; else nothing).

    Rows are read here and there: with pages of 4 KB nearly each costs a walk through the page
    table beside the read itself.
    """
    size = table.numel() * table.element_size()
    if table.device.type != "cpu" or size < LARGE:
        return table
    page, advice = 2 << 20, 14  # MADV_HUGEPAGE
    start = -(-table.data_ptr() // page) * page
    end = (table.data_ptr() + size) // page * page
    try:
        madvise = ctypes.CDLL(None).madvise
    except (AttributeError, OSError, TypeError):
        return table
    madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), ctypes.c_int(advice))
    return table


def use_threads(count: int | None) -> int:
    """Set the number of CPU threads (None: as they are) and return it.

    Threads whose stacks find no room end the process, so they are refused before.
    """
    if count is not None:
        left, stacks = addresses_left(), (count - 1) * stack_bytes()
        if left is not None and 2 * stacks > left:  # what they compute takes some, too
            raise InputError(
                f"{count} threads take {stacks / GB:,.1f} GB of addresses, and the limit of this "
                f"process (ulimit -v) leaves {left / GB:,.1f} GB: take fewer --threads."
            )
        torch.set_num_threads(count)
    return torch.get_num_threads()

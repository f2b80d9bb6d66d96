"""Where tensors live, and how many CPU threads work on them."""

from __future__ import annotations

import ctypes
from functools import cache

import torch

from hale.errors import SettingsError, UnknownNameError

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


def use_threads(count: int | None) -> int:
    """Set the number of CPU threads (None: as they are) and return it."""
    if count is not None:
        torch.set_num_threads(count)
    return torch.get_num_threads()

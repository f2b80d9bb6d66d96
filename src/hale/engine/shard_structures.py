"""What the native functions for ranks take, field by field the structures of native/problems.h."""

from __future__ import annotations

import ctypes


class ShardSweep(ctypes.Structure):
    """A sweep over the entities of one rank, shard by shard."""

    _fields_ = (
        ("sweep", ctypes.c_void_p),
        ("begins", ctypes.c_void_p),
        ("shards", ctypes.c_int64),
        ("bounded", ctypes.c_void_p),
        ("floors", ctypes.c_void_p),
        ("parts", ctypes.c_void_p),
        ("shares", ctypes.c_void_p),
    )


class DigitSums(ctypes.Structure):
    """Sums of parts by their digits."""

    _fields_ = (
        ("c", ctypes.c_int64),
        ("rows", ctypes.c_int64),
        ("k", ctypes.c_int64),
        ("runs", ctypes.c_int64),
        ("parts", ctypes.c_void_p),
        ("widths", ctypes.c_void_p),
        ("places", ctypes.c_void_p),
        ("digits", ctypes.c_void_p),
        ("threads", ctypes.c_int32),
    )

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


class WholeSums(ctypes.Structure):
    """Sums of parts in whole units, or the largest of them."""

    _fields_ = (
        ("c", ctypes.c_int64),
        ("rows", ctypes.c_int64),
        ("k", ctypes.c_int64),
        ("parts", ctypes.c_void_p),
        ("units", ctypes.c_void_p),
        ("largest", ctypes.c_void_p),
        ("sums", ctypes.c_void_p),
        ("threads", ctypes.c_int32),
    )

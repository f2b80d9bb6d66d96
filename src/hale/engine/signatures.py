"""The native kernel's functions, and the fingerprint by which a library is known to have them.

A field of a structure that differs from its C++ twin in name, kind, place or size would be read as
another, so the library tells its fields and is refused where they are not these.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable

from hale.engine.shard_structures import DigitSums, ShardSweep
from hale.engine.structures import (
    AdamRows,
    Alignment,
    Draw,
    Find,
    Leave,
    Map,
    Mask,
    Pairs,
    Parameter,
    Ranks,
    Rows,
    Step,
    SumRows,
    Turn,
    Uniformity,
)

FUNCTIONS: dict[str, type[ctypes.Structure]] = {
    "hale_uniformity": Uniformity,
    "hale_alignment": Alignment,
    "hale_turn": Turn,
    "hale_turn_back": Turn,
    "hale_map": Map,
    "hale_map_back": Map,
    "hale_gather_rows": Rows,
    "hale_add_rows": Rows,
    "hale_sum_rows": SumRows,
    "hale_adam_rows": AdamRows,
    "hale_draw_block": Draw,
    "hale_places": Find,
    "hale_leave": Leave,
    "hale_mask": Mask,
    "hale_step": Step,
    "hale_count_above": Ranks,
    "hale_score_pairs": Pairs,
    "hale_shard_floors": ShardSweep,
    "hale_shard_sums": ShardSweep,
    "hale_shard_push": ShardSweep,
    "hale_digit_sums": DigitSums,
}

POINTED_TO: tuple[type[ctypes.Structure], ...] = (Parameter,)  # by fields of those structures

_KINDS = {
    ctypes.c_int64: "int",
    ctypes.c_int32: "int",
    ctypes.c_float: "float",
    ctypes.c_double: "float",
    ctypes.c_void_p: "pointer",
}


def fingerprint(structures: Iterable[type[ctypes.Structure]]) -> str:
    """What functions return; then a line a structure: its name, and name:kind:offset:size."""
    return "functions status:int:4\n" + "".join(
        f"{structure.__name__} {' '.join(_told_fields(structure))}\n" for structure in structures
    )


def _told_fields(structure: type[ctypes.Structure]) -> Iterable[str]:
    for name, kind, *_ in structure._fields_:
        place = getattr(structure, name)
        yield f"{name}:{_KINDS[kind]}:{place.offset}:{place.size}"

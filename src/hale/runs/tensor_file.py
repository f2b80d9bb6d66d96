"""Tensors to and from a safetensors file, without a second copy of them in memory.

The format (https://huggingface.co/docs/safetensors): the length of a header in 8 bytes, little
end first; the header, JSON padded with spaces to a multiple of 8, which has the dtype, the shape
and the place of each tensor; then their bytes one after the other.

A file that has an owner, the id of a run, carries it in the header's metadata with a SHA-256, made
while it is written: of the header, with zeros where the digest will stand, and of the tensors'
bytes. Both are checked when it is read; a file is whole by itself, whatever was written before or
after it. Earlier versions had a digest of the tensors' bytes alone, called sha256.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor

from hale.data.files import write_whole
from hale.data.room import GB, available
from hale.errors import RunError

# Bytes that are handed to the disk at once; what a device holds is fetched in such parts.
PART = 1 << 24

# Under which metadata has the digest of all, and what stands there while it is made.
WHOLE, BLANK = "whole", "0" * 64

DIFFERS = "its bytes are not those that were written: the checksum differs"

# In the order in which tensors lie: wide elements first, so that each begins where it should.
DTYPES = {
    torch.int64: "I64",
    torch.float64: "F64",
    torch.float32: "F32",
    torch.int32: "I32",
    torch.bfloat16: "BF16",
    torch.float16: "F16",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}


class InParts:
    """A tensor that is written part after part, each some of its rows, and never held whole."""

    def __init__(
        self, shape: Sequence[int], dtype: torch.dtype, parts: Callable[[], Iterable[Tensor]]
    ) -> None:
        self.shape = tuple(shape)
        self.dtype = dtype
        self.parts = parts

    def numel(self) -> int:
        """How many numbers it has."""
        return math.prod(self.shape)

    def element_size(self) -> int:
        """Bytes of one."""
        return self.dtype.itemsize


def write_tensor_file(
    path: Path,
    tensors: Mapping[str, Tensor | InParts],
    about: Mapping[str, Any],
    owner: str | None = None,
) -> None:
    """A file of tensors with ``about`` as JSON in its header; whole or not at all."""
    metadata = {"about": json.dumps(about)}
    blank = metadata if owner is None else metadata | {"owner": owner, WHOLE: BLANK}
    header = _header(tensors, blank)
    digest = hashlib.sha256(header)

    def fill(waiting: Path) -> None:
        with waiting.open("wb") as file:
            file.write(len(header).to_bytes(8, "little"))
            file.write(header)

            def put(part: memoryview) -> None:
                file.write(part)
                if owner is not None:
                    digest.update(part)

            for name in _order(tensors):
                tensor = tensors[name]
                for part in tensor.parts() if isinstance(tensor, InParts) else [tensor]:
                    _write(put, part)
            if owner is not None:  # as many digits as were there before
                file.seek(8)
                file.write(_header(tensors, blank | {WHOLE: digest.hexdigest()}))

    write_whole(path, fill)


def read_tensor_file(
    path: Path, owner: str | None = None, rows: Mapping[str, slice] | None = None
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of a file and what is said about them; of some, certain ``rows`` alone.

    With an ``owner``, a file that carries another, or other bytes than it was written with, is a
    ValueError. The checksum is of all bytes: where only some are read, ``check_bytes`` looks at it.
    """
    some = rows or {}
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata() or {}
        _check_room(path, file, some)
        tensors = {
            name: file.get_slice(name)[some[name]] if name in some else file.get_tensor(name)
            for name in file.keys()  # noqa: SIM118
        }
    if owner is not None:
        _check_owner(metadata, owner)
        if not some:
            _check(tensors, metadata)
    return tensors, dict(json.loads(metadata.get("about", "{}")))


def check_bytes(path: Path) -> None:
    """Refuse a file, a ValueError, whose bytes are not those that were written; none is kept.

    For who reads some of its rows: of several processes one looks at all.
    """
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata() or {}
    earlier = "sha256" in metadata and WHOLE not in metadata
    told = metadata.get("sha256" if earlier else WHOLE)
    if told is None:
        return  # of no run
    with path.open("rb") as raw:
        header = raw.read(int.from_bytes(raw.read(8), "little"))
        written, blank = told.encode(), BLANK.encode()
        digest = hashlib.sha256(b"" if earlier else header.replace(written, blank, 1))
        while part := raw.read(PART):
            digest.update(part)
    if digest.hexdigest() != told:
        raise ValueError(DIFFERS)


def _check_room(path: Path, file: Any, rows: Mapping[str, slice]) -> None:
    """Refuse tensors for which there is not enough memory, before any is read."""
    widths = {name: kind.itemsize for kind, name in DTYPES.items()}
    asked = 0
    for name in file.keys():  # noqa: SIM118
        told = file.get_slice(name)
        first, *others = told.get_shape() or [1]
        some = rows.get(name, slice(None)).indices(first)
        asked += len(range(*some)) * math.prod(others) * widths.get(told.get_dtype(), 1)
    free = available()
    if free is not None and asked > free:
        raise RunError(
            f"{path} holds {asked / GB:,.1f} GB, {free / GB:,.1f} GB of memory are free here: ask "
            "on several ranks (--ranks) of machines that have as much together, or on another one."
        )


def check_finite(tensors: Mapping[str, Tensor]) -> None:
    """Refuse tensors with NaN or infinity in them, by name."""
    for name, tensor in tensors.items():
        # A sum is finite only of finite numbers. That of large ones may be infinite: then count.
        doubtful = tensor.is_floating_point() and not torch.isfinite(tensor.sum())
        if doubtful and (count := int((~torch.isfinite(tensor)).sum())):
            raise ValueError(f"{name} has {count:,} numbers that are NaN or infinite")


def _check_owner(metadata: Mapping[str, str], owner: str) -> None:
    """Refuse tensors that another run wrote."""
    if metadata.get("owner") != owner:
        raise ValueError(
            f"it belongs to another run: it has the id {metadata.get('owner')}, this run {owner}"
        )


def _check(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Refuse tensors that are not as they were written, or of which something else is said.

    The header is made again from what was read of it, so it is of the file that was read.
    """
    earlier = "sha256" in metadata and WHOLE not in metadata
    blank = metadata if earlier else {**metadata, WHOLE: BLANK}
    digest = hashlib.sha256(b"" if earlier else _header(tensors, blank))
    for name in _order(tensors):
        _write(digest.update, tensors[name])
    if digest.hexdigest() != metadata.get("sha256" if earlier else WHOLE):
        raise ValueError(DIFFERS)


def _header(tensors: Mapping[str, Tensor | InParts], metadata: Mapping[str, str]) -> bytes:
    entries: dict[str, object] = {"__metadata__": dict(sorted(metadata.items()))}
    end = 0
    for name in _order(tensors):
        tensor = tensors[name]
        start, end = end, end + tensor.numel() * tensor.element_size()
        entries[name] = {
            "dtype": DTYPES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
    return text + b" " * (-len(text) % 8)


def _order(tensors: Mapping[str, Tensor | InParts]) -> list[str]:
    kinds = list(DTYPES)
    return sorted(tensors, key=lambda name: (kinds.index(tensors[name].dtype), name))


def _write(put: Callable[[memoryview], object], tensor: Tensor) -> None:
    """Hand over the bytes of a tensor straight from its memory, or from a copy of each part."""
    if not tensor.numel():
        return
    tensor = tensor.detach()
    rows = tensor.view(-1) if tensor.is_contiguous() else tensor
    step = max(1, PART * len(rows) // (tensor.numel() * tensor.element_size()))
    for start in range(0, len(rows), step):
        part = rows[start : start + step].cpu().contiguous()
        flat = part.as_strided((part.numel(),), (1,))  # one element may have any stride
        put(flat.view(torch.uint8).numpy().data)

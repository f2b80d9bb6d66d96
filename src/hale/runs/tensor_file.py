"""Tensors to and from a safetensors file, without a second copy of them in memory.

The format (https://huggingface.co/docs/safetensors): the length of a header in 8 bytes, little
end first; the header, JSON padded with spaces to a multiple of 8, which has the dtype, the shape
and the place of each tensor; then their bytes one after the other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import torch
from safetensors import safe_open
from torch import Tensor

from hale.data.files import write_whole

# Bytes that are handed to the disk at once; what a device holds is fetched in such parts.
PART = 1 << 24

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


def write_tensor_file(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """A file of tensors with ``about`` as JSON in its header; whole or not at all."""
    header = _header(tensors, about)

    def fill(waiting: Path) -> None:
        with waiting.open("wb") as file:
            file.write(len(header).to_bytes(8, "little"))
            file.write(header)
            for name in _order(tensors):
                _write(file, tensors[name])

    write_whole(path, fill)


def read_tensor_file(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of a file and what is said about them."""
    with safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return tensors, dict(json.loads((file.metadata() or {}).get("about", "{}")))


def _header(tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> bytes:
    entries: dict[str, object] = {"__metadata__": {"about": json.dumps(about)}}
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


def _order(tensors: Mapping[str, Tensor]) -> list[str]:
    kinds = list(DTYPES)
    return sorted(tensors, key=lambda name: (kinds.index(tensors[name].dtype), name))


def _write(file: IO[bytes], tensor: Tensor) -> None:
    """The bytes of a tensor straight from its memory; what lies otherwise is copied in parts."""
    if not tensor.numel():
        return
    tensor = tensor.detach()
    rows = tensor.view(-1) if tensor.is_contiguous() else tensor
    step = max(1, PART * len(rows) // (tensor.numel() * tensor.element_size()))
    for start in range(0, len(rows), step):
        part = rows[start : start + step].cpu().contiguous()
        flat = part.as_strided((part.numel(),), (1,))  # one element may have any stride
        file.write(flat.view(torch.uint8).numpy().data)

"""Digests of what ranks save: one wrong byte of a shard is noticed when it is read.

Rows of entities are digested shard by shard (engine.shards). That cut depends on their number
alone, so any number of ranks checks what any other number saved: each the rows that it has read, as
it holds them, and no file is read twice. All else has one digest. A digest is of the type and the
shape as well, and has as many digits as the seal of a JSON object (runs.seal).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

from hale.engine.group import Group
from hale.engine.shards import SHARDS, Shards
from hale.runs.seal import DIGITS
from hale.training.pieces import TABLES
from hale.training.row_shard import rows_in

Digests = dict[str, list[str]]  # by tensor: of each shard of its rows, or the one of all else


class ShardDigests:
    """Digests of tensors of which this rank has the rows of its span; all ranks ask together."""

    def __init__(self, group: Group, shards: Shards) -> None:
        self.group = group
        self.shards = shards

    def made(self, tensors: Mapping[str, Tensor]) -> Digests:
        """The digests of the rows of all ranks, and of what all have."""
        table = torch.zeros(len(tensors), SHARDS, dtype=torch.int64)
        for row, name in enumerate(tensors):
            if rows_in(name, TABLES) or self.group.leads:
                for shard, digest in self._here(name, tensors[name]).items():
                    table[row, shard] = _number(digest)
        whole = self.group.all_reduce(table)
        return {
            name: [_digits(n) for n in row[: SHARDS if rows_in(name, TABLES) else 1]]
            for name, row in zip(tensors, whole.tolist(), strict=True)
        }

    def check(self, tensors: Mapping[str, Tensor], wanted: Digests) -> None:
        """Refuse, on all ranks, what any of them has read otherwise than it was written."""
        check_names(tensors, wanted)
        differs = torch.zeros(len(tensors), SHARDS, dtype=torch.uint8)
        for row, name in enumerate(tensors):
            for shard, digest in self._here(name, tensors[name]).items():
                differs[row, shard] = digest != wanted[name][shard]
        found = self.group.all_reduce(differs, "max").nonzero().tolist()
        if found:
            row, shard = found[0]
            name, begins = list(tensors)[row], self.shards.begins.tolist()
            rows = begins[shard : shard + 2] if rows_in(name, TABLES) else []
            raise not_as_written(name, *rows)

    def _here(self, name: str, tensor: Tensor) -> dict[int, str]:
        """The digests of what this rank has of a tensor, by shard."""
        if not rows_in(name, TABLES):
            return {0: digest_of(tensor)}
        first, begins = self.shards.span(self.group.rank).first, self.shards.begins.tolist()
        found = {}
        for shard in self.shards.numbers_of(self.group.rank):
            rows = tensor[begins[shard] - first : begins[shard + 1] - first]
            found[shard] = digest_of(rows)
        return found


class Digest:
    """Of a tensor whose rows come in parts, one after the other."""

    def __init__(self, shape: Sequence[int], dtype: torch.dtype) -> None:
        self._found = hashlib.sha256(f"{dtype} {tuple(shape)}".encode())

    def add(self, part: Tensor) -> Digest:
        """Some of its rows."""
        if part.numel():
            flat = part.detach().contiguous().view(-1)
            self._found.update(flat.view(torch.uint8).numpy().data)
        return self

    @property
    def text(self) -> str:
        """Its digits."""
        return self._found.hexdigest()[:DIGITS]


def digest_of(tensor: Tensor) -> str:
    """The digest of a tensor."""
    return Digest(tensor.shape, tensor.dtype).add(tensor).text


def check_names(tensors: Iterable[str], wanted: Digests) -> None:
    """Refuse other tensors than were written."""
    if set(tensors) != set(wanted):
        (other, *_) = sorted(set(tensors) ^ set(wanted))
        raise ValueError(f"its tensors are not those that were written: {other} is one or was")


def not_as_written(name: str, first: int = 0, last: int = 0) -> ValueError:
    """What is said of other bytes than were written, of rows from ``first`` to before ``last``."""
    where = f"rows {first:,} to {last - 1:,} of {name}" if last else name
    return ValueError(f"its {where} are not those that were written: the checksum differs")


def _number(digest: str) -> int:
    """A digest as a whole number that travels: int64."""
    return int.from_bytes(bytes.fromhex(digest), "little", signed=True)


def _digits(number: int) -> str:
    return number.to_bytes(DIGITS // 2, "little", signed=True).hex()

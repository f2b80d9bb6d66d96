"""RowShard: the rows of a table that a rank has, as torch's distributed checkpoint takes them.

It is told where they lie in the whole table, and reads and writes them at any number of ranks. The
three methods are torch's protocol for such objects (torch.distributed._checkpointable).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hale.errors import WriteError
from hale.training.optimizers import DUE, STEP


class RowShard(Tensor):
    """Rows (n, ...) of a table of ``count``, from ``first`` on.

    It is a tensor of the size of the table, since torch asks for one, that holds but the rows.
    """

    rows: Tensor
    first: int

    @staticmethod
    def __new__(cls, rows: Tensor, first: int, count: int) -> RowShard:
        """Around the rows, which stay where they are."""
        shape = (count, *rows.shape[1:])
        made: RowShard = Tensor._make_wrapper_subclass(cls, shape, dtype=rows.dtype)
        made.rows, made.first = rows.detach(), first
        return made

    @classmethod
    def __torch_dispatch__(cls, func: object, *_rest: object) -> object:
        """Nothing is computed with it."""
        raise TypeError(f"{func}: a shard of rows is written and read, nothing is computed with it")

    def _offsets(self) -> torch.Size:
        return torch.Size((self.first, *[0] * (self.rows.dim() - 1)))

    def __create_chunk_list__(self) -> list[Any]:
        """Where they lie."""
        from torch.distributed.checkpoint.metadata import ChunkStorageMetadata

        if not len(self.rows):
            return []
        return [ChunkStorageMetadata(offsets=self._offsets(), sizes=self.rows.size())]

    def __create_write_items__(self, name: str, _object: object) -> list[object]:
        """What is to be written."""
        from torch.distributed.checkpoint.metadata import MetadataIndex, TensorProperties
        from torch.distributed.checkpoint.planner import TensorWriteData, WriteItem, WriteItemType

        return [
            WriteItem(
                index=MetadataIndex(name, self._offsets()),
                type=WriteItemType.SHARD,
                tensor_data=TensorWriteData(
                    chunk=chunk,
                    properties=TensorProperties.create_from_tensor(self.rows),
                    size=self.size(),
                ),
            )
            for chunk in self.__create_chunk_list__()
        ]

    def __get_tensor_shard__(self, _index: object) -> Tensor:
        """The rows."""
        return self.rows


def write_shards(folder: Path, state: Mapping[str, Tensor | RowShard], *, alone: bool) -> None:
    """Write what all ranks have, one safetensors file a rank; ranks call it together.

    A tensor that all have is written once.
    """
    from torch.distributed.checkpoint.api import CheckpointException
    from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageWriter
    from torch.distributed.checkpoint.state_dict_saver import save

    writer = HuggingFaceStorageWriter(path=str(folder), save_distributed=True)
    try:
        with _quiet():
            save(dict(state), storage_writer=writer, no_dist=alone)
    except CheckpointException as error:
        fault = next(iter(error.failures.values()))[0]
        raise WriteError(f"{folder} cannot be written: {fault}.") from None


def rows_in(name: str, tables: Sequence[str]) -> bool:
    """Whether a tensor has a row for each entity: a table's weights, or what is kept beside them.

    Names end in 'TABLE.weight' or 'TABLE.weight/FIELD'.
    """
    parts = name.removeprefix("model/").removeprefix("optimizer/").split("/")
    return parts[0].removesuffix(".weight") in tables and parts[1:] not in ([STEP], [DUE])


def read_shards(
    folder: Path, first: int, last: int, tables: Sequence[str], *, alone: bool
) -> dict[str, Tensor]:
    """Rows from ``first`` to ``last`` of what is in ``tables``, and all else whole, by name."""
    from torch.distributed.checkpoint.api import CheckpointException
    from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader
    from torch.distributed.checkpoint.metadata import TensorStorageMetadata
    from torch.distributed.checkpoint.state_dict_loader import load

    reader = HuggingFaceStorageReader(path=str(folder))
    state: dict[str, Tensor | RowShard] = {}
    for name, about in reader.read_metadata().state_dict_metadata.items():
        assert isinstance(about, TensorStorageMetadata)
        if rows_in(name, tables):
            rows = torch.empty(last - first, *about.size[1:], dtype=about.properties.dtype)
            state[name] = RowShard(rows, first, about.size[0])
        else:
            state[name] = torch.empty(about.size, dtype=about.properties.dtype)
    try:
        with _quiet():
            load(state, storage_reader=reader, no_dist=alone)
    except CheckpointException as error:  # on all ranks, whoever met it
        raise ValueError(str(next(iter(error.failures.values()))[0])) from None
    return {n: value.rows if isinstance(value, RowShard) else value for n, value in state.items()}


@contextmanager
def _quiet() -> Iterator[None]:
    """Torch warns a process that is alone of being so."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="torch.distributed is disabled")
        yield

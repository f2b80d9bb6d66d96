"""The state of a run on ranks: saved one file a rank, and resumed at any number of them.

Below the folder of the run, in ``ranks``:

    checkpoint/    the state to resume from: shards of weights and optimiser, state.json
    kept/          the weights that validation kept, likewise

Each appears whole under its name (data.files). state.json has the digests of what the shards hold,
which are checked when they are read (training.shard_digests), and a seal of its own. When the run
ends, rank 0 makes model.safetensors of what was kept, a part at a time, and the folder is one like
any other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from safetensors import safe_open
from torch import Tensor

from hale.data.files import finish_replacing, make_folder, whole_folder, write_json
from hale.engine.group import Group
from hale.engine.shards import Shards
from hale.errors import RunError
from hale.models import Model
from hale.runs.file_names import HISTORY, MODEL, RANKS
from hale.runs.folder import RunFolder
from hale.runs.header import read_header
from hale.runs.seal import sealed, unsealed
from hale.runs.tensor_file import PART, InParts
from hale.training.checkpoint import State, section
from hale.training.optimizers import Optimizer
from hale.training.pieces import TABLES
from hale.training.row_shard import RowShard, read_shards, rows_in, write_shards
from hale.training.shard_digests import (
    Digest,
    Digests,
    ShardDigests,
    check_names,
    digest_of,
    not_as_written,
)

CHECKPOINT, KEPT, STATE = "checkpoint", "kept", "state.json"
DIGESTS = "digests"  # in STATE; earlier versions had none


class ShardedStore:
    """Saves and resumes runs of which this rank has the rows of a span."""

    def __init__(self, group: Group, shards: Shards) -> None:
        self.group = group
        self.shards = shards
        self.span = shards.span(group.rank)
        self.digests = ShardDigests(group, shards)

    def save(
        self,
        folder: RunFolder,
        state: State,
        model: Model,
        optimizer: Optimizer,
        *,
        kept: bool = True,
    ) -> None:
        """Write the checkpoint, then what is kept if the state at hand is.

        In this order a kill between the two costs nothing: ``resume`` writes what is lacking.
        """
        tensors = {f"model/{name}": value for name, value in model.state_dict().items()}
        tensors |= {f"optimizer/{name}": value for name, value in optimizer.state().items()}
        self._write(folder, CHECKPOINT, tensors, asdict(state))
        if kept and state.kept_step == state.clock.step:
            self._keep(folder, state, model, optimizer)
        if self.group.leads:
            folder.write_lines(HISTORY, [asdict(record) for record in state.history])

    def _keep(self, folder: RunFolder, state: State, model: Model, optimizer: Optimizer) -> None:
        weights = optimizer.settled(model.state_dict())
        self._write(folder, KEPT, weights, {"kept_step": state.kept_step})

    def resume(self, folder: RunFolder, model: Model, optimizer: Optimizer) -> State:
        """Put model and optimiser back as they were -> the state."""
        found = self._read(folder, CHECKPOINT)
        if found is None:
            return State()
        tensors, about = found
        state = State.of(about)
        model.load_state_dict(section(tensors, "model/"))
        optimizer.restore(section(tensors, "optimizer/"))
        if state.kept_step == state.clock.step:  # a kill may have come before it was written
            self._keep(folder, state, model, optimizer)
        elif self._about(folder, KEPT).get("kept_step") != state.kept_step:
            raise RunError(
                f"The run {folder.path} is damaged: {RANKS}/{KEPT} is not of step "
                f"{state.kept_step}, which {RANKS}/{CHECKPOINT} keeps."
            )
        return state

    def kept(self, folder: RunFolder) -> Mapping[str, Tensor]:
        """The weights that are kept, of this rank's rows."""
        found = self._read(folder, KEPT)
        assert found is not None
        return found[0]

    def last(self, folder: RunFolder) -> Mapping[str, Tensor]:
        """The weights of the checkpoint, of this rank's rows."""
        found = self._read(folder, CHECKPOINT)
        assert found is not None
        return section(found[0], "model/")

    def publish(self, folder: RunFolder) -> None:
        """Rank 0 makes model.safetensors of what is kept."""
        if self.group.leads:
            about = self._about(folder, KEPT)
            with folder.blaming(f"{RANKS}/{KEPT}"):
                found = joined(_place(folder, KEPT), self.shards, about.get(DIGESTS))
                folder.write_tensors(MODEL, found, {"step": about["kept_step"]})
        self.group.barrier()

    # -- files -----------------------------------------------------------------

    def _write(
        self, folder: RunFolder, name: str, tensors: Mapping[str, Tensor], about: dict[str, Any]
    ) -> None:
        """A folder of shards, which all ranks fill and rank 0 brings to its place."""
        shards = {
            key: RowShard(value, self.span.first, self.shards.num_rows)
            if rows_in(key, TABLES)
            else value
            for key, value in tensors.items()
        }
        digests = self.digests.made(tensors)
        alone, target = self.group.size == 1, _place(folder, name)
        if not self.group.leads:
            place = Path(self.group.broadcast())
            with self.group.waiting("a save"):
                write_shards(place, shards, alone=alone)
        else:
            owner = read_header(folder.path).get("id")
            make_folder(target.parent)
            finish_replacing(target)
            with whole_folder(target, replace=target.exists()) as waiting:
                self.group.broadcast(str(waiting))
                with self.group.waiting("a save"):
                    write_shards(waiting, shards, alone=alone)
                write_json(waiting / STATE, sealed(about | {"owner": owner, DIGESTS: digests}))
        self.group.barrier()

    def _about(self, folder: RunFolder, name: str) -> dict[str, Any]:
        place = _place(folder, name) / STATE
        with folder.blaming(f"{RANKS}/{name}/{STATE}"):
            about = dict(unsealed(json.loads(place.read_text()), must=False))
        owner = read_header(folder.path).get("id")
        if about.pop("owner", None) != owner:
            raise RunError(f"The run {folder.path} is damaged: {RANKS}/{name} is another run's.")
        return about

    def _read(
        self, folder: RunFolder, name: str
    ) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """The tensors of this rank and what is said of them; None where nothing was saved."""
        place = _place(folder, name)
        if self.group.leads and place.parent.is_dir():
            finish_replacing(place)
        self.group.barrier()
        if not place.is_dir():
            return None
        about = self._about(folder, name)
        with folder.blaming(f"{RANKS}/{name}"):
            tensors = read_shards(place, *self.span, TABLES, alone=self.group.size == 1)
            if DIGESTS in about:
                self.digests.check(tensors, about[DIGESTS])
            return tensors, about


def _place(folder: RunFolder, name: str) -> Path:
    return folder.path.absolute() / RANKS / name


def joined(
    place: Path, shards: Shards, digests: Digests | None = None
) -> dict[str, Tensor | InParts]:
    """The tensors of a folder of shards, whole: rows are read, and checked, as they are written."""
    pieces: dict[str, list[tuple[int, Path]]] = {}
    found: dict[str, Tensor | InParts] = {}
    for path in sorted(place.glob("*.safetensors")):
        with safe_open(path, framework="pt") as file:
            offsets = json.loads(file.metadata()["DCP_SHARDING_INFO"])
            for name in file.keys():  # noqa: SIM118
                if rows_in(name, TABLES):
                    pieces.setdefault(name, []).append((offsets[name]["saved_offsets"][0], path))
                    continue
                value = found[name] = file.get_tensor(name)
                if digests is not None and digests.get(name) != [digest_of(value)]:
                    raise not_as_written(name)
    for name, parts in pieces.items():
        wanted = None if digests is None else digests.get(name)
        found[name] = _table(name, sorted(parts), shards, wanted)
    if digests is not None:
        check_names(found, digests)
    return found


def _table(
    name: str, parts: list[tuple[int, Path]], shards: Shards, wanted: list[str] | None
) -> InParts:
    """A table of rows that lie in several files, each with its first row, in their order.

    Whole shards lie in a file, whatever the number of ranks was.
    """
    with safe_open(parts[0][1], framework="pt") as file:
        one = file.get_slice(name)[:1]
    step = max(1, PART // (4 * one[0].numel()))

    def rows() -> Iterator[Tensor]:
        for number, (start, stop) in enumerate(pairwise(shards.begins.tolist())):
            if start == stop:
                continue
            before, path = next(part for part in reversed(parts) if part[0] <= start)
            digest = Digest((stop - start, *one.shape[1:]), one.dtype)
            with safe_open(path, framework="pt") as file:
                for first in range(start - before, stop - before, step):
                    part = file.get_slice(name)[first : min(first + step, stop - before)]
                    digest.add(part)
                    yield part
            if wanted is not None and digest.text != wanted[number]:
                raise not_as_written(name, start, stop)

    return InParts((shards.num_rows, *one.shape[1:]), one.dtype, rows)

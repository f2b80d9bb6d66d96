from __future__ import annotations

import hashlib
import json
import random
import shutil
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor

from hale.engine.group import Group
from hale.engine.shards import Shards
from hale.errors import RunError
from hale.runs.file_names import MODEL, RANKS
from hale.runs.folder import RunFolder
from hale.runs.seal import sealed
from hale.training.mapped_graph import FACTS
from hale.training.ranked_start import train_on_ranks
from hale.training.shard_digests import ShardDigests
from hale.training.sharded_checkpoint import CHECKPOINT, KEPT, STATE, ShardedStore
from tests.conftest import ring
from tests.ranks import Ranks

SIZE = 200
VALUES = {"model": "rotl", "dim": 4, "epochs": 2, "batch_size": 90, "queries": 20, "block": 80}
pytestmark = pytest.mark.filterwarnings("ignore:block")


def trained(group: Group, out: Path) -> None:
    train_on_ranks(group, partial(ring, SIZE), VALUES, out=out)


@pytest.fixture(scope="module")
def made(ranks: Ranks, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that two ranks saved."""
    out = tmp_path_factory.mktemp("runs") / "two"
    ranks(2, trained, out)
    return out


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "run"))


def read(group: Group, out: Path, name: str = CHECKPOINT) -> dict[str, Tensor] | str:
    """What this rank has of a folder of shards, or why it has nothing."""
    store = ShardedStore(group, Shards(SIZE, group.size))
    try:
        found = store._read(RunFolder(out), name)
    except RunError as error:
        return str(error)
    assert found is not None
    return found[0]


def same(found: dict[str, Tensor], before: dict[str, Tensor]) -> bool:
    return found.keys() == before.keys() and all(torch.equal(found[n], before[n]) for n in before)


def flip(path: Path, place: int, bit: int = 1) -> None:
    whole = bytearray(path.read_bytes())
    whole[place] ^= bit
    path.write_bytes(whole)


def end_of(path: Path, name: str) -> int:
    """Where the bytes of a tensor end in a file."""
    whole = path.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    return header + int(json.loads(whole[8:header])[name]["data_offsets"][1])


def shards_of(run: Path, name: str = CHECKPOINT) -> list[Path]:
    return sorted((run / RANKS / name).glob("*.safetensors"))


def test_a_wrong_byte_anywhere_is_noticed_or_harmless(run: Path) -> None:
    before = read(Group(), run)
    assert not isinstance(before, str)
    draw, noticed = random.Random(0), 0
    for path in shards_of(run):
        whole = path.read_bytes()
        header = 8 + int.from_bytes(whole[:8], "little")
        places = draw.sample(range(header), 60) + draw.sample(range(header, len(whole)), 20)
        for place in places:
            flip(path, place, (0x01, 0x20, 0x80)[place % 3])
            found = read(Group(), run)
            path.write_bytes(whole)
            if isinstance(found, str):
                noticed += 1
                assert f"{RANKS}/{CHECKPOINT}" in found
            else:  # such as a letter of what torch says of the format
                assert place < header
                assert same(found, before)
    assert noticed > 100


@pytest.mark.parametrize("size", [1, 2, 3])
def test_all_ranks_refuse_what_one_has_read(ranks: Ranks, run: Path, size: int) -> None:
    last = shards_of(run)[-1]  # of the second rank
    place = end_of(last, "model/entity.weight") - 1
    flip(last, place)
    told = ranks(size, read, run)
    assert len(set(map(str, told))) == 1
    assert "the checksum differs" in told[0]
    assert "rows 196 to 199 of model/entity.weight" in told[0]  # the last of 64 shards
    flip(last, place)
    assert all(not isinstance(found, str) for found in ranks(size, read, run))


def test_what_is_kept_is_checked_on_its_way_into_the_model(run: Path) -> None:
    folder, store = RunFolder(run), ShardedStore(Group(), Shards(SIZE, 1))
    before = folder.read_tensors(MODEL)[0]
    store.publish(folder)
    assert all(
        torch.equal(before[name], now) for name, now in folder.read_tensors(MODEL)[0].items()
    )
    for path in shards_of(run, KEPT):  # the first has relations, too
        for place in (path.stat().st_size - 1, 8 + int.from_bytes(path.read_bytes()[:8], "little")):
            flip(path, place, 0x80)
            with pytest.raises(RunError, match="kept cannot be read .* the checksum differs"):
                store.publish(folder)
            flip(path, place, 0x80)
    assert all(
        torch.equal(before[name], now) for name, now in folder.read_tensors(MODEL)[0].items()
    )


def test_shards_of_another_save_are_refused(run: Path) -> None:
    """Those of one rank alone, as a copy that was cut off leaves them."""
    mine, theirs = (shards_of(run, name)[1] for name in (CHECKPOINT, KEPT))
    shutil.copy(theirs, mine)
    found = read(Group(), run)
    assert isinstance(found, str)
    assert "damaged" in found


def test_digests_by_hand(run: Path) -> None:
    """Of float32 (4, 4), the last shard of 200 rows; of relations whole."""
    tensors = read(Group(), run, KEPT)
    assert not isinstance(tensors, str)
    said = json.loads((run / RANKS / KEPT / STATE).read_text())["digests"]
    assert set(said) == set(tensors)
    rows = tensors["entity.weight"][196:].numpy().tobytes()
    assert len(said["entity.weight"]) == 64
    wanted = hashlib.sha256(b"torch.float32 (4, 4)" + rows).hexdigest()[:16]
    assert said["entity.weight"][-1] == wanted
    (name,) = [name for name in tensors if "free_scale" in name]
    shape = str(tuple(tensors[name].shape)).encode()
    scales = hashlib.sha256(b"torch.float32 " + shape + tensors[name].numpy().tobytes())
    assert said[name] == [scales.hexdigest()[:16]]


def digests(group: Group, tensors: dict[str, Tensor]) -> dict[str, list[str]]:
    first, last = Shards(SIZE, group.size).span(group.rank)
    mine = {n: value[first:last] if "entity" in n else value for n, value in tensors.items()}
    return ShardDigests(group, Shards(SIZE, group.size)).made(mine)


def test_they_are_the_same_on_any_number_of_ranks(ranks: Ranks) -> None:
    tensors = {"entity.weight": torch.randn(SIZE, 3), "turn.weight": torch.randn(4, 3)}
    alone = digests(Group(), tensors)
    assert ranks(3, digests, tensors) == [alone] * 3


def test_a_state_of_an_earlier_version_has_none(run: Path) -> None:
    state = run / RANKS / CHECKPOINT / STATE
    said = json.loads(state.read_text())
    del said["digests"]
    state.write_text(json.dumps(sealed(said)))
    assert not isinstance(read(Group(), run), str)


def test_facts_that_are_not_the_runs_own_are_refused(run: Path) -> None:
    path = run / FACTS / "train.npy"
    flip(path, path.stat().st_size - 8)  # the last tail becomes its neighbour
    with pytest.raises(RunError, match="its triples and weights are not those of the run"):
        train_on_ranks(Group(), None, {"epochs": 9}, out=run, resume=True)

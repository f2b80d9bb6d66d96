from __future__ import annotations

import json
import os
import shutil
import signal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from hale import evaluate, load_run
from hale.data.vocabulary import VocabularyOnDisk
from hale.engine.group import Group
from hale.errors import HaleError, RunError, SettingsError
from hale.runs.file_names import MODEL, RANKS
from hale.runs.folder import RunFolder
from hale.runs.run import Record
from hale.runs.seal import sealed
from hale.settings import make_settings
from hale.training.mapped_graph import mapped_graph
from hale.training.ranked_start import on_cpus, train_on_ranks
from hale.training.start import train
from hale.training.stopping import Clock
from tests.conftest import ring
from tests.ranks import Ranks

SIZE = 200
VALUES: dict[str, Any] = {
    "model": "rotl",
    "dim": 8,
    "epochs": 6,
    "batch_size": 90,
    "queries": 20,
    "block": 80,
    "validate_every": 2,
    "loops": False,
}
pytestmark = pytest.mark.filterwarnings("ignore:block")


class Stopper:
    """An observer that is told to stop, as by Ctrl-C, after some steps."""

    def __init__(self, after: int) -> None:
        self.after = after

    def stepped(self, clock: Clock, _progress: float, _losses: dict[str, float]) -> None:
        if clock.step == self.after:
            os.kill(os.getpid(), signal.SIGTERM)

    def validated(self, record: Record, *, kept: bool) -> None:
        pass


def trained(
    group: Group, out: Path, stop: int | None = None, resume: bool = False, **values: Any
) -> str | None:
    """How the run ended, by this rank."""
    run = train_on_ranks(
        group,
        None if resume else partial(ring, SIZE),
        {} if resume else {**VALUES, **values},
        out=out,
        resume=resume,
        observer=None if stop is None else Stopper(stop),
    )
    return None if run is None else run.summary.stopped_by


def weights_of(out: Path) -> dict[str, Tensor]:
    return RunFolder(out).read_tensors(MODEL)[0]


def same(one: Path, other: Path) -> bool:
    first, second = weights_of(one), weights_of(other)
    return set(first) == set(second) and all(torch.equal(first[n], second[n]) for n in first)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of one rank."""
    out = tmp_path_factory.mktemp("runs") / "one"
    assert trained(Group(), out) == "epochs"
    return out


def test_a_run_of_two_ranks_is_a_run_like_any_other(
    ranks: Ranks, tmp_path: Path, unbroken: Path
) -> None:
    out = tmp_path / "two"
    assert ranks(2, trained, out) == ["epochs", "epochs"]
    assert same(out, unbroken)
    run, alone = load_run(out), load_run(unbroken)
    assert run.summary.ranks == 2
    assert [record.metrics for record in run.history] == [r.metrics for r in alone.history]
    assert len(run.history) == 3
    assert evaluate(run, "test").mrr == evaluate(alone, "test").mrr
    assert list(run.graph.entities.names[:2]) == ["e000", "e001"]
    kept = [path.name for path in (out / RANKS / "checkpoint").glob("*.safetensors")]
    assert len(kept) == 2  # one file a rank


def test_saved_at_three_ranks_and_resumed_at_others(
    ranks: Ranks, tmp_path: Path, unbroken: Path
) -> None:
    out = tmp_path / "three"
    assert ranks(3, trained, out, 11)[0] == "interrupt"  # between two validations
    assert load_run(out).summary.steps == 12  # ranks hear of it in the step after
    for size in (1, 2):
        copy = tmp_path / f"resumed-{size}"
        shutil.copytree(out, copy)
        assert ranks(size, trained, copy, None, True)[0] == "epochs"
        assert same(copy, unbroken)


def test_names_stay_on_disk(unbroken: Path) -> None:
    graph = mapped_graph(RunFolder(unbroken))
    assert isinstance(graph.entities, VocabularyOnDisk)
    assert len(graph.entities) == SIZE
    assert "column" not in vars(graph.entities)
    assert isinstance(graph.train, np.memmap)
    assert graph.entities[3] == "e003"
    np.testing.assert_array_equal(graph.train, ring(SIZE).train)


def refused(group: Group, out: Path) -> str:
    try:
        values = {"model": "rotl", "strategy": "samneg", "epochs": 1}
        train_on_ranks(group, partial(ring, SIZE), values, out=out)
    except HaleError as error:
        return str(error)
    return ""


def test_what_rank_0_refuses_ends_all(ranks: Ranks, tmp_path: Path) -> None:
    told = ranks(2, refused, tmp_path / "none")
    assert "samneg does not train on ranks" in told[0]
    assert told[1] == ""  # one tells it
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"model": "rgcn", "strategy": "allneg"}, "computed from those of their neighbours"),
        ({"model": "transd", "strategy": "allneg"}, "compares by projected"),
        ({"model": "convkb", "strategy": "allneg"}, "compares by network"),
        ({"model": "rotl", "teacher": ["somewhere"]}, "not divided among ranks"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_ranks_cannot_divide_is_refused(
    tmp_path: Path, values: dict[str, Any], told: str
) -> None:
    out = tmp_path / "none"
    with pytest.raises(SettingsError, match=told):
        train_on_ranks(Group(), partial(ring, SIZE), {"epochs": 1, **values}, out=out)
    assert not out.exists()


def test_a_run_of_one_process_is_not_resumed_on_ranks_nor_the_other_way(
    tmp_path: Path, unbroken: Path
) -> None:
    train(ring(24), out=tmp_path / "run", model="rotl", dim=8, epochs=1)
    with pytest.raises(RunError, match="was not begun on ranks"):
        train_on_ranks(Group(), None, {}, out=tmp_path / "run", resume=True)
    with pytest.raises(RunError, match="--ranks"):
        train(None, out=unbroken, resume=True, epochs=9)


def test_ranks_train_on_cpus() -> None:
    assert on_cpus(make_settings(epochs=1)).device == "cpu"
    with pytest.raises(SettingsError, match="not on cuda"):
        on_cpus(make_settings(epochs=1, device="cuda"))


def test_another_runs_shards_are_refused(tmp_path: Path, unbroken: Path) -> None:
    out = tmp_path / "other"
    shutil.copytree(unbroken, out)
    state = out / RANKS / "checkpoint" / "state.json"
    state.write_text(json.dumps(sealed({**json.loads(state.read_text()), "owner": "somebody"})))
    with pytest.raises(RunError, match="another run's"):
        train_on_ranks(Group(), None, {"epochs": 9}, out=out, resume=True)


def test_a_restarted_group_goes_on(
    tmp_path: Path, unbroken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As torchrun starts it after a rank died: the same command, and another count."""
    out = tmp_path / "run"
    assert trained(Group(), out, stop=11) == "interrupt"
    with pytest.raises(RunError, match="exists"):
        trained(Group(), out)
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert trained(Group(), out) == "epochs"
    assert same(out, unbroken)


def test_a_damaged_note_of_the_job_is_one_error_that_names_it(
    tmp_path: Path, unbroken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    shutil.copytree(unbroken, out)
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "mine")
    for content in (b"", b"[]", b"{}", b"\xff", b"5"):
        (out / RANKS / "job.json").write_bytes(content)
        with pytest.raises(RunError, match=r"damaged: ranks/job\.json"):
            trained(Group(), out)


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"\x93NUMPY\x01\x00\x03\x00({\n"])
def test_facts_that_cannot_be_mapped_are_one_error(
    tmp_path: Path, unbroken: Path, content: bytes
) -> None:
    out = tmp_path / "run"
    shutil.copytree(unbroken, out)
    (out / RANKS / "facts" / "train.npy").write_bytes(content)
    with pytest.raises(RunError, match="damaged"):
        train_on_ranks(Group(), None, {"epochs": 9}, out=out, resume=True)

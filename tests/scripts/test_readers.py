"""Broken bytes to everything that reads: hale's own errors and no others.

The corpus has inputs that once broke a reader; `make fuzz` looks for more.
"""

from __future__ import annotations

import importlib
import random
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hale.errors import HaleError
from hale.serve.pages import rendering

ROOT = Path(__file__).parents[2]
CORPUS = Path(__file__).parent / "corpus"
LEFT_OUT = ("cells",)  # where what is damaged counts as missing, and the rest is read
sys.path.insert(0, str(ROOT / "scripts/fuzz"))
inputs, mutations, readers = (
    importlib.import_module(name) for name in ("inputs", "mutations", "readers")
)


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    work = tmp_path_factory.mktemp("fuzz")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        world = readers.world_in(work)
    (work / "place").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rendering, "STATIC", rendering.STATIC)  # readers put a stand-in there
        yield readers.make_readers(world, work / "place")


def read(reader: Any, data: bytes) -> bool:
    """Whether it is read; False where hale refuses it. Any other error is the test's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            reader.read(data)
        except HaleError:
            return False
    return True


def test_every_reader_reads_what_is_good(known: dict[str, Any]) -> None:
    assert set(known) == set(inputs.NAMES)
    for reader in known.values():
        assert any(read(reader, seed) for seed in reader.seeds), reader.name


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(name=st.sampled_from(inputs.NAMES), draw=st.randoms(use_true_random=False))
def test_what_is_nearly_good_is_read_or_refused(
    known: dict[str, Any], name: str, draw: random.Random
) -> None:
    data = mutations.mutated(draw, known[name].seeds)
    # what was refused leaves nothing behind that makes it good, or the other way round
    assert read(known[name], data) == read(known[name], data)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(name=st.sampled_from(inputs.NAMES), data=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(known: dict[str, Any], name: str, data: bytes) -> None:
    assert read(known[name], data) == read(known[name], data)


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*/*.bin")), ids=lambda path: path.parent.name)
def test_what_once_broke_a_reader_is_refused(known: dict[str, Any], path: Path) -> None:
    reader = next(one for one in known.values() if inputs.word(one.name) == path.parent.name)
    assert not read(reader, path.read_bytes()) or reader.name in LEFT_OUT


def test_a_fault_of_a_reader_is_found_and_kept_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "KEPT", tmp_path)

    def fails(data: bytes) -> None:
        if data.startswith(b"refused"):
            raise HaleError("told")
        if data.startswith(b"x"):
            raise IndexError("not told")

    trial = inputs.Trial(readers.Reader("a reader", (b"",), fails), tmp_path / "progress.json")
    for data in (b"good", b"refused", b"x1", b"x2"):
        trial(data)
    assert (trial.count, trial.refused, len(trial.broken)) == (4, 1, 1)
    (kept,) = tmp_path.glob("a-reader/*.bin")
    assert kept.read_bytes() == b"x1"

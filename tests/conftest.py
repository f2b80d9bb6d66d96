from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from hypothesis import settings

from hale.data.graph import Graph, Vocabulary
from hale.engine import library
from tests.ranks import Ranks

# On CI the same examples every time; elsewhere new ones, so that the search goes on.
settings.register_profile("ci", derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(autouse=True)
def _draws() -> None:
    """On CI each test draws the same numbers every time, whatever ran before it."""
    if os.environ.get("CI"):
        torch.manual_seed(0)


@pytest.fixture
def choose_engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Lets a test say which implementation runs from then on."""

    def choose(name: str) -> None:
        monkeypatch.setenv("HALE_ENGINE", name)
        library.look_again()

    yield choose
    monkeypatch.undo()
    library.look_again()


def ring(num_entities: int, *, held_out: int = 4) -> Graph:
    """A ring: 'next' leads one place on, 'skip' two; some triples of each are held out."""
    ids = np.arange(num_entities)
    after = np.stack([ids, np.zeros_like(ids), (ids + 1) % num_entities], axis=1)
    skip = np.stack([ids, np.ones_like(ids), (ids + 2) % num_entities], axis=1)
    stride = num_entities // held_out
    valid, test = after[::stride][:held_out], skip[::stride][:held_out]
    keep_after = np.delete(after, np.arange(0, num_entities, stride)[:held_out], axis=0)
    keep_skip = np.delete(skip, np.arange(0, num_entities, stride)[:held_out], axis=0)
    return Graph(
        name="ring",
        entities=Vocabulary([f"e{i:03}" for i in ids], "entity"),
        relations=Vocabulary(["next", "skip"], "relation"),
        train=np.concatenate([keep_after, keep_skip]),
        valid=valid,
        test=test,
        labels={"e000": "the first", "e001": "twin", "e002": "twin"},
    )


@pytest.fixture
def graph() -> Graph:
    return ring(24)


@pytest.fixture(scope="session")
def ranks() -> Iterator[Ranks]:
    """Processes that can be the ranks of a group."""
    ready = Ranks()
    yield ready
    ready.close()

"""Rows -> ids: against the slow and obvious way, which kept every name as text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hale.data.sources import assemble as module
from hale.data.sources import read_graph
from hale.data.sources.assemble import assemble, codes_of_names, distinct, split_at_random
from hale.data.sources.layout import ROLES
from hale.errors import InputError

Rows = list[tuple[str, str, str]]

names = st.sampled_from(["b", "a", "é", "ab", "B", "zz", "c"])
rows_ = st.lists(st.tuples(names, st.sampled_from(["s", "r", "a"]), names), min_size=1, max_size=30)


def frame(rows: Rows) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(ROLES, pl.String), orient="row")


def coded(*tables: Rows) -> list[pl.DataFrame]:
    types = codes_of_names()
    return [
        frame(rows).with_columns(pl.col(role).cast(types[role]) for role in ROLES)
        for rows in tables
    ]


def by_hand(rows: Rows, share: float, seed: int) -> dict[str, Rows]:
    """Held out at random, as it is described, row by row."""
    shuffled = [rows[i] for i in np.random.default_rng(seed).permutation(len(rows))]
    entities: set[str] = set()
    relations: set[str] = set()
    free = []
    for number, (head, relation, tail) in enumerate(shuffled):
        if {head, tail} <= entities and relation in relations:
            free.append(number)
        entities |= {head, tail}
        relations.add(relation)
    wanted = min(round(share * len(rows)), len(free) // 2)
    valid, test = free[:wanted], free[wanted : 2 * wanted]
    train = [i for i in range(len(rows)) if i not in valid and i not in test]
    parts = {"train": train, "valid": valid, "test": test}
    return {split: [shuffled[i] for i in part] for split, part in parts.items() if part}


@given(rows_, st.floats(0, 0.49), st.integers(0, 5))
def test_a_random_split_by_hand(rows: Rows, share: float, seed: int) -> None:
    rows = list(dict.fromkeys(rows))
    expected = by_hand(rows, share, seed)
    for table in (frame(rows), *coded(rows)):
        found = split_at_random(table, share=share, seed=seed)
        assert {split: part.rows() for split, part in found.items()} == expected


@given(rows_, st.sampled_from([1, 2**63]))
def test_repeats_are_dropped_in_order(rows: Rows, limit: int) -> None:
    """Also where the numbers of triples would not fit."""
    notes: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LIMIT", limit)
        found = distinct(coded(rows)[0], "x", notes)
    once = list(dict.fromkeys(rows))
    assert found.rows() == once
    assert len(notes) == (len(once) < len(rows))
    assert all(note.startswith(f"x: {len(rows) - len(once)} repeated") for note in notes)


@given(rows_, rows_, st.sampled_from([1, 2, 1 << 20]))
def test_ids_and_notes_by_hand(train: Rows, test: Rows, part: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PART", part)
        one, two = coded(train, test)
        graph = assemble("g", {"train": one, "test": two})
    ends = sorted({name for h, _, t in train + test for name in (h, t)})
    kinds = sorted({r for _, r, _ in train + test})
    assert graph.entities.names == ends
    assert graph.relations.names == kinds
    for rows, ids in ((train, graph.train), (test, graph.test)):
        once = dict.fromkeys(rows)
        assert ids.tolist() == [[ends.index(h), kinds.index(r), ends.index(t)] for h, r, t in once]
    leaked = len(set(train) & set(test))
    said = [note for note in graph.notes if "also in train" in note]
    assert len(said) == (leaked > 0)
    assert all(note.startswith(f"test: {leaked} triple") for note in said)
    seen = {name for h, _, t in train for name in (h, t)}, {r for _, r, _ in train}
    strange = [row for row in set(test) if not {row[0], row[2]} <= seen[0] or row[1] not in seen[1]]
    said = [note for note in graph.notes if "that train lacks" in note]
    assert len(said) == (len(strange) > 0)
    assert all(note.startswith(f"test: {len(strange)} triple") for note in said)


def test_triples_are_not_copied_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    usual = module._ids

    def watched(*given: object) -> object:
        found = usual(*given)  # type: ignore[arg-type]
        made.append(id(found))
        return found

    monkeypatch.setattr(module, "_ids", watched)
    graph = assemble("g", {"train": coded([("a", "r", "b")])[0]})
    assert made == [id(graph.train)]


def test_a_seed_is_not_negative(tmp_path: Path) -> None:
    (tmp_path / "g.tsv").write_text("a\tr\tb\n")
    with pytest.raises(InputError, match="A seed is 0 or more, got -1"):
        read_graph(tmp_path / "g.tsv", seed=-1)

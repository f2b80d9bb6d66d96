"""Rows compared triple by triple, and the page by relation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hale.data.graph import Graph
from hale.lab.paper import EXPERIMENTS
from hale.lab.paper.rank_files import (
    Ranks,
    read_ranks,
    read_triples,
    write_ranks,
    write_triples,
)
from hale.lab.paper.relation_page import render_relations
from hale.lab.paper.render import render_table
from hale.lab.paper.significance import FLIPS
from hale.lab.paper.table_rows import rows_of
from tests.lab.paper.test_experiments import finished_cell


def kept_alike(ranks: np.ndarray) -> Ranks:
    """Ranks that no rule changes, on test and on validation triples."""
    return Ranks(headline=ranks, plain=ranks, ruled=None, valid=ranks)


def test_ranks_come_back_as_they_were(tmp_path: Path) -> None:
    ranks = np.array([1.0, 2.5, 40943.0, 70000.5])
    write_ranks(tmp_path, "one", Ranks(ranks, ranks[::-1], None, ranks[:2]))
    write_ranks(tmp_path, "two", Ranks(ranks[:2], ranks[2:], ranks[1:3], ranks))
    one, two = read_ranks(tmp_path, "one"), read_ranks(tmp_path, "two")
    assert one is not None
    assert two is not None
    assert two.ruled is not None
    assert (one.headline.tolist(), one.ruled) == (ranks.tolist(), None)
    assert (one.plain.tolist(), one.valid.tolist()) == ([70000.5, 40943.0, 2.5, 1.0], [1.0, 2.5])
    assert (two.headline.tolist(), two.plain.tolist()) == ([1.0, 2.5], [40943.0, 70000.5])
    assert (two.ruled.tolist(), two.valid.tolist()) == ([2.5, 40943.0], ranks.tolist())
    assert read_ranks(tmp_path, "three") is None


def test_seen_are_triples_of_trained_entities(graph: Graph, tmp_path: Path) -> None:
    write_triples(tmp_path, "tiny", graph)
    found = read_triples(tmp_path, "tiny")
    assert found is not None
    trained = set(graph.train[:, [0, 2]].ravel().tolist())
    assert found.seen.tolist() == [h in trained and t in trained for h, _, t in graph.test.tolist()]
    assert found.relations.tolist() == graph.test[:, 1].tolist()
    assert list(found.names) == list(graph.relations.names)


def test_hale_meets_rivals_at_their_share_of_the_time() -> None:
    """With its own model where there is one, else by its best on validation; bold tells."""
    table = EXPERIMENTS["table3"].select(("wn18rr",))
    pick = {
        (e.group, e.row): e
        for e in table
        if (e.group, e.row)
        in {("HaLE", "RotL"), ("HaLE", "RotE"), ("SamNeg", "RotL"), ("Hyperbolic, SamNeg", "MuRP")}
    }
    draws = np.random.default_rng(0)
    base = draws.integers(1, 30, size=400).astype(float)
    ranks = {
        "HaLE RotL": base,
        "HaLE RotE": base,
        "SamNeg RotL": 3 * base,
        "Hyperbolic, SamNeg MuRP": np.roll(base, 1),
    }
    finished, kept = {}, {}
    for (group, row), entry in pick.items():
        name = f"{group} {row}"
        valid = {"mrr": 0.5 if row == "RotE" else 0.4}
        finished[name] = finished_cell(entry, key=name, valid=valid)
        kept[name] = kept_alike(ranks[name])
    rows = {
        f"{r.entry.group} {r.entry.row}": r for r in rows_of([*pick.values()], finished, kept.get)
    }
    beaten, even = rows["SamNeg RotL"], rows["Hyperbolic, SamNeg MuRP"]
    assert beaten.rival_of is rows["HaLE RotL"]
    assert even.rival_of is rows["HaLE RotE"], "best on validation"
    assert beaten.against is not None
    assert beaten.against.gain == pytest.approx((1 / base).mean() * 2 / 3)
    assert beaten.against.tells
    assert even.against is not None
    assert not even.against.tells
    assert [name for name, found in rows.items() if found.best] == ["HaLE RotL"]
    marked = rows_of([*pick.values()], finished, kept.get, marked=["HaLE RotL"])
    assert all(row.rival_of is None for row in marked if row.entry.group == "SamNeg")
    assert not any(row.best for row in marked), "who is marked is compared with none"
    other = finished["HaLE RotL"]
    threads = {**other.training, "threads": 64}
    finished["HaLE RotL"] = replace(other, training=threads)
    wide = rows_of([*pick.values()], finished, kept.get)
    (sampled,) = (row for row in wide if row.entry.group == "SamNeg")
    assert sampled.rival_of is not None
    assert sampled.rival_of.entry.row == "RotE", "of as many threads"
    finished["HaLE RotL"] = replace(other, scale=0.1)
    rows = {
        f"{r.entry.group} {r.entry.row}": r for r in rows_of([*pick.values()], finished, kept.get)
    }
    assert rows["SamNeg RotL"].rival_of is rows["HaLE RotE"], "of the same share"


def test_the_page_by_relation(graph: Graph, tmp_path: Path) -> None:
    entry = EXPERIMENTS["table3"].select(("wn18rr",), ("rotl",), ("hale",))[0]
    write_triples(tmp_path, "wn18rr", graph)
    told = read_triples(tmp_path, "wn18rr")
    assert told is not None
    count = len(told.relations)
    ranks = np.repeat([2.0, 4.0], count)
    kept = Ranks(ranks, 4 * ranks, np.ones(2 * count), ranks)
    page = render_relations(
        [EXPERIMENTS["table3"]],
        {"a": finished_cell(entry)},
        lambda _: kept,
        lambda dataset: told if dataset == "wn18rr" else None,
    )
    assert f"On {int(told.seen.sum())} of {count} test triples" in page
    assert "| HaLE, RotL | 0.375 | 0.000 | 1.000 | 0.094 | 1.000 | 1.000 | 1.000 |" in page
    assert "| HaLE, RotL | 0.500 / 0.250 | 0.500 / 0.250 |" in page
    assert "| HaLE, RotL, by the rule | 1.000 / 1.000 |" in page


def test_the_page_by_relation_has_the_mean_of_seeds_and_their_marks(
    graph: Graph, tmp_path: Path
) -> None:
    entry = EXPERIMENTS["table3"].select(("wn18rr",), ("rotl",), ("hale",))[0]
    write_triples(tmp_path, "wn18rr", graph)
    told = read_triples(tmp_path, "wn18rr")
    assert told is not None
    ones = np.ones(2 * len(told.relations))
    page = render_relations(
        [EXPERIMENTS["table3"]],
        {"a": finished_cell(entry, key="a"), "b": finished_cell(entry, key="b")},
        lambda key: kept_alike(ones if key == "a" else 2 * ones),
        lambda dataset: told if dataset == "wn18rr" else None,
        {"b": "stale"},
    )
    assert "| HaLE, RotL (stale) | 0.750 ± 0.354 | 0.500 | 1.000 | 0.750 ± 0.354 |" in page
    assert "| HaLE, RotL (stale) | 0.750 / 0.750 |" in page


def test_ablations_meet_the_row_with_all_parts() -> None:
    entries = {e.row: e for e in EXPERIMENTS["table5"].select(("wn18rr",))}
    chosen = [entries[name] for name in ("HaLE-RotL", "w/o RelRatio", "HA + AllNeg")]
    ranks = np.arange(1.0, 201.0)
    finished = {e.row: finished_cell(e, key=e.row) for e in chosen}
    kept = {"HaLE-RotL": ranks, "w/o RelRatio": 2 * ranks, "HA + AllNeg": ranks}
    rows = rows_of(chosen, finished, lambda key: kept_alike(kept[key]))
    assert [row.rival_of for row in rows] == [None, rows[0], rows[0]]
    assert not any(row.best for row in rows), "one of the two it meets is no worse"


def test_bold_is_above_every_row_that_it_meets() -> None:
    """Above two ablations and no worse than a third: not bold, though it is below none."""
    entries = {e.row: e for e in EXPERIMENTS["table5"].select(("wn18rr",))}
    ranks = np.arange(1.0, 201.0)
    all_kept = dict.fromkeys(entries, 2 * ranks) | {"HaLE-RotL": ranks, "HA + SamNeg": ranks}
    for beaten, bold in ((False, False), (True, True)):
        kept = {**all_kept, "HA + SamNeg": 2 * ranks} if beaten else all_kept
        finished = {e.row: finished_cell(e, key=e.row) for e in entries.values()}
        rows = rows_of([*entries.values()], finished, lambda key, kept=kept: kept_alike(kept[key]))
        assert {row.entry.row: row.best for row in rows} == {
            row: bold and row == "HaLE-RotL" for row in entries
        }
        told = [row.against.p for row in rows if row.against is not None]
        assert min(told) == pytest.approx(5 / (1 + FLIPS)), "of five tests"


def test_what_goes_beyond_the_paper_is_judged_on_validation() -> None:
    """Better on test and worse on validation is worse; the page names what its figures are of."""
    experiment = EXPERIMENTS["improvements"]
    assert experiment.judged == "validation"
    entries = [e for e in experiment.select(("wn18rr",)) if e.row in ("as tuned", "beta 3")]
    ranks, other = np.arange(1.0, 201.0), np.arange(1.0, 101.0)
    kept = {
        "as tuned": Ranks(2 * ranks, ranks, None, other),
        "beta 3": Ranks(ranks, ranks, None, 2 * other),
    }
    metrics, valid = {"mrr": 0.25}, {"mrr": 0.5}
    finished = {
        e.row: finished_cell(e, key=e.row, metrics=metrics, valid=valid, plain=metrics)
        for e in entries
    }
    rows = rows_of(entries, finished, kept.get, judged="validation")
    told = rows[1].against
    assert told is not None
    assert told.gain == pytest.approx((1 / other).mean() / 2)
    assert [row.best for row in rows] == [True, False]
    page = render_table(experiment, finished, kept.get)
    heads = next(line for line in page.splitlines() if line.startswith("| | | "))
    assert "MRR on test | 95 %, validation" in heads
    lines = [line for line in page.splitlines() if "| as tuned |" in line]
    assert "| 0.250 |" in lines[0]
    assert "| **0.500** |" in lines[0]

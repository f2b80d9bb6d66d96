"""Rows compared triple by triple, and the page by relation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hale.data.graph import Graph
from hale.lab.paper import EXPERIMENTS
from hale.lab.paper.plan import seeds_of, shares_of
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
from hale.lab.paper.table_rows import Row, compare, rows_of
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


Table = dict[str, Row]


def judged(
    name: str,
    dataset: str,
    ranks: dict[str, np.ndarray],
    *,
    seeds: int = 1,
    marked: tuple[str, ...] = (),
    scale: float = 0.25,
    spread: float | None = None,
    shares: Mapping[str, float] = {},
    changes: Mapping[str, dict[str, Any]] = {},
) -> Table:
    """The rows of a table that has some alone, by group and name; those without ranks are missing.

    All at one share of the time but for some ``shares``; ``changes`` are of the cells of a row.
    With a ``spread`` they are compared again, as if seeds had it.
    """
    rows = [e for e in EXPERIMENTS[name].select((dataset,)) if f"{e.group} {e.row}" in ranks]
    finished, kept = {}, {}
    for entry in rows:
        title = f"{entry.group} {entry.row}"
        if not len(ranks[title]):
            continue
        share = shares.get(title, scale)
        assert share in shares_of(name, entry)
        for seed in range(min(seeds, seeds_of(name, entry, share))):
            mean = {"mrr": float((1 / ranks[title]).mean()) + 0.01 * seed}
            cell = finished_cell(entry, seed=seed, scale=share, plain=mean, valid_plain=mean)
            finished[cell.key] = replace(cell, **changes.get(title, {}))
            kept[cell.key] = kept_alike(ranks[title])
    wrong = [cell.key for cell in finished.values() if cell.system in marked]
    experiment = replace(EXPERIMENTS[name], entries=tuple(rows))
    shown = rows_of(experiment, finished, kept.get, wrong)[dataset]
    if spread is not None:
        compare(shown, spread)
    named = ((f"{row.entry.group} {row.entry.row}", row) for row in shown)
    return {title: row for title, row in named if row.scale == shares.get(title, scale)}


BASE = np.random.default_rng(0).integers(1, 30, size=400).astype(float)
NOTHING = np.array([])


def test_hale_meets_rivals_at_their_share_of_the_time() -> None:
    """With its own model where there is one, else by its best on validation."""
    ranks = {
        "HaLE RotL": BASE,
        "HaLE RotE": 0.9 * BASE + 0.1,
        "AllNeg baselines ComplEx": np.roll(BASE, 1),
        "SamNeg RotL": 3 * BASE,
    }
    rows = judged("table4", "codex-m", ranks)
    beaten, even = rows["SamNeg RotL"], rows["AllNeg baselines ComplEx"]
    assert {row.scale for row in rows.values()} == {0.25}
    assert beaten.rival_of is rows["HaLE RotL"]
    assert even.rival_of is rows["HaLE RotE"], "best on validation"
    assert beaten.against is not None
    assert beaten.against.gain == pytest.approx((1 / BASE).mean() * 2 / 3)
    assert beaten.against.p == pytest.approx(2 / (1 + FLIPS)), "of two tests, of one family"
    assert even.against is not None
    assert not even.against.tells
    wrong = judged("table4", "codex-m", ranks, marked=("hale-rotl",))
    assert wrong["SamNeg RotL"].against is None, "who is marked is compared with none"
    assert wrong["AllNeg baselines ComplEx"].against is not None
    threads = {"HaLE RotL": {"training": {"seconds": 1.0, "threads": 64}}}
    wide = judged("table4", "codex-m", ranks, changes=threads)
    assert wide["SamNeg RotL"].against is None, "of as many threads alone"
    other = judged("table4", "codex-m", ranks, shares={"HaLE RotL": 1.0})
    assert other["SamNeg RotL"].against is None, "of the same share alone"


def test_bold_is_who_won_against_all_that_the_plan_has() -> None:
    ranks = {"HaLE RotL": BASE, "SamNeg RotL": 3 * BASE, "HaLE as in the paper RotL": 2 * BASE}

    def bold(changed: Mapping[str, np.ndarray] = {}, **given: Any) -> list[str]:
        given = {"scale": 1.0, "seeds": 3, **given}
        rows = judged("table3", "wn18rr", {**ranks, **changed}, **given)
        return [name for name, row in rows.items() if row.best]

    assert bold() == ["HaLE RotL"]
    assert bold({"SamNeg RotL": np.roll(BASE, 1)}) == [], "it did not win"
    assert bold({"SamNeg RotL": NOTHING}) == [], "a rival is missing"
    assert bold({"Hyperbolic, SamNeg RotH": NOTHING}) == [], "or one that would meet another row"
    assert bold(seeds=2) == [], "or a seed"
    assert bold(marked=("samneg-rotl",)) == [], "a rival is marked"
    assert bold({"SamNeg RotL": BASE / 30 + 29 / 30}) == ["SamNeg RotL"], "and rivals may win"
    assert bold({"HaLE RotE": BASE / 30 + 29 / 30}) == [], "another of HaLE's is above it"
    assert bold({"HaLE RotE": BASE / 30 + 29 / 30}, marked=("hale-rote",)) == [], "if marked too"
    assert bold({"HaLE RotE": BASE}) == ["HaLE RotL"], "RotE met nobody"
    del ranks["SamNeg RotL"]
    assert bold() == [], "it met itself alone"


def test_bold_waits_for_rivals_of_models_that_hale_has_not() -> None:
    """They are to meet HaLE's best on validation, be they missing, marked, or of other threads."""
    other = "AllNeg baselines ComplEx"
    ranks = {"HaLE RotE": 2 * BASE, "HaLE RotL": BASE, "SamNeg RotL": 3 * BASE, other: 3 * BASE}
    ranks |= {"SamNeg RotE": 6 * BASE}

    def bold(changed: Mapping[str, np.ndarray] = {}, **given: Any) -> list[str]:
        given = {"spread": 0.0, **given}
        rows = judged("table4", "codex-m", {**ranks, **changed}, **given)
        assert rows[other].rival_of is rows["HaLE RotL"]
        return [name for name, row in rows.items() if row.best]

    assert bold() == ["HaLE RotL"], "it is above RotE, which won too"
    assert bold({other: NOTHING}) == []
    assert bold(marked=("allneg-complex",)) == []
    assert bold(changes={other: {"training": {"seconds": 1.0, "threads": 64}}}) == []
    assert bold(spread=None) == [], "nobody knows what other seeds would give"


def test_bold_passes_twice_the_spread_over_seeds() -> None:
    """Three seeds are .01 apart, a spread of .01: a gain of .02 may be one of seeds."""
    for gain, bold in ((0.018, False), (0.022, True)):
        ranks = {"HaLE RotL": BASE, "SamNeg RotL": 1 / (1 / BASE - gain)}
        rows = judged("table3", "wn18rr", ranks, scale=1.0, seeds=3)
        assert rows["HaLE RotL"].spread == pytest.approx(0.01)
        told = rows["SamNeg RotL"].against
        assert told is not None
        assert told.tells
        assert told.gain == pytest.approx(gain)
        assert rows["HaLE RotL"].best == bold


def test_the_papers_tables_are_by_scores_alone() -> None:
    """And judged by them; those beyond the paper have the head ruled out."""
    entry = EXPERIMENTS["table3"].select(("wn18rr",), ("rotl",), ("hale",))[0]
    figures = {"mrr": 0.1}, {"mrr": 0.2}, {"mrr": 0.3}, {"mrr": 0.4}
    names = "plain", "metrics", "valid_plain", "valid"
    cell = finished_cell(entry, **dict(zip(names, figures, strict=True)))
    ranks = Ranks(np.full(4, 5.0), np.full(4, 10.0), None, np.full(2, 2.5))
    for name, first, validated, value in (
        ("table3", 0.1, 0.3, 0.1),
        ("best", 0.2, 0.4, 0.2),
        ("improvements", 0.2, 0.4, 0.4),
    ):
        rule = EXPERIMENTS[name].judged
        experiment = replace(EXPERIMENTS["table3"], entries=(entry,), judged=rule)
        row = rows_of(experiment, {cell.key: cell}, lambda _: ranks)["wn18rr"][0]
        assert (row.mean("mrr"), row.validation) == (first, validated)
        assert row.values is not None
        assert row.values.tolist() == pytest.approx([value] * len(row.values))
        page = render_table(experiment, {cell.key: cell}, lambda _: ranks)
        beside = "head ruled out" if name == "table3" else "by scores alone"
        assert f" | {beside} | by the rule | " in page


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
        {entry.cell.key(0, 1.0): finished_cell(entry)},
        lambda _: kept,
        lambda dataset: told if dataset == "wn18rr" else None,
    )
    assert f"On {int(told.seen.sum())} of {count} test triples" in page
    assert "| head ruled out: MRR |" in page
    assert "| HaLE, RotL | 0.094 | 0.000 | 0.500 | 0.375 | 1.000 | 1.000 | 1.000 |" in page
    assert "| HaLE, RotL | 0.125 / 0.062 | 0.125 / 0.062 |" in page
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
        {entry.cell.key(seed, 1.0): finished_cell(entry, seed=seed) for seed in range(2)},
        lambda key: kept_alike(ones if key == entry.cell.key(0, 1.0) else 2 * ones),
        lambda dataset: told if dataset == "wn18rr" else None,
        {entry.cell.key(1, 1.0): "stale"},
    )
    assert "| HaLE, RotL (stale) | 0.750 ± 0.354 | 0.500 | 1.000 | 0.750 ± 0.354 |" in page
    assert "| HaLE, RotL (stale) | 0.750 / 0.750 |" in page


def test_ablations_meet_the_row_with_all_parts() -> None:
    ranks = np.arange(1.0, 201.0)
    kept = {"RotL HaLE-RotL": ranks, "RotL w/o RelRatio": 2 * ranks, "RotL HA + AllNeg": ranks}
    whole, *others = judged("table5", "wn18rr", kept, scale=1.0).values()
    assert [row.rival_of for row in (whole, *others)] == [None, whole, whole]
    assert not whole.best, "one of the two it meets is no worse"


def test_bold_is_above_every_row_that_it_meets() -> None:
    """Above two ablations and no worse than a third: not bold, though it is below none."""
    rows = {f"{e.group} {e.row}" for e in EXPERIMENTS["table5"].select(("wn18rr",))}
    ranks = np.arange(1.0, 201.0)
    all_kept = dict.fromkeys(rows, 2 * ranks) | {"RotL HaLE-RotL": ranks}
    for beaten, bold in ((False, False), (True, True)):
        kept = all_kept | ({} if beaten else {"RotL HA + SamNeg": ranks})
        found = judged("table5", "wn18rr", kept, scale=1.0, spread=0.0)
        assert {name: row.best for name, row in found.items()} == {
            row: bold and row == "RotL HaLE-RotL" for row in rows
        }
        told = [row.against.p for row in found.values() if row.against is not None]
        assert min(told) == pytest.approx(5 / (1 + FLIPS)), "of five tests"


def test_what_goes_beyond_the_paper_is_judged_on_validation() -> None:
    """Better on test and worse on validation is worse; the page names what its figures are of."""
    experiment = EXPERIMENTS["improvements"]
    assert experiment.judged == "validation"
    entries = [e for e in experiment.select(("wn18rr",)) if e.row in ("as tuned", "beta 3")]
    test, other = np.arange(1.0, 201.0), np.arange(1.0, 101.0)
    ranks = {
        "as tuned": Ranks(2 * test, test, None, other),
        "beta 3": Ranks(test, test, None, 2 * other),
    }
    finished, kept = {}, {}
    for entry in entries:
        (scale,) = shares_of("improvements", entry)
        cell = finished_cell(entry, scale=scale, metrics={"mrr": 0.25}, valid={"mrr": 0.5})
        finished[cell.key], kept[cell.key] = cell, ranks[entry.row]
    experiment = replace(experiment, entries=tuple(entries))
    rows = rows_of(experiment, finished, kept.get)["wn18rr"]
    told = rows[1].against
    assert told is not None
    assert told.gain == pytest.approx((1 / other).mean() / 2)
    assert not any(row.best for row in rows), "HaLE met itself alone"
    page = render_table(experiment, finished, kept.get)
    heads = next(line for line in page.splitlines() if line.startswith("| | | "))
    assert "MRR on test | 95 %, validation" in heads
    assert "validation (descriptive)" in heads
    (line,) = (line for line in page.splitlines() if "| as tuned |" in line)
    assert "| 0.250 |" in line
    assert "| 0.500 |" in line

"""The paper's tables as cells: declared in full, filled, gone on with, rendered."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from matplotlib.axes import Axes

import hale.lab.paper.cells as cells_module
import hale.lab.paper.filling as filling_module
import hale.lab.paper.searches as searches_module
from hale.data.graph import Graph
from hale.evaluation.evaluator import evaluate
from hale.lab.paper import EXPERIMENTS, Cell, Entry, Filled, fill, is_current, read_cells
from hale.lab.paper.cells import train_alike
from hale.lab.paper.experiments import AS_IN_THE_PAPER
from hale.lab.paper.figures import draw_curves, draw_functions, project_points
from hale.lab.paper.filling import ranked
from hale.lab.paper.page import faults_of
from hale.lab.paper.published import FIVE, TABLE3, TABLE4, TABLE5
from hale.lab.paper.rank_files import read_ranks
from hale.lab.paper.render import render_page, render_table
from hale.lab.paper.searches import SEARCHED, search_of
from hale.lab.paper.table_rows import by_share, longest
from hale.models.transe import TransE
from hale.objectives import HaLE
from hale.runs.run import Record, Run, Summary, load_run
from hale.runs.systems import build_model, check, complete
from hale.settings import make_settings
from hale.settings.recipes import read_recipe, recipe_files, settings_in
from hale.training.stopping import Clock

# Budgets of a fraction of a second: on a busy machine they leave little for validation.
pytestmark = pytest.mark.filterwarnings("ignore:validation ranks:hale.errors.HaleWarning")


@pytest.fixture
def loaded(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> Graph:
    know(graph, monkeypatch)
    return graph


def know(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every data set be this graph."""
    for module in (cells_module, filling_module):
        monkeypatch.setattr(module, "load_quietly", lambda _: graph)


# with a sample of its own, so that a busy machine does not shrink it
VALUES = {"model": "rotl", "strategy": "hale", "batch_size": 16, "validation_sample": 4}
TINY = Cell("tiny", "hale-rotl", 4, 1.0, tuple(VALUES.items()))


def test_all_of_the_paper_is_declared() -> None:
    paper = ["table3", "table4", "table5", "figure2", "figure3", "figure4"]
    assert [*EXPERIMENTS] == [*paper, "improvements", "best"]
    for name, table in (("table3", TABLE3), ("table4", TABLE4)):
        declared = [
            entry.paper
            for entry in EXPERIMENTS[name].entries
            if entry.paper and entry.cell.recipe == SEARCHED
        ]
        assert sorted(declared) == sorted(table.values())
    ablation = {(e.cell.dataset, e.row): e.paper for e in EXPERIMENTS["table5"].entries}
    assert ablation == TABLE5
    curves = EXPERIMENTS["figure3"].entries
    assert len(curves) == 3 * (5 + 6)
    assert {e.row for e in curves if e.group == "activations"} >= {"hanon", "halin", "identity"}


def test_every_cell_is_a_system_that_can_be_trained() -> None:
    for experiment in EXPERIMENTS.values():
        for entry in experiment.entries:
            check(complete(None, **entry.cell.settings(0, 1.0)))


def at_full_time(dataset: str) -> dict[str, object]:
    """RotL's recipe for HaLE."""
    return settings_in(read_recipe(recipe_files()[dataset]), "hale", "rotl", budget=600.0)


def test_every_improvement_differs_from_what_is_tuned() -> None:
    """A change that the recipe has already would be a row that says nothing."""
    for entry in EXPERIMENTS["improvements"].entries:
        if entry.cell.recipe != "auto":
            continue
        tuned = at_full_time(entry.cell.dataset)
        given = entry.cell.settings(0, 1.0)
        changes = {
            name: given[name]
            for name, _ in entry.cell.values
            if complete(None, recipe="none", **tuned).model_dump()[name] != given[name]
        }
        assert bool(changes) == (entry.row != "as tuned"), entry.row
        if entry.row == "one bound for all relations":
            assert changes == {"gamma_two_way": tuned["gamma"]}
        if entry.row == "dropout from the start":
            assert changes == {"dropout_start": tuned["dropout"]}


@pytest.mark.parametrize("scale", [0.1, 1.0])
def test_one_bound_changes_one_thing_at_any_share_of_the_time(scale: float) -> None:
    """The recipe has other bounds and another dropout for short runs than for long ones."""
    rows = {e.row: e.cell for e in EXPERIMENTS["improvements"].select(("wn18rr",))}
    content = read_recipe(recipe_files()["wn18rr"])
    tuned = settings_in(content, "hale", "rotl", budget=600.0 * scale)
    one = rows["one bound for all relations"].settings(0, scale)
    assert one["gamma_two_way"] == tuned["gamma"]
    assert "gamma" not in one
    start = rows["dropout from the start"].settings(0, scale)
    assert start["dropout_start"] == tuned["dropout"]


def test_rows_with_nothing_beyond_the_paper() -> None:
    for name, dim, datasets in (
        ("table3", 32, ("fb15k-237", "wn18rr")),
        ("table4", 256, ("codex-s", "codex-m", "codex-l")),
    ):
        rows = [e for e in EXPERIMENTS[name].entries if e.group == AS_IN_THE_PAPER]
        assert [(e.cell.dataset, e.row) for e in rows] == [
            (dataset, row) for dataset in datasets for row in ("RotE", "RotL")
        ]
        for entry in rows:
            made = complete(None, **entry.cell.settings(0, 1.0))
            assert (made.dim, made.cardinality, made.leave_out_known) == (dim, False, False)
            assert (made.decay, made.loops, made.heights) == (0.0, True, False)


def test_cells_of_one_system_are_shared() -> None:
    """Figure 4 shows the cells of Figure 3; each row of an ablation is its own."""
    keys: dict[str, dict[str, object]] = {}
    for experiment in EXPERIMENTS.values():
        for entry in experiment.entries:
            settings = entry.cell.settings(0, 1.0)
            assert keys.setdefault(entry.cell.key(0, 1.0), settings) == settings
    for dataset in ("codex-m", "fb15k-237", "wn18rr"):
        rows = {e.row: e.cell for e in EXPERIMENTS["table5"].select((dataset,))}
        assert len({cell.key(0, 1.0) for cell in rows.values()}) == len(rows) == 6
    strategies = [e.cell for e in EXPERIMENTS["figure3"].entries if e.group == "strategies"]
    assert strategies == [e.cell for e in EXPERIMENTS["figure4"].entries]
    best = [e.cell for e in EXPERIMENTS["best"].select(("wn18rr",))]
    assert [cell.key(2, 1) for cell in best] == [
        "wn18rr-hale-rotl-32-auto-s2-x1",
        "wn18rr-hale-rotl-60s-32-auto-s2-x1",
    ]


def test_old_cells_are_those_of_the_tables_and_stale() -> None:
    """They had the recipes' settings, and no common rules of ranking."""
    entry = EXPERIMENTS["table3"].select(("wn18rr",), ("rotl",), ("hale",))[0]
    old = finished_cell(entry, recipe="auto", plain=None, valid=None)
    assert old.is_of(entry.cell)
    assert not is_current(entry.cell, old)
    assert not replace(old, plain=old.metrics).is_of(entry.cell), "of the table 'best'"
    assert not replace(old, recipe="paper").is_of(entry.cell)


def test_the_ablation_takes_one_part_away_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a search of HaLE alone has switched the square off; and nothing but the part.

    All have what was found for the row with all parts, but for what is searched again.
    """
    monkeypatch.setattr(searches_module, "HOME", tmp_path)
    missing = {"w/o Activation": "activation", "w/o PosSquare": "square"}
    missing |= {"w/o RelRatio": "relation_scale"}
    for dataset in ("wn18rr", "fb15k-237", "codex-m"):
        rows = EXPERIMENTS["table5"].select((dataset,), strategies=("hale",))
        search = search_of(rows[0].cell)
        assert search is not None
        search.file().parent.mkdir(parents=True, exist_ok=True)
        search.file().write_text(
            "[hale-rotl-32]\nsquare = false\nweight = 0.3\n"
            "[hale-rotl-square-32]\nweight = 0.7\nqueries = 200\n"
            "[hale-rotl-identity-square-32]\nweight = 0.9\n"
            "[hale-rotl-no-square-32]\nweight = 1.1\n"
            "[hale-rotl-square-no-scale-32]\nlearning_rate = 0.02\n"
        )
        read_recipe.cache_clear()
        made = {e.row: complete(None, **e.cell.settings(0, 1.0)).model_dump() for e in rows}
        whole = made.pop("HaLE-RotL")
        parts = (whole["activation"], whole["square"], whole["relation_scale"], whole["weight"])
        assert parts == ("hanon", True, True, 0.7)
        assert whole["queries"] == 200
        assert all(dict(e.cell.values).get("square") is not None for e in rows), "always said"
        for row, values in made.items():
            changed = {name for name in whole if values[name] != whole[name]}
            again = "learning_rate" if row == "w/o RelRatio" else "weight"
            assert changed == {missing[row], again}, row
    read_recipe.cache_clear()


def test_selection() -> None:
    chosen = EXPERIMENTS["table3"].select(("wn18rr",), ("rotl", "rote"))
    assert {e.cell.key(1, 0.1) for e in chosen if e.cell.recipe == SEARCHED} == {
        f"wn18rr-{strategy}-{model}-32-s1-x0.1"
        for strategy in ("samneg", "hale")
        for model in ("rotl", "rote")
    }
    assert len(EXPERIMENTS["table3"].select(strategies=("hale",))) == 2 * (len(FIVE) + 2)
    ablated = EXPERIMENTS["table5"].select(("wn18rr",), systems=("hale-rotl-no-scale",))
    assert [e.cell.key(0, 1) for e in ablated] == ["wn18rr-hale-rotl-no-scale-32-s0-x1"]


def test_a_cell_is_filled_once(loaded: Graph, tmp_path: Path) -> None:
    places = {"folder": tmp_path / "cells", "work": tmp_path / "runs"}
    filled = fill(TINY, seed=1, scale=0.2, **places)
    assert filled is not None
    assert read_cells(places["folder"]) == {filled.key: filled}
    assert filled.training["seconds"] >= 0.2
    assert filled.settings["seed"] == 1
    assert filled.curve[-1]["step"] == filled.training["steps"]
    assert 0 < filled.metrics["mrr"] <= 1
    assert filled.machine["cores"]
    again = fill(TINY, seed=1, scale=0.2, **places)
    assert again is not None
    lies = replace(again, finished=filled.finished, machine=filled.machine)
    assert lies == filled, "the finished run is taken as it lies there"


def test_a_run_of_another_form_of_the_loss_is_trained_anew(
    loaded: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And never passed off as one of today's; a cell tells the code that began its run."""
    places = {"folder": tmp_path / "cells", "work": tmp_path / "runs"}
    monkeypatch.setattr(filling_module, "commit_of_code", lambda: "then")
    filled = fill(TINY, seed=0, scale=0.2, **places)
    assert filled is not None
    monkeypatch.setattr(filling_module, "commit_of_code", lambda: "now")
    same = fill(TINY, seed=0, scale=0.2, **places)
    assert same is not None
    assert (same.commit, same.training) == ("then", filled.training)
    monkeypatch.setattr(HaLE, "revision", HaLE.revision + 1)
    assert not is_current(TINY, filled)
    anew = fill(TINY, seed=0, scale=0.2, **places)
    assert anew is not None
    assert (anew.commit, anew.revision) == ("now", HaLE.revision)
    assert anew.training != filled.training
    (places["work"] / f"{TINY.key(0, 0.2)}.made.json").unlink()
    unknown = fill(TINY, seed=0, scale=0.2, **places)
    assert unknown is not None
    assert unknown.training != anew.training, "nobody knows whose it was"


def test_a_cell_that_was_broken_off_goes_on(loaded: Graph, tmp_path: Path) -> None:
    class Breaks:
        seen = False

        def stepped(self, clock: Clock, progress: float, losses: dict[str, float]) -> None:
            if self.seen:
                raise RuntimeError("killed")

        def validated(self, record: Record, *, kept: bool) -> None:
            self.seen = True

    places = {"folder": tmp_path / "cells", "work": tmp_path / "runs"}
    with pytest.raises(RuntimeError, match="killed"):
        fill(TINY, seed=0, scale=0.5, observer=Breaks(), **places)
    assert not read_cells(places["folder"])
    left = load_run(places["work"] / TINY.key(0, 0.5)).history
    assert left, "it was validated before it was killed"
    filled = fill(TINY, seed=0, scale=0.5, **places)
    assert filled is not None
    before = [(record.step, record.seconds) for record in left]
    curve = [(point["step"], point["seconds"]) for point in filled.curve]
    assert curve[: len(before)] == before, "gone on with, not begun anew"
    assert len(curve) > len(before)


def test_a_finished_cell_is_current_until_its_settings_change(
    loaded: Graph, tmp_path: Path
) -> None:
    filled = fill(TINY, seed=0, scale=0.2, folder=tmp_path / "cells", work=tmp_path / "runs")
    assert filled is not None
    assert is_current(TINY, filled)
    other = replace(TINY, values=(*TINY.values, ("gamma", 9.0)))
    assert not is_current(other, filled)
    later = {**filled.settings, "gamma": 9.0}
    newer = replace(filled, key="newer", seed=1, settings=later, finished="2999-01-01")
    assert by_share(TINY, [filled, newer]) == [[newer]], "seeds of different settings have no mean"
    assert not is_current(TINY, replace(filled, revision=7)), "of another form of the loss"
    assert not is_current(TINY, replace(filled, plain=None)), "ranked otherwise than others"
    assert not is_current(TINY, replace(filled, valid=None)), "made before validation was kept"
    ranking = {**filled.settings, "cardinality": not filled.settings["cardinality"]}
    assert is_current(TINY, replace(filled, settings=ranking)), "the same weights"
    twin = replace(filled, key="twin", seed=1, settings={**filled.settings, "seed": 1})
    assert by_share(TINY, [filled, twin]) == [[filled, twin]]
    wide = replace(twin, training={**twin.training, "threads": 64}, finished="2999-01-01")
    assert by_share(TINY, [filled, wide]) == [[wide]], "threads are time"


def test_tables_show_ours_beside_the_papers(loaded: Graph, tmp_path: Path) -> None:
    filled = fill(TINY, seed=0, scale=0.2, folder=tmp_path / "cells", work=tmp_path / "runs")
    assert filled is not None
    entry = EXPERIMENTS["table3"].select(("wn18rr",), ("rotl",), ("hale",))[0]
    cell = entry.cell
    training = {**filled.training, "seconds": 60.2, "threads": 1, "epochs": 0.4}
    training["validation_seconds"] = 3.4
    mine = {"dataset": cell.dataset, "system": cell.system, "dim": cell.dim, "full_seconds": 600.0}
    mine |= {"training": training, "commit": "abc", "machine": {"cpu": "Z80"}}
    figures = {**filled.metrics, "mean_rank": 11.0, "mean_rank_by_lot": 101.0}
    mine |= {"plain": {**figures, "mrr": 0.3}, "valid": {**figures, "mrr": 0.7}}
    shown = {
        "a": replace(filled, **mine, key="a", scale=0.1, metrics={**figures, "mrr": 0.9}),
        "b": replace(filled, **mine, key="b", scale=1.0, metrics={**figures, "mrr": 0.4}),
        "c": replace(filled, **mine, key="c", scale=1.0, metrics={**figures, "mrr": 0.5}),
    }
    assert longest(cell, shown.values()) == shown["b"]
    assert longest(cell, []) is None
    page = render_table(EXPERIMENTS["table3"], shown, marked={"a": "stale"})
    row, tenth = (
        [part.strip() for part in line.split("|")]
        for line in page.splitlines()
        if line.startswith("| HaLE | RotL")
    )
    heads = next(line for line in page.splitlines() if line.startswith("| | | MRR"))
    columns = [part.strip() for part in heads.split("|")]
    told = dict(zip(columns[3:-1], row[3:-1], strict=True))
    assert told["MRR"] == "0.450 ± 0.071", "mean of two seeds and their standard deviation"
    assert told["paper"] == "0.471 / 0.558 / 0.424"
    assert told["seeds"] == "2"
    assert (told["no rule"], told["on validation"]) == ("0.300", "0.700")
    assert told["AMRI"] == "0.900", "1 - 10 / 100"
    assert told["epochs"] == "0.4, not converged"
    assert (told["time"], told["validation"]) == ("60 s", "3 s")
    assert (told["machine"], told["commit"]) == ("Z80, 1 thread", "abc")
    assert told["95 %"] == "", "no file keeps the ranks"
    assert tenth[2] == "RotL (stale)"
    assert tenth[3] == "0.900", "each share has its row"
    assert "60 s (x 0.1)" in tenth
    high = replace(shown["b"], settings={**filled.settings, "heights": True, "loops": False})
    assert "| HaLE | RotL † |" in render_table(EXPERIMENTS["table3"], {"b": high})
    assert "Declared, and not run yet." in page
    assert "not run" in next(line for line in page.splitlines() if "| HaLE | RotE |" in line)


def test_no_number_of_ours_without_a_cell(loaded: Graph, tmp_path: Path) -> None:
    """One cell is finished: every other row of its table is empty where ours would stand."""
    filled = fill(TINY, seed=0, scale=0.2, folder=tmp_path / "cells", work=tmp_path / "runs")
    assert filled is not None
    one = replace(filled, dataset="wn18rr", system="hale-rotl", dim=32, full_seconds=600.0)
    page = render_page(EXPERIMENTS.values(), {"a": one}, {})
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| ")]
    ours = [row[3].strip() for row in rows if len(row) > 9 and row[1].strip()]
    assert sum(bool(cell) for cell in ours) == 1, "Table 3 alone: others have their own settings"
    assert len(ours) == 4 + 5 + 5 + 2, "the rows of Table 3 on WN18RR"


def test_figures(loaded: Graph, tmp_path: Path) -> None:
    draw_functions(tmp_path / "figure2.png")
    vector = (tmp_path / "figure2.svg").read_bytes()
    assert len(vector) > 1000
    draw_functions(tmp_path / "figure2.png")
    assert (tmp_path / "figure2.svg").read_bytes() == vector, "no change without a change"
    assert not draw_curves(EXPERIMENTS["figure3"], {}, tmp_path / "figure3.png")
    filled = fill(TINY, seed=0, scale=0.2, folder=tmp_path / "cells", work=tmp_path / "runs")
    assert filled is not None
    cell = EXPERIMENTS["figure3"].entries[0].cell
    shown = replace(filled, dataset=cell.dataset, system=cell.system, dim=32, full_seconds=200.0)
    assert draw_curves(EXPERIMENTS["figure3"], {"a": shown}, tmp_path / "figure3.png")
    assert (tmp_path / "figure3.png").stat().st_size > 1000
    empty = (tmp_path / "figure3.svg").read_text().count("<!-- not run -->")
    assert empty == 4, "HaLE on WN18RR is in two panels of six"


def test_files_of_other_kinds_are_no_cells(tmp_path: Path) -> None:
    (tmp_path / "points.json").write_text(json.dumps({"points": []}))
    assert read_cells(tmp_path) == {}


def test_a_cell_is_measured_on_test_triples(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four are held out for validation; of the test triples only three are left here."""
    graph = replace(graph, test=graph.test[:3])
    know(graph, monkeypatch)
    filled = fill(TINY, seed=0, scale=0.1, folder=tmp_path / "cells", work=tmp_path / "runs")
    assert filled is not None
    assert filled.metrics["count"] == 2 * 3
    run = load_run(tmp_path / "runs" / TINY.key(0, 0.1))
    report = evaluate(run, "test", cardinality=True)
    assert report.vectors_alone is not None
    assert filled.plain is not None
    figures = {name: value for name, value in filled.plain.items() if name != "mean_rank_by_lot"}
    assert figures == report.vectors_alone.as_dict(), "it was trained with loops"
    assert filled.ruled is not None
    assert filled.valid is not None
    assert filled.valid["count"] == 2 * 4
    kept = read_ranks(tmp_path / "cells", filled.key)
    assert kept is not None
    assert kept.ruled is not None
    assert float((1 / kept.headline).mean()) == filled.metrics["mrr"]
    assert float((1 / kept.plain).mean()) == filled.plain["mrr"]
    assert float((1 / kept.ruled).mean()) == filled.ruled["mrr"]
    assert float((1 / kept.valid).mean()) == filled.valid["mrr"]
    known, queries = graph.known_answers, graph.both_directions(graph.test)
    left = [24 - len(known.of(q[None, 0], q[None, 1])[1]) + 1 for q in queries]
    by_lot = sum((count + 1) / 2 for count in left) / len(left)
    assert filled.metrics["mean_rank_by_lot"] == pytest.approx(by_lot)


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("strategy", ["hale", "samneg"])
def test_every_system_is_ranked_by_the_same_rules(graph: Graph, strategy: str, loops: bool) -> None:
    """Entities 0, 1 and 3 on a line, a relation that moves by .4 one way and by -.3 back.

    From 0 to .4 and from 1 to .7: the head itself is nearest, .16 to .36 and .09 to .49. Relation
    1 moves alike, and joins an entity to itself in train.
    """
    graph = replace(
        graph,
        train=np.array([[2, 0, 5], [6, 0, 7], [8, 1, 8]]),
        valid=np.array([[0, 0, 1]]),
        test=np.array([[0, 0, 1], [0, 1, 1]]),
    )
    settings = complete(None, model="transe", strategy=strategy, dim=1, loops=loops)
    model = build_model(settings, graph.size).eval()
    assert isinstance(model, TransE)
    assert (model.may_loop is None) == loops
    with torch.no_grad():
        model.entity.weight[:, 0] = torch.arange(24.0) * 10
        model.entity.weight[:4, 0] = torch.tensor([0.0, 1.0, 30.0, 3.0])
        shifts = model.shift.rows()
        half = graph.size.num_relations
        shifts[:half], shifts[half:] = 0.4, -0.3
    run = Run(settings, graph, model, Summary("epochs", 1, 1.0, 1.0, 0.0, 0, 1, 1, "cpu"))
    before = model.may_loop
    found = ranked(run)
    assert model.may_loop is before
    assert found.plain.tolist() == [2, 2, 2, 2], "tails of both, then heads"
    assert found.headline.tolist() == [1, 2, 1, 2]
    assert found.valid.tolist() == [1, 1]
    assert found.ruled is not None


def test_the_rows_with_ha_have_hanon_under_another_strategy() -> None:
    for dataset in ("wn18rr", "fb15k-237", "codex-m"):
        rows = {entry.row: entry.cell for entry in EXPERIMENTS["table5"].select((dataset,))}
        for row, strategy in (("HA + SamNeg", "samneg"), ("HA + AllNeg", "allneg")):
            made = complete(None, **rows[row].settings(0, 1.0))
            assert (made.strategy, made.model, made.activation) == (strategy, "rotl", "hanon")
            assert rows[row].system == f"{strategy}-rotl-hanon"


def finished_cell(entry: Entry, **changes: object) -> Filled:
    """A cell as its file would hold it, its figures made up."""
    cell = entry.cell
    settings = complete(None, **cell.settings(0, 1.0)).model_dump(mode="json")
    about = {"training": {"seconds": 600.0, "threads": 2}, "version": "0", "machine": {}}
    metrics = {"mrr": 0.25, "hits@10": 0.5, "hits@1": 0.125}
    filled = Filled(
        cell.key(0, 1.0),
        *(cell.dataset, cell.system, cell.dim, cell.recipe, 0, 1.0, cell.seconds),
        **about,
        settings=settings,
        curve=[],
        metrics=metrics,
        finished="2026-01-01",
        plain=metrics,
        valid=metrics,
    )
    return replace(filled, **changes)


def test_a_row_is_marked_by_the_settings_that_it_shows() -> None:
    """Neither by an older seed of other settings, nor by another share of the time."""
    entry = EXPERIMENTS["table3"].select(("wn18rr",), ("rotl",), ("hale",))[0]
    plain = finished_cell(entry)
    plain = replace(plain, settings={**plain.settings, "heights": False, "loops": True})
    plain.settings["square"] = True
    high = {**plain.settings, "heights": True, "loops": False, "square": False}

    def rows(*cells: Filled) -> list[str]:
        page = render_table(EXPERIMENTS["table3"], {str(i): cell for i, cell in enumerate(cells)})
        lines = [line.split(" | ") for line in page.splitlines()]
        return [line[1] for line in lines if line[0] == "| HaLE" and line[2]]

    later = {"seed": 1, "finished": "2026-02-02"}
    assert rows(plain) == ["RotL"]
    assert rows(plain, replace(plain, settings=high, **later)) == ["RotL †§"]
    assert rows(replace(plain, settings=high), replace(plain, **later)) == ["RotL"]
    tenth = replace(plain, scale=0.1, settings=high)
    assert rows(tenth, plain) == ["RotL", "RotL †§"], "each share has its own"
    assert rows(replace(tenth, scale=1.0), replace(plain, scale=0.1)) == ["RotL †§", "RotL"]


def test_figure_3_draws_hits_at_10_over_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []

    def plot(axes: Axes, x: list[float], y: list[float], **options: str) -> None:
        drawn.append((options["label"], options["linestyle"], x, y))

    monkeypatch.setattr(Axes, "plot", plot)
    entry = EXPERIMENTS["figure3"].entries[0]
    curve = [
        {"step": 7, "seconds": 2.0, "mrr": 0.2, "hits@1": 0.1, "hits@3": 0.3, "hits@10": 0.4},
        {"step": 9, "seconds": 5.0, "mrr": 0.3, "hits@1": 0.2, "hits@3": 0.4, "hits@10": 0.6},
    ]
    shown = finished_cell(entry, curve=curve)
    asked = EXPERIMENTS["figure3"], {"a": shown}, tmp_path / "figure3.png"
    assert draw_curves(*asked)
    line = ([2.0, 5.0], [0.4, 0.6])
    assert drawn == [("HaLE", "-", *line), ("hanon", "-", *line)]
    drawn.clear()
    assert draw_curves(*asked, {shown.key: "not searched alike"})
    assert [found[:2] for found in drawn] == [
        ("HaLE (not searched alike)", ":"),
        ("hanon (not searched alike)", ":"),
    ]
    drawn.clear()
    other = replace(shown, scale=0.25, settings={**shown.settings, "square": False})
    assert draw_curves(EXPERIMENTS["figure3"], {"a": other}, tmp_path / "figure3.png")
    assert [found[0] for found in drawn] == ["HaLE § (x 0.25)", "hanon § (x 0.25)"]


def test_curves_are_marked_as_rows_are_and_tell_their_epochs() -> None:
    """Of cells that were made before all were ranked alike, and without a search."""
    experiment = EXPERIMENTS["figure3"]
    entry = experiment.select(("wn18rr",), strategies=("samneg",))[0]
    training = {"seconds": 200.0, "threads": 1, "epochs": 12.4}
    cell = finished_cell(entry, plain=None, training=training)
    assert faults_of([experiment], {"a": cell}) == {cell.key: "stale, not searched alike"}
    page = render_page([experiment], {"a": cell}, {"figure3": "figure3.png"})
    assert "| strategies | SamNeg | 12 |  |  |" in page
    assert "| strategies | NonNeg |  |  |  |" in page


def test_points_are_projected_without_their_heights(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A height is no coordinate: t-SNE is given the d numbers of each entity alone."""
    given = []

    class TSNE:
        def __init__(self, **options: object) -> None:
            assert options["n_components"] == 2

        def fit_transform(self, vectors: np.ndarray) -> np.ndarray:
            given.append(vectors)
            return vectors[:, :2] / 3

    monkeypatch.setitem(sys.modules, "sklearn", ModuleType("sklearn"))
    manifold = ModuleType("sklearn.manifold")
    vars(manifold)["TSNE"] = TSNE
    monkeypatch.setitem(sys.modules, "sklearn.manifold", manifold)
    settings = complete(None, model="rotl", dim=4, heights=True)
    model = build_model(settings, graph.size)
    with torch.no_grad():
        model.entity.weight[:, 4] = 100.0
    run = Run(settings, graph, model, Summary("epochs", 1, 1.0, 1.0, 0.0, 0, 1, 1, "cpu"))
    project_points(run, tmp_path / "points.json", finished="today")
    expected = model.entity.weight.detach()[:, :4].double().numpy()
    assert np.array_equal(given[0], expected)
    content = json.loads((tmp_path / "points.json").read_text())
    assert content["points"] == np.round(expected[:, :2] / 3, 2).tolist()
    assert content["entities"] == list(range(24))


def test_what_a_strategy_does_not_use_makes_no_other_run() -> None:
    hale_run, sampled = make_settings(), make_settings(strategy="samneg")
    assert train_alike(hale_run, hale_run.model_copy(update={"negatives": 7}))
    assert not train_alike(hale_run, hale_run.model_copy(update={"gamma": 7.0}))
    assert not train_alike(hale_run, sampled)
    assert not train_alike(sampled, sampled.model_copy(update={"negatives": 7}))
    assert train_alike(hale_run, hale_run.model_copy(update={"cardinality": True}))
    assert train_alike(hale_run, hale_run.model_copy(update={"group_size": 2}))
    bare, no_penalty = make_settings(activation="identity"), sampled
    for idle in ({"gamma": 7.0}, {"gamma_two_way": 9.0}, {"gamma_start": 3.0}, {"beta": 2.5}):
        assert train_alike(bare, bare.model_copy(update=idle)), "it has neither bound nor slope"
        assert not train_alike(hale_run, hale_run.model_copy(update=idle))
    assert train_alike(no_penalty, no_penalty.model_copy(update={"penalty_power": 2.5}))
    drawn = make_settings(strategy="samneg", penalty=0.1)
    assert not train_alike(drawn, drawn.model_copy(update={"penalty_power": 2.5}))
    mapped = make_settings(model="affine")
    assert not train_alike(mapped, mapped.model_copy(update={"group_size": 2}))

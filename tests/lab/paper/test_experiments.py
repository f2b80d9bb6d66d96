"""The paper's tables as cells: declared in full, filled, gone on with, rendered."""

from __future__ import annotations

import itertools
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch
from matplotlib.axes import Axes

import hale.lab.paper.cells as cells_module
import hale.lab.paper.filling as filling_module
import hale.lab.paper.plan as plan_module
import hale.lab.paper.searches as searches_module
from hale.data.graph import Graph
from hale.errors import InputError
from hale.evaluation.evaluator import evaluate
from hale.evaluation.ranking_revision import RANKING_REVISION
from hale.evaluation.ranks import filtered_ranks
from hale.lab.paper import EXPERIMENTS, Cell, Entry, Filled, fill, is_current, read_cells
from hale.lab.paper.cells import train_alike
from hale.lab.paper.experiments import AS_IN_THE_PAPER, BY_AUTHORS
from hale.lab.paper.figures import draw_curves, draw_functions, project_points
from hale.lab.paper.filling import ranked
from hale.lab.paper.page import faults_of, write_page
from hale.lab.paper.plan import seeds_of, shares_of, unplanned
from hale.lab.paper.published import FIVE, TABLE3, TABLE4, TABLE5
from hale.lab.paper.rank_files import read_ranks
from hale.lab.paper.render import render_page, render_table
from hale.lab.paper.searches import SEARCHED, Search, search_of
from hale.lab.paper.table_rows import by_share, longest
from hale.models.rotl import RotL
from hale.models.transe import TransE
from hale.objectives import HaLE, objective_class
from hale.runs.run import Record, Run, Summary, load_run
from hale.runs.systems import build_model, check, complete
from hale.settings import make_settings
from hale.settings.recipes import read_recipe, recipe_files, settings_in
from hale.training.stopping import Clock

# Budgets of a fraction of a second: on a busy machine they leave little for validation.
pytestmark = [  # both say how fast this machine is
    pytest.mark.filterwarnings("ignore:validation ranks:hale.errors.HaleWarning"),
    pytest.mark.filterwarnings("ignore:.* make about .* epochs:hale.errors.HaleWarning"),
]


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


def test_rows_as_the_authors_of_samneg_train_it() -> None:
    """KGEmb's examples at d = 32: on WN18RR Adam, and negatives with another head as well."""
    asked = {
        (entry.cell.dataset, entry.row): complete(None, **entry.cell.settings(0, 1.0))
        for entry in EXPERIMENTS["table3"].entries
        if entry.group == BY_AUTHORS
    }
    names = "optimizer", "learning_rate", "batch_size", "double_negatives", "precision"
    told = {key: tuple(getattr(made, name) for name in names) for key, made in asked.items()}
    adam, adagrad = ("adam", 0.001), ("adagrad", 0.05)
    assert told == {
        ("wn18rr", "RotE"): (*adam, 100, True, "float32"),
        ("wn18rr", "RotL"): (*adam, 100, True, "float32"),
        ("wn18rr", "RotH"): (*adam, 500, True, "float64"),
        ("fb15k-237", "RotE"): (*adagrad, 500, False, "float32"),
        ("fb15k-237", "RotL"): (*adagrad, 500, False, "float32"),
        ("fb15k-237", "RotH"): (*adagrad, 500, False, "float64"),
    }
    assert all(made.biases for made in asked.values())
    alike = {(made.negatives, made.init_scale, made.margin, made.decay) for made in asked.values()}
    assert alike == {(50, 0.001, 0.0, 0.0)}


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


def test_a_cell_tells_the_machine_that_trained_it(
    loaded: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not the one that ranked it again."""
    places = {"folder": tmp_path / "cells", "work": tmp_path / "runs"}
    monkeypatch.setattr(filling_module, "machine", lambda: {"cpu": "first"})
    filled = fill(TINY, seed=0, scale=0.2, **places)
    monkeypatch.setattr(filling_module, "machine", lambda: {"cpu": "second"})
    again = fill(TINY, seed=0, scale=0.2, **places)
    assert filled is not None
    assert again is not None
    assert (filled.machine["cpu"], again.machine["cpu"]) == ("first", "first")
    assert again.training == filled.training


def test_a_run_that_is_not_wanted_goes_before_the_note_of_the_next(
    loaded: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a kill between the two would leave the old weights under the new note."""
    places = {"folder": tmp_path / "cells", "work": tmp_path / "runs"}
    fill(TINY, seed=0, scale=0.2, **places)
    monkeypatch.setattr(HaLE, "revision", HaLE.revision + 1)

    def killed(*_: object, **__: object) -> Run:
        raise RuntimeError("killed")

    monkeypatch.setattr(filling_module, "train", killed)
    with pytest.raises(RuntimeError, match="killed"):
        fill(TINY, seed=0, scale=0.2, **places)
    note = places["work"] / f"{TINY.key(0, 0.2)}.made.json"
    assert json.loads(note.read_text())["revision"] == HaLE.revision
    assert not (places["work"] / TINY.key(0, 0.2)).exists()


def test_a_finished_cell_is_current_until_its_settings_change(
    loaded: Graph, tmp_path: Path
) -> None:
    filled = fill(TINY, seed=0, scale=0.2, folder=tmp_path / "cells", work=tmp_path / "runs")
    assert filled is not None
    assert is_current(TINY, filled)
    other = replace(TINY, values=(*TINY.values, ("gamma", 9.0)))
    assert not is_current(other, filled)
    assert not is_current(TINY, replace(filled, revision=7)), "of another form of the loss"
    assert not is_current(TINY, replace(filled, model_revision=7)), "of another form of the model"
    assert not is_current(TINY, replace(filled, ranking_revision=7)), "ranked otherwise"
    assert not is_current(TINY, replace(filled, valid_plain=None)), "judged by what is not kept"
    by_recipe = replace(TINY, recipe="auto")
    best = fill(by_recipe, seed=0, scale=0.1, folder=tmp_path / "cells", work=tmp_path / "runs")
    assert best is not None
    assert is_current(by_recipe, replace(best, valid_plain=None)), "judged by others"
    ranking = {**filled.settings, "cardinality": not filled.settings["cardinality"]}
    assert is_current(TINY, replace(filled, settings=ranking)), "the same weights"


def test_what_changes_model_or_ranks_raises_their_revision(
    loaded: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of an earlier model is trained anew; one that was ranked otherwise is ranked anew."""
    places = {"folder": tmp_path / "cells", "work": tmp_path / "runs"}
    filled = fill(TINY, seed=0, scale=0.2, **places)
    assert filled is not None
    assert (filled.model_revision, filled.ranking_revision) == (RotL.revision, RANKING_REVISION)
    for module in (cells_module, filling_module):
        monkeypatch.setattr(module, "RANKING_REVISION", RANKING_REVISION + 1)
    assert not is_current(TINY, filled)
    again = fill(TINY, seed=0, scale=0.2, **places)
    assert again is not None
    assert (again.training, again.cpu_share) == (filled.training, filled.cpu_share)
    assert is_current(TINY, again)
    monkeypatch.setattr(RotL, "revision", RotL.revision + 1)
    assert not is_current(TINY, again)
    anew = fill(TINY, seed=0, scale=0.2, **places)
    assert anew is not None
    assert anew.training != again.training
    assert is_current(TINY, anew)


def test_older_cells_are_of_the_first_revisions(loaded: Graph, tmp_path: Path) -> None:
    filled = fill(TINY, seed=0, scale=0.2, folder=tmp_path / "cells", work=tmp_path / "runs")
    assert filled is not None
    path = tmp_path / "cells" / f"{filled.key}.json"
    content = json.loads(path.read_text())
    later = ("valid_plain", "model_revision", "ranking_revision", "cpu_share")
    path.write_text(json.dumps({k: v for k, v in content.items() if k not in later}))
    old = read_cells(tmp_path / "cells")[filled.key]
    assert (old.model_revision, old.ranking_revision) == (1, 1)
    assert (old.cpu_share, old.valid_plain) == (None, None)


def test_how_much_of_the_machine_training_had(
    loaded: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CPU seconds by those of a clock and its threads; nobody knows of a run in two parts."""
    clock, cpu = itertools.count(step=2.0), itertools.count(step=1.5)
    clocks = SimpleNamespace(perf_counter=lambda: next(clock), process_time=lambda: next(cpu))
    monkeypatch.setattr("hale.training.cpu_share.time", clocks)

    def at_once(*_: object, **__: object) -> Run:
        next(clock)
        summary = Summary("budget", 1, 1.0, 2.0, 0.0, 0, 1, 1, "cpu")
        return Run(settings, loaded, build_model(settings, loaded.size), summary)

    settings = complete(loaded, **TINY.settings(0, 0.2))
    monkeypatch.setattr(filling_module, "train", at_once)
    filled = fill(TINY, seed=0, scale=0.2, folder=tmp_path / "cells", work=tmp_path / "runs")
    assert filled is not None
    assert filled.cpu_share == 1.5 / 4
    note = tmp_path / "runs" / f"{filled.key}.made.json"
    assert json.loads(note.read_text())["cpu_share"] == 1.5 / 4


def test_seeds_of_a_row_have_the_same_settings_and_threads() -> None:
    entry = EXPERIMENTS["table4"].select(("codex-m",), ("rote",), ("hale",))[0]
    assert (shares_of("table4", entry), seeds_of("table4", entry, 1.0)) == ((1.0, 0.25), 3)
    one, two = finished_cell(entry), finished_cell(entry, seed=1)

    def shown(*cells: Filled) -> dict[float, list[Filled]]:
        return by_share("table4", entry, {cell.key: cell for cell in cells})

    assert shown(one, two) == {1.0: [one, two], 0.25: []}
    newer = replace(two, settings={**two.settings, "gamma": 9.0}, finished="2999-01-01")
    assert shown(one, newer)[1.0] == [newer], "seeds of different settings have no mean"
    wide = replace(two, training={**two.training, "threads": 64}, finished="2999-01-01")
    assert shown(one, wide)[1.0] == [wide], "threads are time"


def test_only_planned_cells_are_shown() -> None:
    """Neither a share of the time nor a seed that is in no plan."""
    entry = EXPERIMENTS["table4"].select(("codex-m",), ("rote",), ("hale",))[0]
    more, short = finished_cell(entry, seed=7), finished_cell(entry, scale=0.1)
    here = finished_cell(entry)
    finished = {cell.key: cell for cell in (more, short, here)}
    assert by_share("table4", entry, finished) == {1.0: [here], 0.25: []}
    assert longest("table4", entry, finished) == here
    assert longest("table4", entry, {}) is None
    assert unplanned(finished) == [short.key, more.key]


def test_tables_show_ours_beside_the_papers(loaded: Graph, tmp_path: Path) -> None:
    filled = fill(TINY, seed=0, scale=0.2, folder=tmp_path / "cells", work=tmp_path / "runs")
    assert filled is not None
    entry = EXPERIMENTS["table4"].select(("codex-m",), ("rote",), ("hale",))[0]
    training = {**filled.training, "seconds": 60.2, "threads": 1, "epochs": 0.4}
    training["validation_seconds"] = 3.4
    figures = {**filled.metrics, "mean_rank": 11.0, "mean_rank_by_lot": 101.0, "hits@10": 0.6}
    mine = {"training": training, "commit": "abc", "machine": {"cpu": "Z80"}}
    mine |= {"metrics": {**figures, "mrr": 0.6}, "valid": {**figures, "mrr": 0.8}}
    mine |= {"valid_plain": {**figures, "mrr": 0.7}, "settings": filled.settings}
    cells = (
        finished_cell(entry, scale=0.25, **mine, plain={**figures, "mrr": 0.9}),
        finished_cell(entry, seed=0, **mine, plain={**figures, "mrr": 0.4}),
        finished_cell(entry, seed=1, **mine, plain={**figures, "mrr": 0.5}),
    )
    shown = {cell.key: cell for cell in cells}
    page = render_table(EXPERIMENTS["table4"], shown, marked={cells[0].key: "stale"})
    row, part = (
        [part.strip() for part in line.split("|")]
        for line in page.splitlines()
        if line.startswith("| HaLE | RotE")
    )
    heads = next(line for line in page.splitlines() if line.startswith("| | | MRR"))
    columns = [part.strip() for part in heads.split("|")]
    told = dict(zip(columns[3:-1], row[3:-1], strict=True))
    assert told["MRR"] == "0.450 ± 0.071", "mean of two seeds and their standard deviation"
    assert told["paper"] == "0.326 / 0.475 / 0.246"
    assert told["seeds"] == "2"
    assert (told["head ruled out"], told["on validation"]) == ("0.600 / 0.600", "0.700")
    assert told["AMRI"] == "0.900", "1 - 10 / 100"
    assert told["epochs"] == "0.4, not converged"
    assert (told["time"], told["validation"]) == ("60 s", "3 s")
    assert (told["machine"], told["commit"]) == ("Z80, 1 thread", "abc")
    assert told["95 %"] == "", "no file keeps the ranks"
    assert part[2] == "RotE (stale)"
    assert part[3] == "0.900", "each share has its row"
    assert part[5] == "1 (spread unknown)"
    assert "60 s (x 0.25)" in part
    high = replace(cells[1], settings={**filled.settings, "heights": True, "loops": False})
    assert "| HaLE | RotE † |" in render_table(EXPERIMENTS["table4"], {high.key: high})
    assert "Declared, and not run yet." in page
    assert "not run" in next(line for line in page.splitlines() if "| HaLE | RotL |" in line)


def test_no_number_of_ours_without_a_cell(loaded: Graph, tmp_path: Path) -> None:
    """One cell is finished: every other row of its table is empty where ours would stand."""
    filled = fill(TINY, seed=0, scale=0.2, folder=tmp_path / "cells", work=tmp_path / "runs")
    assert filled is not None
    one = EXPERIMENTS["table3"].select(("wn18rr",), ("rotl",), ("hale",))[0].cell.key(0, 1.0)
    page = render_page(EXPERIMENTS.values(), {one: replace(filled, key=one)}, {})
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| ")]
    ours = [row[3].strip() for row in rows if len(row) > 9 and row[1].strip()]
    assert sum(bool(cell) for cell in ours) == 1, "Table 3 alone: others have their own settings"
    assert len(ours) == 4 + 5 + 5 + 3 + 2, "the rows of Table 3 on WN18RR"


def test_figures(loaded: Graph, tmp_path: Path) -> None:
    draw_functions(tmp_path / "figure2.png")
    vector = (tmp_path / "figure2.svg").read_bytes()
    assert len(vector) > 1000
    draw_functions(tmp_path / "figure2.png")
    assert (tmp_path / "figure2.svg").read_bytes() == vector, "no change without a change"
    assert not draw_curves(EXPERIMENTS["figure3"], {}, tmp_path / "figure3.png")
    filled = fill(TINY, seed=0, scale=0.2, folder=tmp_path / "cells", work=tmp_path / "runs")
    assert filled is not None
    key = EXPERIMENTS["figure3"].entries[0].cell.key(0, 1.0)
    shown = {key: replace(filled, key=key)}
    assert draw_curves(EXPERIMENTS["figure3"], shown, tmp_path / "figure3.png")
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
    figures = {name: value for name, value in filled.plain.items() if name != "mean_rank_by_lot"}
    assert figures == report.vectors_alone.as_dict(), "it was trained with loops"
    assert filled.ruled is not None
    assert filled.valid["count"] == 2 * 4
    known, queries = graph.known_answers, graph.both_directions(graph.valid)
    run.model.may_loop = None
    alone = filtered_ranks(run.model, queries, known)
    assert filled.valid_plain is not None
    assert filled.valid_plain["mrr"] == float((1 / alone).mean())
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


def finished_cell(entry: Entry, *, seed: int = 0, scale: float = 1.0, **changes: object) -> Filled:
    """A cell as its file would hold it, its figures made up."""
    cell = entry.cell
    settings = complete(None, **cell.settings(seed, scale)).model_dump(mode="json")
    about = {"training": {"seconds": 600.0, "threads": 2}, "version": "0", "machine": {}}
    metrics = {"mrr": 0.25, "hits@10": 0.5, "hits@1": 0.125}
    filled = Filled(
        cell.key(seed, scale),
        *(cell.dataset, cell.system, cell.dim, cell.recipe, seed, scale, cell.seconds),
        **about,
        settings=settings,
        curve=[],
        metrics=metrics,
        finished="2026-01-01",
        commit="abc",
        revision=objective_class(settings["strategy"]).revision,
        plain=metrics,
        ruled=None,
        valid=metrics,
        valid_plain=metrics,
    )
    return replace(filled, **changes)


def test_a_row_is_marked_by_the_settings_that_it_shows() -> None:
    """Neither by an older seed of other settings, nor by another share of the time."""
    entry = EXPERIMENTS["table4"].select(("codex-m",), ("rote",), ("hale",))[0]
    plain = finished_cell(entry)
    plain = replace(plain, settings={**plain.settings, "heights": False, "loops": True})
    plain.settings["square"] = True
    high = {**plain.settings, "heights": True, "loops": False, "square": False}

    def rows(*cells: Filled) -> list[str]:
        page = render_table(EXPERIMENTS["table4"], {cell.key: cell for cell in cells})
        lines = [line.split(" | ") for line in page.splitlines()]
        return [line[1] for line in lines if line[0] == "| HaLE" and line[2]]

    later = {"key": entry.cell.key(1, 1.0), "seed": 1, "finished": "2026-02-02"}
    assert rows(plain) == ["RotE"]
    assert rows(plain, replace(plain, settings=high, **later)) == ["RotE †§"]
    assert rows(replace(plain, settings=high), replace(plain, **later)) == ["RotE"]
    part = {"key": entry.cell.key(0, 0.25), "scale": 0.25}
    tall = replace(plain, settings=high)
    assert rows(replace(tall, **part), plain) == ["RotE", "RotE †§"], "each share has its own"
    assert rows(tall, replace(plain, **part)) == ["RotE †§", "RotE"]


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
    asked = EXPERIMENTS["figure3"], {shown.key: shown}, tmp_path / "figure3.png"
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
    other = replace(shown, settings={**shown.settings, "square": False})
    assert draw_curves(EXPERIMENTS["figure3"], {shown.key: other}, tmp_path / "figure3.png")
    assert [found[0] for found in drawn] == ["HaLE §", "hanon §"]


def test_what_is_wrong_with_a_cell(loaded: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """What makes it stale, or unfair, or nobody could tell."""
    entry = EXPERIMENTS["table3"].select(("wn18rr",), strategies=("samneg",))[0]
    cell = finished_cell(entry)
    monkeypatch.setattr(plan_module, "is_searched", lambda *_: True)

    def fault(cell: Filled) -> str:
        return faults_of({cell.key: cell}).get(cell.key, "")

    cell = replace(cell, settings=asked_now(entry))
    assert fault(cell) == ""
    assert fault(replace(cell, model_revision=7)) == "stale"
    assert fault(replace(cell, commit="abc+")) == "changed code"
    assert fault(replace(cell, cpu_share=0.89)) == "busy machine"
    assert fault(replace(cell, cpu_share=0.9)) == ""
    monkeypatch.setattr(Search, "found", lambda *_: {"cpu_share": 0.7})
    assert fault(cell) == "searched on a busy machine"
    monkeypatch.setattr(Search, "found", lambda *_: {"cpu_share": 0.97})
    assert fault(cell) == ""
    monkeypatch.setattr(plan_module, "is_searched", lambda *_: False)
    assert fault(cell) == "not searched alike"

    def not_at_hand(_: str) -> Graph:
        raise InputError("no such data set")

    monkeypatch.setattr(cells_module, "load_quietly", not_at_hand)
    assert fault(replace(cell, commit="abc+")) == "not checked, not searched alike, changed code"


def asked_now(entry: Entry) -> dict[str, object]:
    """What a cell would be trained with on the graph that stands for its data set."""
    settings = entry.cell.settings(0, 1.0)
    graph = cells_module.load_quietly(entry.cell.dataset)
    return complete(graph, **settings).model_dump(mode="json")


def test_figures_that_are_not_drawn_are_said_to_be_missing(tmp_path: Path) -> None:
    """A picture that lies there from before is not shown as today's."""
    (tmp_path / "figure3.png").write_bytes(b"from before")
    page, _ = write_page(tmp_path, tmp_path / "runs")
    text = page.read_text()
    assert "figure3.png" not in text
    title = EXPERIMENTS["figure3"].title
    assert f"## {title}\n\nDeclared, and not run yet.\n" in text
    assert (tmp_path / "figure3.png").read_bytes() == b"from before"
    assert "](figure2.png)" in text


def test_curves_tell_their_epochs() -> None:
    experiment = EXPERIMENTS["figure3"]
    entry = experiment.select(("wn18rr",), strategies=("samneg",))[0]
    training = {"seconds": 200.0, "threads": 1, "epochs": 12.4}
    cell = finished_cell(entry, training=training)
    page = render_page([experiment], {cell.key: cell}, {"figure3": "figure3.png"})
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

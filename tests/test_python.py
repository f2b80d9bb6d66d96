"""hale from Python: a path wherever a run or a graph goes, frames in and out, short words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import hale
from hale.data.graph import Graph, Vocabulary
from hale.data.results import Framed
from hale.errors import InputError, SettingsError
from tests.line_run import line_run

pandas = pytest.importorskip("pandas")

FACTS = [("p5", "next", "p6"), ("p5", "next", "p9")]
QUERIES = [("p5", "next", None), (None, "twice", "p9"), ("p5", None, "p7")]


def polars_frame(rows: list[Any]) -> Any:
    return pl.DataFrame(rows, schema=["head", "relation", "tail"], orient="row")


def pandas_frame(rows: list[Any]) -> Any:
    return pandas.DataFrame(rows, columns=["head", "relation", "tail"])


FRAMES = pytest.mark.parametrize("frame", [polars_frame, pandas_frame])


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    line_run().save("runs/line")
    return "runs/line"


ASKED: dict[str, Callable[[Any], Any]] = {
    "predict": lambda run: hale.predict(run, head="p5", relation="next"),
    "predict_many": lambda run: list(hale.predict_many(run, QUERIES)),
    "discover": lambda run: hale.discover(run, ["next"], k=5),
    "discover_each": lambda run: next(hale.discover_each(run, ["next"], k=1)).rows(),
    "neighbors": lambda run: hale.neighbors(run, "p5"),
    "why": lambda run: hale.why(run, "p5", "next", "p6"),
    "evaluate": lambda run: hale.evaluate(run).overall,
    "classify": lambda run: list(hale.classify(run, FACTS)),
    "calibrate": lambda run: hale.calibrate(run, save=False),
    "load_calibration": lambda run: hale.load_calibration(run),
    "query_vectors": lambda run: hale.query_vectors(run, head="p5", relation="next").tolist(),
    "export_run": lambda run: hale.export_run(run, "out", overwrite=True),
    "with_paths": lambda run: hale.evaluate(hale.with_paths(run)).overall,
    "find": lambda run: hale.find(run, "two"),
    "update": lambda run: hale.update(run, FACTS[1:], epochs=1).origin[-1]["added"],
}


@pytest.mark.parametrize("name", ASKED)
def test_a_path_wherever_a_run_goes(name: str, saved: str) -> None:
    ask = ASKED[name]
    expected = ask(hale.load_run(saved))
    assert ask(saved) == expected
    assert ask(Path(saved)) == expected


def test_every_question_to_a_run_is_among_them() -> None:
    """What of the public surface takes a run is tried above."""
    import inspect

    taking = {
        name
        for name in hale.__all__
        if inspect.isfunction(getattr(hale, name))
        and next(iter(inspect.signature(getattr(hale, name)).parameters)) in ("run", "source")
    }
    assert taking - {"load"} == set(ASKED)


def test_a_path_a_name_or_a_frame_wherever_a_graph_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [(f"p{i}", "next", f"p{i + 1}") for i in range(40)]
    Path("f.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    graphs = [hale.load("f.tsv"), "f.tsv", Path("f.tsv"), polars_frame(rows), pandas_frame(rows)]
    runs = [hale.train(graph, dim=4, epochs=1) for graph in graphs]
    for run in runs[1:]:
        assert run.graph.entities.names == runs[0].graph.entities.names
        assert np.array_equal(run.vectors().array, runs[0].vectors().array)
    assert hale.train("wordnet", dim=2, epochs=1, batch_size=40_000).graph.name == "wordnet"


def test_faults_in_settings_are_told_before_a_graph_is_read() -> None:
    with pytest.raises(SettingsError, match="dim"):
        hale.train("no such file.tsv", dim=-1)
    with pytest.raises(SettingsError, match="even dim"):
        hale.train("no such file.tsv", dim=3)


@FRAMES
def test_frames_of_facts(frame: Callable[[Any], Any]) -> None:
    run = line_run()
    expected = list(hale.classify(run, FACTS))
    assert list(hale.classify(run, frame(FACTS))) == expected
    false = [("p1", "next", f"p{i}") for i in range(5, 15)]
    as_rows = hale.calibrate(run, negatives=false)
    assert hale.calibrate(run, negatives=frame(false)) == as_rows
    with pytest.raises(InputError, match="Unknown entity 'P99x'"):
        hale.classify(run, frame([("P99x", "next", "p1")]))


@FRAMES
def test_frames_of_queries(frame: Callable[[Any], Any]) -> None:
    run = line_run()
    expected = list(hale.predict_many(run, QUERIES, k=3))
    assert list(hale.predict_many(run, frame(QUERIES), k=3)) == expected
    marked = [tuple("?" if name is None else name for name in query) for query in QUERIES]
    assert list(hale.predict_many(run, frame(marked), k=3)) == expected


def test_a_file_of_queries(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("p5\tnext\t?\n")
    (answers,) = hale.predict_many(line_run(), tmp_path / "q.tsv", k=1)
    assert [answer.name for answer in answers] == ["p6"]


def test_many_answers_as_one_frame() -> None:
    run = line_run()
    frame = hale.predict_many(run, QUERIES, k=2).to_polars()
    rows = frame.select("head", "relation", "tail", "asked", "rank").rows()
    assert rows[0] == ("p5", "next", "p6", "tail", 1)
    assert [row[3] for row in rows] == ["tail", "tail", "head", "head", "relation", "relation"]
    one = [
        (a.head, a.relation, a.tail, b.name)
        for a in hale.predict_many(run, QUERIES, k=2)
        for b in a
    ]
    for (head, relation, tail, name), row in zip(one, rows, strict=True):
        assert row[:3] == tuple(name if part is None else part for part in (head, relation, tail))
    assert len(hale.predict_many(run, QUERIES, k=2).to_pandas()) == 6
    assert hale.predict_many(run, [], k=2).to_polars().height == 0


def test_answers_as_a_frame() -> None:
    run = line_run()
    answers = hale.predict(run, head="p0", relation="next", k=3, anything=True)
    frame = answers.to_polars()
    assert frame.columns == ["head", "relation", "tail", "label", "rank", "score", "known"]
    assert frame.row(0) == ("p0", "next", "p1", "one", 1, 0.0, "valid")
    sure = hale.predict(run, head="p0", relation="next", k=3, above=0.0).to_polars()
    assert sure["probability"].is_between(0, 1).all()
    relations = hale.predict(run, head="p0", tail="p1", anything=True).to_polars()
    assert relations["relation"].to_list()[0] == "next"
    nothing = hale.predict(run, head="p0", relation="next", k=1, above=1.0).to_polars()
    assert nothing.columns[:3] == ["head", "relation", "tail"]


def test_a_graph_as_a_frame() -> None:
    graph = line_run().graph
    frame = graph.to_polars()
    assert frame.columns == ["head", "relation", "tail", "split"]
    assert frame.row(-1) == ("p2", "twice", "p4", "test")
    for split in ("train", "valid", "test"):
        assert len(frame.filter(split=split)) == len(graph.split(split))
    again = hale.load(frame.drop("split"), holdout=0)
    assert len(again.train) == len(frame)
    assert graph.to_pandas("test")["head"].tolist() == ["p2"]


def test_a_report_as_a_frame() -> None:
    report = hale.evaluate(line_run(), split="valid")
    frame = report.to_polars()
    assert frame.row(0, named=True)["mrr"] == report.mrr
    assert frame["direction"].to_list() == [None, "tail", "head", None, None]
    assert frame["relation"].to_list() == [None, None, None, "next", "twice"]
    assert frame.filter(relation="next")["count"].item() == report.by_relation["next"].count


SHOWN: dict[str, Callable[[hale.Run], Any]] = {
    "run": lambda run: run,
    "graph": lambda run: run.graph,
    "settings": lambda run: run.settings,
    "answers": lambda run: hale.predict(run, head="p5", relation="next", k=20),
    "verdicts": lambda run: hale.classify(run, FACTS * 50),
    "neighbors": lambda run: hale.neighbors(run, "p5", k=19),
    "missing facts": lambda run: hale.discover(run, k=50),
    "explanation": lambda run: hale.why(run, "p5", "next", "p6", k=9),
    "report": hale.evaluate,
    "calibration": lambda run: hale.calibrate(run, save=False),
    "vectors": lambda run: run.vectors(),
    "found": lambda run: hale.find(run, "p"),
    "stream": lambda run: hale.predict_many(run, QUERIES),
}


@pytest.mark.parametrize("name", SHOWN)
def test_one_line_and_not_a_long_one(name: str) -> None:
    told = repr(SHOWN[name](line_run()))
    assert "\n" not in told
    assert 5 < len(told) < 200


@pytest.mark.parametrize("name", sorted(set(SHOWN) - {"settings", "calibration", "stream"}))
def test_a_notebook_shows_a_table_with_names_escaped(name: str) -> None:
    run = line_run()
    graph = run.graph
    odd = [f"<script>{entity}" if entity != "p5" else "p5" for entity in graph.entities.names]
    odd[6] = "p6"
    odd[9] = "p9"
    relations = Vocabulary(["next", "twice"], "relation")
    run.graph = Graph(
        "<script>",
        Vocabulary(odd, "entity"),
        relations,
        graph.train,
        graph.valid,
        graph.test,
        labels={"p5": "<script>"},
    )
    shown = SHOWN[name](run)._repr_html_()
    assert "<table" in shown
    assert "<script>" not in shown


def test_results_that_are_frames_are_so_in_one_way() -> None:
    run = line_run()
    for name in set(SHOWN) - {"settings", "calibration", "run", "graph"}:
        found = SHOWN[name](run)
        assert isinstance(found, Framed), name
        assert isinstance(found.to_polars(), pl.DataFrame)
        assert isinstance(SHOWN[name](run).to_pandas(), pandas.DataFrame)

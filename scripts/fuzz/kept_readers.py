"""What hale itself keeps beside a run and its results, and what pages and agents send."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

Read = Callable[[bytes], object]
KEY = "wn18rr-hale-rotl-32-s0-x1"
SEEDS = Path(__file__).parent / "seeds"
HOST = "http://127.0.0.1:8000"
TOKEN = "t" * 40
FORMS = ("/review/decide", "/review/undo", "/review/stop")
FORM = (
    b"head=e000&relation=next&tail=e005&decision=accept&who=me&probability=0.5&score=-1&queue=next"
)


class Kept(NamedTuple):
    """A reader's name, good inputs, and what reads any."""

    name: str
    seeds: tuple[bytes, ...]
    read: Read


def kept_readers(world: Path, place: Path) -> list[Kept]:
    """All of them, over a small world; inputs lie in a folder."""
    return [
        _journal(place),
        _cells(place),
        _ranks(world, place),
        _beside(world, place),
        *_sent(world, place),
    ]


def _tree(name: str, folder: Path, read: Callable[[Path], object], *, only: str = "") -> Kept:
    """A folder of which one file, below ``only``, is replaced: the first byte says which."""
    whole = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    there = [path for path in whole if path.is_relative_to(folder / only)]

    def from_bytes(data: bytes) -> object:
        replaced = there[data[0] % len(there)] if data else there[0]
        for path, content in whole.items():
            wanted = data[1:] if path == replaced else content
            if not path.is_file() or path.read_bytes() != wanted:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.unlink(missing_ok=True)  # one that is mapped stays as it was
                path.write_bytes(wanted)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read(folder)

    seeds = tuple(bytes([i]) + whole[path] for i, path in enumerate(there))
    return Kept(name, seeds, from_bytes)


def _journal(place: Path) -> Kept:
    """The trials of a search, as hale tune opens them."""
    import optuna

    from hale.training.tune.journal import open_trials

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    path = place / "trials.journal"
    study = optuna.create_study(study_name="s", storage=open_trials(path), direction="maximize")
    study.enqueue_trial({"x": 0.5})
    for value in (0.25, 0.5):
        trial = study.ask()
        trial.suggest_float("x", 0.1, 1.0, log=True)
        trial.suggest_categorical("y", (1, 2))
        trial.report(value, 0)
        study.tell(trial, value)
    good = path.read_bytes()

    def read(data: bytes) -> object:
        path.write_bytes(data)
        storage = open_trials(path)
        studies = storage.get_all_studies()
        return [len(storage.get_all_trials(study._study_id)) for study in studies]

    return Kept("journal", (good,), read)


def _cells(place: Path) -> Kept:
    """A folder of results: a cell, its points, its ranks and what their triples are."""
    import numpy as np

    from hale.lab.paper import EXPERIMENTS, read_cells
    from hale.lab.paper.figures import read_points
    from hale.lab.paper.rank_files import Ranks, read_ranks, write_ranks
    from hale.lab.paper.render import render_page

    folder = place / "cells"
    folder.mkdir()
    shutil.copy(SEEDS / f"{KEY}.json", folder)
    (folder / "a.points.json").write_text('{"finished": "then", "points": [[1, 2], [3, 4]]}')
    ranks = np.arange(1.0, 41.0)
    write_ranks(folder, KEY, Ranks(ranks, ranks + 1, np.ones(40), ranks[:20]))

    def read(folder: Path) -> object:
        found = read_cells(folder)
        read_points(folder / "a.points.json")
        tables = [EXPERIMENTS["table3"]]
        return render_page(tables, found, {}, lambda key: read_ranks(folder, key))

    return _tree("cells", folder, read)


def _ranks(world: Path, place: Path) -> Kept:
    """What ranks of a group map and write."""
    from hale.engine.group import Group
    from hale.runs.file_names import RANKS
    from hale.runs.folder import RunFolder
    from hale.runs.run import load_run
    from hale.training.extent import Ranked
    from hale.training.mapped_graph import check_facts, mapped_graph
    from hale.training.ranked_start import JOB, _is_restarted, train_on_ranks

    graph, folder = load_run(world / "run").graph, place / "on ranks"
    asked = {"model": "rotl", "dim": 4, "epochs": 1, "queries": 8, "block": 8, "threads": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        train_on_ranks(Group(), lambda: graph, asked, out=folder)
    (folder / RANKS / JOB).write_text('{"id": "a job"}')

    def read(folder: Path) -> object:
        run = RunFolder(folder)
        check_facts(run, graph)
        store = Ranked(mapped_graph(run), Group()).store
        with mock.patch.dict(os.environ, TORCHELASTIC_RUN_ID="a job"):
            _is_restarted(run)
        return store._read(run, "checkpoint")  # type: ignore[attr-defined]

    return _tree("ranks", folder, read, only=RANKS)


def _beside(world: Path, place: Path) -> Kept:
    """Files that not every run has: types, path rules, origin, teachers and lessons, a map."""
    from dataclasses import replace

    import numpy as np

    from hale.data.graph import Vocabulary
    from hale.data.types import Types
    from hale.evaluation.second_opinion import with_paths
    from hale.runs.file_names import ORIGIN
    from hale.runs.folder import RunFolder
    from hale.runs.run import load_run
    from hale.serve.map.first_sight import first_sight
    from hale.serve.map.map_file import Layout, read_map, write_map
    from hale.training.start import train
    from hale.training.teachers import lesson_for

    folder = place / "with more"
    graph = load_run(world / "run").graph
    places = np.arange(len(graph.entities))
    graph = replace(graph, types=Types(Vocabulary(["a", "b"], "type"), places, places % 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        taught: dict[str, Any] = {
            "teacher": (str(world / "run"),),
            "teacher_queries": 8,
            "teacher_top": 4,
        }
        train(graph, dim=4, epochs=1, queries=8, threads=1, out=folder, **taught)
        RunFolder(folder).write_json(ORIGIN, [{"added": 1, "removed": 0}])
        with_paths(load_run(folder))
        seen = first_sight(folder)
        xy = np.random.default_rng(0).normal(size=(len(places), 2)).astype(np.float32)
        write_map(folder, graph, Layout.of("pca", xy, graph), seen.weights)
    core = ("settings.json", "entities.txt", "relations.txt", "triples.safetensors")
    kept = {name: (folder / name).read_bytes() for name in (*core, "model.safetensors")}

    def read(folder: Path) -> object:
        for name, content in kept.items():  # readers of their own have these
            if (folder / name).read_bytes() != content:
                (folder / name).write_bytes(content)
        run = load_run(folder)
        lesson_for(run.settings, run.graph, RunFolder(folder))
        with_paths(run)
        return run.as_dict(), run.origin, read_map(folder, run.graph, seen.weights)

    return _tree("run, other files", folder, read)


def _sent(world: Path, place: Path) -> list[Kept]:
    """Forms and selections of pages, messages of agents: status 500 or an exception is a fault."""
    from starlette.testclient import TestClient

    from hale.runs.run import load_run
    from hale.serve.agents import agent_app
    from hale.serve.app import create_app
    from hale.serve.map.first_sight import first_sight
    from hale.serve.pages import early_routes, late_routes, rendering
    from hale.serve.pages.explorer import Explorer
    from hale.serve.service import Service

    folder = Path(shutil.copytree(world / "sure", place / "asked"))
    static = place / "static"
    static.mkdir()
    for name in rendering.BUNDLE:
        (static / name).write_text("/* nothing */")
    vars(rendering)["STATIC"] = static
    explorer, service = Explorer(folder, first_sight(folder)), Service(load_run(folder))
    explorer.take_service(service)
    atexit.register(explorer.close)
    pages = [*early_routes(explorer), *late_routes(explorer)]
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    made = create_app(service, token=TOKEN, pages=pages)
    browser = TestClient(made, base_url=HOST, headers=bearer, follow_redirects=False)
    agent = TestClient(agent_app(service, token=TOKEN, host="127.0.0.1"), base_url=HOST)
    agent.headers.update(
        {
            **bearer,
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
    )
    for client in (browser, agent):
        client.__enter__()
        atexit.register(client.__exit__, None, None, None)

    def form(data: bytes) -> object:
        which = FORMS[data[0] % len(FORMS)] if data else FORMS[0]
        head = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = answered(browser.post(which, content=data[1:], headers=head))
        (folder / "review.jsonl").unlink(missing_ok=True)  # or it would grow with every input
        return answer

    def selection(data: bytes) -> object:
        ending = ("", ".tsv")[data[0] % 2] if data else ""
        return answered(browser.post(f"/map/selection{ending}", content=data[1:]))

    def message(data: bytes) -> object:
        return answered(agent.post("/mcp", content=data))

    chosen = b"\x00\x00\x00\x00\x02\x00\x00\x00"
    asked = {"name": "predict", "arguments": {"head": "e000", "relation": "next", "k": 2}}
    called = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}
    listed = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    return [
        Kept("review forms", tuple(bytes([i]) + FORM for i in range(len(FORMS))), form),
        Kept("selections", (b"\x00" + chosen, b"\x01" + chosen), selection),
        Kept("MCP messages", tuple(json.dumps(one).encode() for one in (called, listed)), message),
    ]


def answered(response: Any) -> object:
    """What an answer holds; a fault of the server is an error."""
    if response.status_code >= 500 and response.status_code != 503:
        raise AssertionError(f"status {response.status_code}: {response.text[:200]}")
    is_json = "json" in response.headers.get("content-type", "") and response.content
    return response.json() if is_json else None

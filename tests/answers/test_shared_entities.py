"""Entities that ranks share: what is counted and found is that of one rank, to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from hale.answers.discovery import discover, discover_each
from hale.answers.neighborhood import neighbors
from hale.answers.predictor import predict, predict_many
from hale.data.graph import Graph
from hale.engine import library
from hale.engine.group import Group
from hale.errors import InputError
from hale.evaluation.calibration import calibrate
from hale.evaluation.evaluator import evaluate
from hale.runs.file_names import MODEL
from hale.runs.folder import RunFolder
from hale.runs.run import load_run
from hale.training.start import train
from tests.conftest import ring
from tests.ranks import Ranks

SIZES = (1, 2, 3, 4)


def made(folder: Path, graph: Graph, epochs: int = 3, **settings: Any) -> Path:
    train(graph, out=folder, epochs=epochs, batch_size=64, seed=1, threads=1, **settings)
    return folder


def asked(group: Group, folder: Path) -> dict[str, Any]:
    """What a run says to all who ask."""
    torch.set_num_threads(1)
    run = load_run(folder, device="cpu", group=group)
    names = run.graph.entities.names
    held = run.model.entity.span
    reports = [evaluate(run, "test", ties=ties).as_dict() for ties in ("mean", "optimistic")]
    reports.append(evaluate(run, "test", within=names[3:40]).as_dict())
    reports.append(evaluate(run, "test", seconds=1000.0).as_dict())
    for report in reports:
        del report["seconds"]
    queries = [(name, "next", None) for name in names[::9]] + [(None, "skip", names[5])]
    return {
        "rows": len(run.model.entities()),
        "expected": len(held),
        "reports": reports,
        "predicted": [
            [(answer.name, answer.score, answer.probability) for answer in answers]
            for answers in predict_many(run, queries, k=7, anything=True)
        ],
        "one": predict(run, head=names[2], relation="skip", known="drop", k=50).as_dict(),
        "relations": predict(run, head=names[2], tail=names[3]).as_dict(),
        "facts": [fact.as_dict() for fact in discover(run, k=40)],
        "any facts": [fact.as_dict() for fact in discover(run, k=40, anything=True)],
        "each": [frame.to_dicts() for frame in discover_each(run, ["next"], k=3)],
        "near": [n.as_dict() for n in neighbors(run, names[0], k=90)],
        "cosine": [n.as_dict() for n in neighbors(run, names[7], k=5, metric="cosine")],
        "sent": dict(group.sent),
    }


def told_on_ranks(ranks: Ranks, folder: Path) -> list[dict[str, Any]]:
    """What every rank of every size of group tells, the shares of the table checked."""
    told = []
    for size in SIZES:
        found = ranks(size, asked, folder)
        assert sum(one["rows"] for one in found) == 96
        for one in found:
            assert one["rows"] == one["expected"]
            assert bool(one["sent"]) == (size > 1)
            told.append({key: one[key] for key in one if key not in ("rows", "expected", "sent")})
    return told


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "rote", "dim": 8, "epochs": 60},
        {"model": "affine", "dim": 8, "epochs": 20, "cardinality": True},
        {"model": "distmult", "strategy": "allneg", "dim": 7, "biases": True},
        {"model": "roth", "strategy": "allneg", "dim": 6},
    ],
    ids=lambda settings: str(settings["model"]),
)
def test_the_same_on_any_number_of_ranks(
    ranks: Ranks, tmp_path: Path, settings: dict[str, Any]
) -> None:
    if library.current().name != "native":
        pytest.skip("products of plain torch depend on their shape in the last bit")
    folder = made(tmp_path / "run", ring(96, held_out=12), **settings)
    if settings["model"] in ("rote", "affine"):
        calibrate(load_run(folder))
    first, *others = told_on_ranks(ranks, folder)
    assert all(other == first for other in others)


def test_the_rule_is_heeded_on_ranks(ranks: Ranks, tmp_path: Path) -> None:
    """Every entity has a predecessor in train but for those of facts that are held out."""
    settings = {"model": "rote", "dim": 8, "strategy": "hale"}
    ruled = made(tmp_path / "ruled", ring(96, held_out=12), cardinality=True, **settings)
    free = made(tmp_path / "free", ring(96, held_out=12), cardinality=False, **settings)
    both = [ranks(2, asked, folder)[0] for folder in (ruled, free)]
    assert both[0]["reports"][0]["mrr"] > both[1]["reports"][0]["mrr"]
    assert both[0]["predicted"] != both[1]["predicted"]
    assert both[0]["any facts"] != both[1]["any facts"]


def refused(group: Group, folder: Path) -> str:
    try:
        load_run(folder, device="cpu", group=group)
    except InputError as error:
        return str(error)
    return ""


def test_computed_vectors_are_not_shared(ranks: Ranks, tmp_path: Path) -> None:
    folder = made(tmp_path / "run", ring(24), model="rgcn", dim=4, epochs=1)
    for told in ranks(2, refused, folder):
        assert "in one process" in told


@pytest.mark.parametrize("cardinality", [False, True])
def test_equal_entities_are_told_apart_by_their_ids(
    ranks: Ranks, tmp_path: Path, cardinality: bool
) -> None:
    """All vectors are one of two, so that nearly all scores are equal."""
    graph = ring(96, held_out=12) if cardinality else ring(96)
    folder = made(tmp_path / "run", graph, model="rote", dim=8, cardinality=cardinality)
    run = load_run(folder)
    with torch.no_grad():
        rows = run.model.entity.weight
        rows.copy_(rows[torch.arange(len(rows)) % 2])
    RunFolder(folder).write_tensors(MODEL, run.model.state_dict(), {"step": run.summary.kept_step})
    first, *others = told_on_ranks(ranks, folder)
    assert all(other == first for other in others)
    if cardinality:
        return
    near = neighbors(load_run(folder), "e000", k=5)
    assert [one.entity for one in near] == ["e002", "e004", "e006", "e008", "e010"]
    answers = predict(load_run(folder), head="e000", relation="next", k=47, anything=True)
    ids = [int(answer.name[1:]) for answer in answers]
    assert ids == list(range(2, 96, 2)), "all are equal, and the head is no answer"

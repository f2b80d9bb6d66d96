"""hale: knowledge-graph embeddings in minutes, and the answers they give.

    import hale
    graph = hale.load("wordnet")
    run = hale.train(graph, model="rotl", dim=32, budget="60s")
    print(hale.evaluate(run, split="test").mrr)
    for answer in hale.predict(run, head="dog.n.01", relation="hypernym", k=3):
        print(answer)

The names below are the public surface. They are imported on first use, so that
reading a graph or asking for help does not wait for PyTorch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from hale import engine, errors, models
    from hale.answers.align import Match, align
    from hale.answers.answer import Answer, Answers
    from hale.answers.discovery import MissingFact, discover, discover_each
    from hale.answers.explanation import Explanation, why
    from hale.answers.neighborhood import Neighbor, neighbors
    from hale.answers.predictor import predict, predict_many
    from hale.answers.queries import Query
    from hale.data.datasets import load
    from hale.data.find import Found, find
    from hale.data.graph import Graph
    from hale.engine import activations
    from hale.errors import HaleError
    from hale.evaluation.calibration import Calibration, calibrate, load_calibration
    from hale.evaluation.classification import Verdict, Verdicts, classify
    from hale.evaluation.evaluator import evaluate
    from hale.evaluation.metrics import Metrics, Report
    from hale.evaluation.second_opinion import with_paths
    from hale.export import export_run, open_index, query_vectors
    from hale.runs.run import Record, Run, Summary, load_run
    from hale.settings import Settings
    from hale.training.signature import train
    from hale.training.update.updater import update

_HOMES = {
    "Calibration": "hale.evaluation.calibration",
    "calibrate": "hale.evaluation.calibration",
    "load_calibration": "hale.evaluation.calibration",
    "Verdict": "hale.evaluation.classification",
    "Verdicts": "hale.evaluation.classification",
    "classify": "hale.evaluation.classification",
    "load": "hale.data.datasets",
    "Found": "hale.data.find",
    "find": "hale.data.find",
    "MissingFact": "hale.answers.discovery",
    "discover": "hale.answers.discovery",
    "discover_each": "hale.answers.discovery",
    "HaleError": "hale.errors",
    "with_paths": "hale.evaluation.second_opinion",
    "Metrics": "hale.evaluation.metrics",
    "Report": "hale.evaluation.metrics",
    "evaluate": "hale.evaluation.evaluator",
    "Explanation": "hale.answers.explanation",
    "why": "hale.answers.explanation",
    "export_run": "hale.export",
    "open_index": "hale.export",
    "query_vectors": "hale.export",
    "Graph": "hale.data.graph",
    "Neighbor": "hale.answers.neighborhood",
    "neighbors": "hale.answers.neighborhood",
    "Match": "hale.answers.align",
    "align": "hale.answers.align",
    "Answer": "hale.answers.answer",
    "Answers": "hale.answers.answer",
    "predict": "hale.answers.predictor",
    "predict_many": "hale.answers.predictor",
    "Query": "hale.answers.queries",
    "Record": "hale.runs.run",
    "Run": "hale.runs.run",
    "Summary": "hale.runs.run",
    "load_run": "hale.runs.run",
    "Settings": "hale.settings",
    "train": "hale.training.signature",
    "update": "hale.training.update.updater",
}
_MODULES = {
    "activations": "hale.engine.activations",
    "engine": "hale.engine",
    "errors": "hale.errors",
    "models": "hale.models",
}

__all__ = [
    "Answer",
    "Answers",
    "Calibration",
    "Explanation",
    "Found",
    "Graph",
    "HaleError",
    "Match",
    "Metrics",
    "MissingFact",
    "Neighbor",
    "Query",
    "Record",
    "Report",
    "Run",
    "Settings",
    "Summary",
    "Verdict",
    "Verdicts",
    "__version__",
    "activations",
    "align",
    "calibrate",
    "classify",
    "discover",
    "discover_each",
    "engine",
    "errors",
    "evaluate",
    "export_run",
    "find",
    "load",
    "load_calibration",
    "load_run",
    "models",
    "neighbors",
    "open_index",
    "predict",
    "predict_many",
    "query_vectors",
    "train",
    "update",
    "why",
    "with_paths",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    raise AttributeError(f"module 'hale' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

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

from hale import version

__version__ = version.VERSION

if TYPE_CHECKING:
    from hale import activations, engine, errors, models
    from hale.calibration import Calibration, calibrate, load_calibration
    from hale.classifier import Verdict, Verdicts, classify
    from hale.datasets import load
    from hale.discovery import MissingFact, discover, discover_each
    from hale.errors import HaleError
    from hale.evaluator import Metrics, Report, evaluate
    from hale.explanation import Explanation, why
    from hale.export import export_run, open_index, query_vectors
    from hale.graph import Graph
    from hale.neighborhood import Neighbor, neighbors
    from hale.predictor import Answer, Answers, predict, predict_many
    from hale.queries import Query
    from hale.run import Record, Run, Summary, load_run
    from hale.settings import Settings
    from hale.trainer import train
    from hale.updater import update

_HOMES = {
    "Calibration": "hale.calibration",
    "calibrate": "hale.calibration",
    "load_calibration": "hale.calibration",
    "Verdict": "hale.classifier",
    "Verdicts": "hale.classifier",
    "classify": "hale.classifier",
    "load": "hale.datasets",
    "MissingFact": "hale.discovery",
    "discover": "hale.discovery",
    "discover_each": "hale.discovery",
    "HaleError": "hale.errors",
    "Metrics": "hale.evaluator",
    "Report": "hale.evaluator",
    "evaluate": "hale.evaluator",
    "Explanation": "hale.explanation",
    "why": "hale.explanation",
    "export_run": "hale.export",
    "open_index": "hale.export",
    "query_vectors": "hale.export",
    "Graph": "hale.graph",
    "Neighbor": "hale.neighborhood",
    "neighbors": "hale.neighborhood",
    "Answer": "hale.predictor",
    "Answers": "hale.predictor",
    "predict": "hale.predictor",
    "predict_many": "hale.predictor",
    "Query": "hale.queries",
    "Record": "hale.run",
    "Run": "hale.run",
    "Summary": "hale.run",
    "load_run": "hale.run",
    "Settings": "hale.settings",
    "train": "hale.trainer",
    "update": "hale.updater",
}
_MODULES = ("activations", "engine", "errors", "models")

__all__ = [
    "Answer",
    "Answers",
    "Calibration",
    "Explanation",
    "Graph",
    "HaleError",
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
    "calibrate",
    "classify",
    "discover",
    "discover_each",
    "engine",
    "errors",
    "evaluate",
    "export_run",
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
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"hale.{name}")
    raise AttributeError(f"module 'hale' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

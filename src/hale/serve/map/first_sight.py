"""First sight: names, facts and vectors straight from a run's files, before PyTorch is there.

Importing PyTorch and building a model takes seconds; the map and the search over it need neither.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from hale.data.graph import SPLITS, Graph
from hale.data.lines import read_lines
from hale.data.types import types_from_lines
from hale.data.vocabulary import Vocabulary

Floats = NDArray[np.float32]

SETTINGS, MODEL, TRIPLES = "settings.json", "model.safetensors", "triples.safetensors"
TABLE = "entity.weight"  # of every model; the last column may be a height, which is no place


@dataclass(frozen=True)
class FirstSight:
    """A run as its files tell it: the graph, where its entities are (N, d), which weights."""

    graph: Graph
    places: Floats
    weights: str


def first_sight(run: Path) -> FirstSight:
    """Read a run's files; whatever is wrong with them is whatever error it leads to.

    Whoever calls this then has ``load_run`` say what is wrong, in better words.
    """
    header = json.loads((run / SETTINGS).read_text(encoding="utf-8"))
    labels: dict[str, str] = {}
    if (run / "labels.tsv").is_file():
        labels = dict(line.split("\t", 1) for line in read_lines(run / "labels.tsv"))
    with safe_open(run / TRIPLES, framework="np") as file:
        splits = {split: file.get_tensor(split) for split in SPLITS}
    with safe_open(run / MODEL, framework="np") as file:
        if any(name.startswith("encoder.") for name in file.keys()):  # noqa: SIM118
            raise ValueError("places are computed from the weights, not among them")
        table = file.get_slice(TABLE)[:, : header["settings"]["dim"]]
    entities = Vocabulary(read_lines(run / "entities.txt"), "entity", any_text=True)
    types = None
    if (run / "types.tsv").is_file():
        types = types_from_lines(read_lines(run / "types.tsv"), entities)
    graph = Graph(
        name=header["graph"]["name"],
        entities=entities,
        relations=Vocabulary(read_lines(run / "relations.txt"), "relation", any_text=True),
        labels=labels,
        types=types,
        **splits,
    )
    if len(graph.entities) != len(table):
        raise ValueError(f"{len(table)} vectors for {len(graph.entities)} entities")
    return FirstSight(graph, table.astype(np.float32, copy=False), weights_of(run))


def weights_of(run: Path) -> str:
    """A digest of a run's weights: another where they are others."""
    with (run / MODEL).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]

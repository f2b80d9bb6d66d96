"""The graph of a run on ranks: prepared once by rank 0, and mapped by all.

Triples lie in files of their own below the run's folder (``ranks/facts``), as they are used, so
that the ranks of a machine share the pages that hold them. Names stay in the run's files.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import cast

import numpy as np

from hale.data.graph import SPLITS, Graph
from hale.data.keys import Ids
from hale.data.lines import read_lines
from hale.data.vocabulary import VocabularyOnDisk
from hale.errors import RunError
from hale.runs.file_names import RANKS
from hale.runs.folder import RunFolder
from hale.runs.header import SETTINGS, read_header
from hale.training.checkpoint import weights_of

FACTS = Path(RANKS) / "facts"


def write_facts(folder: RunFolder, graph: Graph) -> None:
    """Lay out the triples of a graph, and their weights, for others to map."""
    place = folder.path / FACTS
    place.mkdir(parents=True)
    for split in SPLITS:
        np.save(place / f"{split}.npy", graph.split(split), allow_pickle=False)
    if graph.weights is not None:
        np.save(place / "weights.npy", graph.weights, allow_pickle=False)


def check_facts(folder: RunFolder, graph: Graph) -> None:
    """Refuse triples laid out for others that are not those of the run, whose own have a checksum.

    One rank asks: what it compares them with is the whole graph.
    """
    there = mapped_graph(folder)
    with folder.blaming(str(FACTS)):
        same = [np.array_equal(there.split(split), graph.split(split)) for split in SPLITS]
        same.append(np.array_equal(weights_of(there), weights_of(graph)))
        if not all(same):
            raise ValueError("its triples and weights are not those of the run")


def mapped_graph(folder: RunFolder) -> Graph:
    """The graph of a run, without any of it in memory but what is looked at."""
    place = folder.path / FACTS
    if not place.is_dir():
        raise RunError(
            f"The run {folder.path} was not begun on ranks, so it is not resumed on them. "
            "Resume it in one process, without --ranks or torchrun."
        )
    with folder.blaming(SETTINGS):
        about = read_header(folder.path)["graph"]
        name, counts = str(about["name"]), [int(about[key]) for key in ("entities", "relations")]
    entities, relations = (
        VocabularyOnDisk(count, kind, partial(read_lines, folder.path / f"{file}.txt"))
        for count, kind, file in zip(
            counts, ("entity", "relation"), ("entities", "relations"), strict=True
        )
    )
    with folder.blaming(str(FACTS)):
        train, valid, test = (_mapped(place / f"{split}.npy") for split in SPLITS)
        weights = place / "weights.npy"
        return Graph(
            name=name,
            entities=entities,
            relations=relations,
            train=train,
            valid=valid,
            test=test,
            weights=np.load(weights, allow_pickle=False) if weights.is_file() else None,
        )


def _mapped(path: Path) -> Ids:
    """A file of triples; one without any cannot be mapped."""
    found = np.load(path, mmap_mode="r", allow_pickle=False)
    return cast(Ids, found)

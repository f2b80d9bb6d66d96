"""A run on disk: a folder that a person can read, written so that a kill loses nothing.

    settings.json          settings, version, what the graph was, checksums (header)
    entities.txt           names in id order, one a line; relations.txt likewise
    labels.tsv             readable names, where the graph had them; types.tsv likewise
    triples.safetensors    train, valid, test as ids, weights if any: the run needs no other file
    model.safetensors      the weights that validation kept
    history.jsonl          one validation a line
    metrics.json           how training went, and the reports of evaluations
    checkpoint.safetensors the state to resume from: weights, optimiser, clock
    origin.json            of a run that was updated: what was added, removed, and its effect
    teachers.json          of a run that was taught: by which runs, with checksums of their weights
    lessons.safetensors    what they taught: their scores of the best answers to some queries
    ranks/                 of a run on several ranks: their shards of the state, triples to map
    calibration.json       what gives probabilities; paths.json: path rules and their weight
    review.jsonl           one decision of a person a line; a run that is overwritten hands it on

The folder appears whole under its name, and every later write goes to a temporary name and is
renamed, so at any moment each file is the old or the new one. What is random is a function of seed
and step, so no generator is saved. No pickle is written or read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from torch import Tensor

from hale.data.files import write_json, write_text
from hale.data.graph import SPLITS, Graph
from hale.data.lines import read_lines, write_lines
from hale.data.types import types_from_lines
from hale.data.vocabulary import Vocabulary
from hale.errors import RunError
from hale.runs.blame import blaming_disk, blaming_file
from hale.runs.file_names import MODEL, TRIPLES, TYPES
from hale.runs.header import (
    SEALED,
    SETTINGS,
    check_files,
    make_header,
    read_header,
    settings_in,
)
from hale.runs.replacing import new_folder
from hale.runs.seal import sealed, unsealed
from hale.runs.tensor_file import (
    InParts,
    check_bytes,
    check_finite,
    read_tensor_file,
    write_tensor_file,
)
from hale.settings import Settings


class RunFolder:
    """The files of one run."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    # -- writing ---------------------------------------------------------------

    @classmethod
    def create(
        cls,
        path: str | Path,
        settings: Settings,
        graph: Graph,
        weights: Mapping[str, Tensor] | None,
        *,
        overwrite: bool = False,
        step: int = 0,
        trained: bool = True,
        fill: Callable[[RunFolder], object] | None = None,
    ) -> RunFolder:
        """A new folder with everything a run is made of; it appears whole or not at all.

        The weights are those of a step, None where they come later, from several ranks; if not
        ``trained``, whoever loads them is told. ``fill`` writes more files into it before it
        appears.
        """
        with new_folder(path, overwrite=overwrite) as waiting:
            fresh = cls(waiting)
            fresh._write_graph(graph)
            fresh.write_json(SETTINGS, make_header(settings, graph, waiting))
            about = {"step": step} | ({} if trained else {"untrained": True})
            if weights is not None:
                fresh.write_tensors(MODEL, weights, about)
            if fill is not None:
                fill(fresh)
        return cls(path)

    def write_json(self, name: str, value: object) -> None:
        """A JSON file, indented for people, with its checksum."""
        with blaming_disk():
            write_json(self.path / name, sealed(value))

    def write_lines(self, name: str, records: list[dict[str, Any]]) -> None:
        """A file of JSON lines, each with its checksum."""
        text = "".join(json.dumps(sealed(record)) + "\n" for record in records)
        with blaming_disk():
            write_text(self.path / name, text)

    def write_tensors(
        self, name: str, tensors: Mapping[str, Tensor | InParts], about: Mapping[str, Any]
    ) -> None:
        """A safetensors file with ``about`` as JSON in its header.

        Once the run has an id, the file carries it, and a checksum.
        """
        with blaming_disk():
            write_tensor_file(self.path / name, tensors, about, owner=self._owner(name))

    def write_settings(self, settings: Settings, extended: list[dict[str, Any]]) -> None:
        """The settings of a run that is given other limits, and where that was."""
        changed = {"settings": settings.model_dump(mode="json"), "extended": extended}
        self.write_json(SETTINGS, read_header(self.path) | changed)

    def _write_graph(self, graph: Graph) -> None:
        for name, vocabulary in (("entities", graph.entities), ("relations", graph.relations)):
            write_lines(self.path / f"{name}.txt", vocabulary.column)
        if len(named := graph.label_lines()):
            write_lines(self.path / "labels.tsv", named)
        if graph.types is not None:
            write_lines(self.path / TYPES, graph.types.lines(graph.entities))
        triples: dict[str, Tensor] = {
            split: torch.from_numpy(graph.split(split).astype(np.int32)) for split in SPLITS
        }
        if graph.weights is not None:
            triples["weights"] = torch.from_numpy(graph.weights.copy())
        self.write_tensors(TRIPLES, triples, {})

    # -- reading ---------------------------------------------------------------

    def read_settings(self) -> Settings:
        """The settings of the run."""
        return settings_in(read_header(self.path), self.path)

    def read_extensions(self) -> list[dict[str, Any]]:
        """Where the run was given other limits: step, seconds, and the limits before."""
        with self.blaming(SETTINGS):
            return [dict(entry) for entry in read_header(self.path).get("extended", [])]

    def read_graph(self) -> Graph:
        """The graph that the run was trained on; files that were changed since are refused."""
        header = read_header(self.path)
        check_files(header, self.path)
        names = {kind: self._read_lines_of(f"{kind}.txt") for kind in ("entities", "relations")}
        labels: dict[str, str] = {}
        if self.has("labels.tsv"):
            with self.blaming("labels.tsv"):
                labels = dict(line.split("\t", 1) for line in self._read_lines_of("labels.tsv"))
        with self.blaming(SETTINGS):
            about = header["graph"]
            name, counts = str(about["name"]), {kind: int(about[kind]) for kind in names}
        vocabularies: dict[str, Vocabulary] = {}
        for kind, count in counts.items():
            with self.blaming(f"{kind}.txt"):
                if len(names[kind]) != count:
                    raise ValueError(f"{len(names[kind])} lines, expected {count}")
                one = {"entities": "entity", "relations": "relation"}[kind]
                vocabularies[kind] = Vocabulary(names[kind], one, any_text=True)
        types = None
        if self.has(TYPES):
            with self.blaming(TYPES):
                types = types_from_lines(self._read_lines_of(TYPES), vocabularies["entities"])
        tensors, _ = self.read_tensors(TRIPLES)
        with self.blaming(TRIPLES):
            if any(tensors[split].is_floating_point() for split in SPLITS):
                raise ValueError("ids are whole numbers")
            train, valid, test = (tensors[split].numpy() for split in SPLITS)
            return Graph(
                name=name,
                entities=vocabularies["entities"],
                relations=vocabularies["relations"],
                train=train,
                valid=valid,
                test=test,
                labels=labels,
                weights=tensors["weights"].numpy() if "weights" in tensors else None,
                types=types,
            )

    def read_tensors(
        self, name: str, rows: Mapping[str, slice] | None = None
    ) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The tensors of a file and what is said about them; of some, certain ``rows`` alone."""
        path = self._existing(name)
        with self.blaming(name):
            found = read_tensor_file(path, owner=self._owner(name), rows=rows)
            if name == MODEL:
                check_finite(found[0])
            return found

    def check_bytes(self, name: str) -> None:
        """Refuse a file of tensors whose bytes are not those that were written."""
        path = self._existing(name)
        with self.blaming(name):
            check_bytes(path)

    def _owner(self, name: str) -> str | None:
        """The id that a file of tensors carries: none if its checksum stands in the header."""
        header = read_header(self.path) if self.has(SETTINGS) else {}
        return None if name in header.get("files", {}) else header.get("id")

    def read_json(self, name: str, *, finite: bool = False) -> Any:
        """The value of a JSON file, as it was written; if ``finite``, without NaN and infinity."""
        with self.blaming(name):
            constant = _refused if finite else float
            value = json.loads(self._read_text(name), parse_constant=constant)
            return unsealed(value, must=self._seals())

    def read_lines(self, name: str) -> list[dict[str, Any]]:
        """The records of a file of JSON lines, as they were written."""
        with self.blaming(name):
            lines = [json.loads(line) for line in self._read_text(name).split("\n") if line]
            return [dict(line) for line in unsealed(lines, must=self._seals())]

    def _seals(self) -> bool:
        """Whether each JSON file of the run was written with a checksum."""
        return bool(read_header(self.path)["format"] >= SEALED)

    def stamp(self) -> tuple[int, ...]:
        """What tells whether the run was replaced or trained on since: another stamp, then."""
        with blaming_disk():
            found = [(self.path / name).stat() for name in (SETTINGS, MODEL)]
        return tuple(part for one in found for part in (one.st_ino, one.st_mtime_ns, one.st_size))

    def check_stamp(self, stamp: tuple[int, ...] | None) -> None:
        """Refuse to write beside weights that are not those that were loaded."""
        if stamp is not None and self.stamp() != stamp:
            raise RunError(
                f"The run {self.path} was replaced or trained on since it was loaded, so nothing "
                "is written into it. Load it again."
            )

    def has(self, name: str) -> bool:
        """Whether the run has that file."""
        return (self.path / name).is_file()

    def blaming(self, name: str, what: str = "cannot be read") -> AbstractContextManager[None]:
        """Turn whatever a damaged file leads to into an error that names it."""
        return blaming_file(self.path, name, what)

    def _read_lines_of(self, name: str) -> pl.Series:
        with self.blaming(name):
            return read_lines(self._existing(name))

    def _read_text(self, name: str) -> str:
        with self.blaming(name):
            return self._existing(name).read_text(encoding="utf-8")

    def _existing(self, name: str) -> Path:
        path = self.path / name
        if not path.is_file():
            raise RunError(f"The run {self.path} is damaged: {name} is missing.")
        return path

    def remove(self, name: str) -> None:
        """Remove a file that no longer holds."""
        (self.path / name).unlink(missing_ok=True)


def _refused(constant: str) -> float:
    raise ValueError(f"it holds {constant}, which is no number")

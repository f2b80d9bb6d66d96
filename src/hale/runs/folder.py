"""A run on disk: a folder that a person can read, written so that a kill loses nothing.

    settings.json          settings, version, what the graph was
    entities.txt           names in id order, one a line; relations.txt likewise
    labels.tsv             readable names, where the graph had them
    triples.safetensors    train, valid, test as ids, weights if any: the run needs no other file
    model.safetensors      the weights that validation kept
    history.jsonl          one validation a line
    metrics.json           how training went, and the reports of evaluations
    checkpoint.safetensors the state to resume from: weights, optimiser, clock
    origin.json            of a run that was updated: what was added and removed, and its effect

The folder appears whole under its name, and every later write goes to a
temporary name and is renamed, so at any moment each file is the old or the new
one. What is random is a function of seed and step, so no generator is saved.
No pickle is written or read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from safetensors import SafetensorError
from torch import Tensor

from hale import __version__
from hale.data.files import (
    finish_replacing,
    is_free,
    whole_folder,
    write_json,
    write_text,
)
from hale.data.graph import SPLITS, Graph
from hale.data.lines import read_lines, write_lines
from hale.data.names import column_of
from hale.data.vocabulary import Vocabulary
from hale.errors import InputError, RunError, WriteError
from hale.runs.tensor_file import read_tensor_file, write_tensor_file
from hale.settings import Settings

FORMAT = 1

SETTINGS, TRIPLES, MODEL = "settings.json", "triples.safetensors", "model.safetensors"
CHECKPOINT = "checkpoint.safetensors"
HISTORY, METRICS, ORIGIN = "history.jsonl", "metrics.json", "origin.json"


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
        weights: Mapping[str, Tensor],
        *,
        overwrite: bool = False,
        fill: Callable[[RunFolder], object] | None = None,
    ) -> RunFolder:
        """A new folder with everything a run is made of; it appears whole or not at all.

        ``fill`` writes more files into it before it appears.
        """
        target = Path(path).absolute()
        taken = cls(target).is_taken(overwrite=overwrite)
        with _blaming_disk(), whole_folder(target, replace=taken) as waiting:
            fresh = cls(waiting)
            fresh._write_graph(graph)
            fresh.write_json(SETTINGS, _header(settings, graph))
            fresh.write_tensors(MODEL, weights, {"step": 0})
            if fill is not None:
                fill(fresh)
        return cls(path)

    def is_taken(self, *, overwrite: bool) -> bool:
        """Whether a run is there to be replaced; an error if it must not be."""
        target = self.path.absolute()
        with _blaming_disk():
            finish_replacing(target)
        taken = not is_free(target)
        if taken and not overwrite:
            raise RunError(
                f"{target} exists. Choose another folder, continue that run with --resume "
                "(resume=True), or replace it with --overwrite (overwrite=True)."
            )
        if taken and not (target / SETTINGS).is_file():
            raise RunError(f"{target} is not a run, so it is not overwritten. Choose another.")
        return taken

    def write_json(self, name: str, value: object) -> None:
        """A JSON file, indented for people."""
        with _blaming_disk():
            write_json(self.path / name, value)

    def write_lines(self, name: str, records: list[dict[str, Any]]) -> None:
        """A file of JSON lines."""
        text = "".join(json.dumps(record) + "\n" for record in records)
        with _blaming_disk():
            write_text(self.path / name, text)

    def write_tensors(
        self, name: str, tensors: Mapping[str, Tensor], about: Mapping[str, Any]
    ) -> None:
        """A safetensors file with ``about`` as JSON in its header."""
        with _blaming_disk():
            write_tensor_file(self.path / name, tensors, about)

    def _write_graph(self, graph: Graph) -> None:
        for name, vocabulary in (("entities", graph.entities), ("relations", graph.relations)):
            write_lines(self.path / f"{name}.txt", vocabulary.column)
        if len(named := _label_lines(graph)):
            write_lines(self.path / "labels.tsv", named)
        triples: dict[str, Tensor] = {
            split: torch.from_numpy(graph.split(split).astype(np.int32)) for split in SPLITS
        }
        if graph.weights is not None:
            triples["weights"] = torch.from_numpy(graph.weights.copy())
        self.write_tensors(TRIPLES, triples, {})

    # -- reading ---------------------------------------------------------------

    def read_settings(self) -> Settings:
        """The settings of the run."""
        header = self._read_header()
        with self.blaming(SETTINGS):
            values = dict(header["settings"])
            if strange := [name for name in values if name not in Settings.model_fields]:
                raise RunError(
                    f"The run {self.path} is of another version of hale ({header.get('hale')}; "
                    f"this is {__version__}): it has settings that this one lacks "
                    f"({', '.join(strange)}). Use that version, or train the run again."
                )
            return Settings.model_validate(values)

    def read_graph(self) -> Graph:
        """The graph that the run was trained on."""
        header = self._read_header()
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
            )

    def _read_header(self) -> dict[str, Any]:
        with _blaming_disk():
            finish_replacing(self.path)
        if not self.path.exists():
            raise RunError(f"There is no run {self.path}.")
        if not self.has(SETTINGS):
            raise RunError(f"{self.path} is not a run: it has no {SETTINGS}.")
        header = self.read_json(SETTINGS)
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            found = header.get("format") if isinstance(header, dict) else None
            raise RunError(
                f"{self.path / SETTINGS} has format {found!r}; this hale "
                f"({__version__}) reads format {FORMAT}."
            )
        return header

    def read_tensors(self, name: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The tensors of a file and what is said about them."""
        path = self._existing(name)
        with self.blaming(name):
            return read_tensor_file(path)

    def read_json(self, name: str) -> Any:
        """The value of a JSON file."""
        with self.blaming(name):
            return json.loads(self._read_text(name))

    def read_lines(self, name: str) -> list[dict[str, Any]]:
        """The records of a file of JSON lines."""
        with self.blaming(name):
            return [json.loads(line) for line in self._read_text(name).splitlines()]

    def stamp(self) -> tuple[int, ...]:
        """What tells whether the run was replaced or trained on since: another stamp, then."""
        with _blaming_disk():
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

    @contextmanager
    def blaming(self, name: str, what: str = "cannot be read") -> Iterator[None]:
        """Turn whatever a damaged file leads to into an error that names it."""
        try:
            yield
        except RunError:
            raise
        except (
            *(AttributeError, KeyError, TypeError, ValueError, RuntimeError, OSError),
            *(SafetensorError, InputError),
        ) as error:
            detail = " ".join(str(error).split())[:200]
            raise RunError(f"The run {self.path} is damaged: {name} {what} ({detail}).") from None

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


@contextmanager
def _blaming_disk() -> Iterator[None]:
    """What cannot be written of a run is an error of the run."""
    try:
        yield
    except WriteError as error:
        raise RunError(str(error)) from None
    except OSError as error:
        raise RunError(f"{error.filename}: {error.strerror}.") from None


def _label_lines(graph: Graph) -> pl.Series:
    """Entity and label, parted by a tab, of those that have one, in id order."""
    ids = graph.entities.ids(graph.labels)
    order = np.argsort(ids)[np.count_nonzero(ids < 0) :]  # labels of others are left out
    labels = column_of(" ".join(label.split()) for label in graph.labels.values()).fill_null("")
    return (column_of(graph.labels) + "\t" + labels).gather(order)


def _header(settings: Settings, graph: Graph) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "hale": __version__,
        "graph": {
            "name": graph.name,
            "entities": len(graph.entities),
            "relations": len(graph.relations),
            **{split: len(graph.split(split)) for split in SPLITS},
        },
        "settings": settings.model_dump(mode="json"),
    }

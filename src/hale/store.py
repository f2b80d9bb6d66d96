"""A run on disk: a folder that a person can read, written so that a kill loses nothing.

    settings.json          settings, version, what the graph was
    entities.txt           names in id order, one a line; relations.txt likewise
    labels.tsv             readable names, where the graph had them
    triples.safetensors    train, valid, test as ids: the run needs no other file
    model.safetensors      the weights that are kept: the best state by validation
    history.jsonl          one validation a line
    metrics.json           how training went, and the reports of evaluations
    checkpoint.safetensors the state to resume from: weights, optimiser, clock

The folder appears whole under its name, and every later write goes to a
temporary name and is renamed, so at any moment each file is the old or the new
one. What is random is a function of seed and step, so no generator is saved.
No pickle is written or read.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

import hale.version
from hale.errors import RunError
from hale.graph import SPLITS, Graph, Vocabulary
from hale.settings import Settings

FORMAT = 1


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
    ) -> RunFolder:
        """A new folder with everything a run is made of; it appears whole or not at all."""
        target = Path(path)
        taken = target.exists() and not (target.is_dir() and not any(target.iterdir()))
        if taken and not overwrite:
            raise RunError(
                f"{target} exists. Choose another folder, continue that run with --resume "
                "(resume=True), or replace it with --overwrite (overwrite=True)."
            )
        if taken and not (target / "settings.json").is_file():
            raise RunError(f"{target} is not a run, so it is not overwritten. Choose another.")
        fresh = cls(target.with_name(f".{target.name}.new"))
        try:
            shutil.rmtree(fresh.path, ignore_errors=True)
            fresh.path.mkdir(parents=True)
            fresh._write_graph(graph)
            fresh.write_json("settings.json", _header(settings, graph))
            fresh.write_tensors("model.safetensors", weights, {"step": 0})
            if target.exists():
                old = target.with_name(f".{target.name}.old")
                shutil.rmtree(old, ignore_errors=True)
                target.rename(old)
                fresh.path.rename(target)
                shutil.rmtree(old)
            else:
                fresh.path.rename(target)
        except OSError as error:
            raise RunError(f"{target} cannot be written: {error.strerror}.") from None
        return cls(target)

    def write_json(self, name: str, value: object) -> None:
        """A JSON file, indented for people."""
        text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
        self._replace(name, lambda path: path.write_text(text, encoding="utf-8"))

    def write_lines(self, name: str, records: list[dict[str, Any]]) -> None:
        """A file of JSON lines."""
        text = "".join(json.dumps(record) + "\n" for record in records)
        self._replace(name, lambda path: path.write_text(text, encoding="utf-8"))

    def write_tensors(
        self, name: str, tensors: Mapping[str, Tensor], about: Mapping[str, Any]
    ) -> None:
        """A safetensors file with ``about`` as JSON in its header."""
        plain = {key: value.detach().cpu().contiguous() for key, value in tensors.items()}
        content = save(plain, metadata={"about": json.dumps(about)})
        self._replace(name, lambda path: path.write_bytes(content))

    def _write_graph(self, graph: Graph) -> None:
        for name, vocabulary in (("entities", graph.entities), ("relations", graph.relations)):
            text = "".join(entry + "\n" for entry in vocabulary.names)
            (self.path / f"{name}.txt").write_text(text, encoding="utf-8")
        named = [
            (entity, graph.labels[entity])
            for entity in graph.entities.names
            if entity in graph.labels
        ]
        if named:
            text = "".join(f"{entity}\t{' '.join(label.split())}\n" for entity, label in named)
            (self.path / "labels.tsv").write_text(text, encoding="utf-8")
        triples: dict[str, Tensor] = {
            split: torch.tensor(graph.split(split).astype(np.int32)) for split in SPLITS
        }
        self.write_tensors("triples.safetensors", triples, {})

    def _replace(self, name: str, write: Callable[[Path], object]) -> None:
        waiting = self.path / f".{name}.new"
        try:
            write(waiting)
            with waiting.open("rb+") as file:
                os.fsync(file.fileno())
            waiting.replace(self.path / name)
        except OSError as error:
            raise RunError(f"{self.path / name} cannot be written: {error.strerror}.") from None

    # -- reading ---------------------------------------------------------------

    def read_settings(self) -> tuple[Settings, dict[str, Any]]:
        """The settings, and the header that they stand in."""
        if not self.path.exists():
            raise RunError(f"There is no run {self.path}.")
        if not (self.path / "settings.json").is_file():
            raise RunError(f"{self.path} is not a run: it has no settings.json.")
        header = self.read_json("settings.json")
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            found = header.get("format") if isinstance(header, dict) else None
            raise RunError(
                f"{self.path / 'settings.json'} has format {found!r}; this hale "
                f"({hale.version.VERSION}) reads format {FORMAT}."
            )
        try:
            return Settings.model_validate(header["settings"]), header
        except (KeyError, ValueError) as error:
            raise self._damaged("settings.json", error) from None

    def read_graph(self, name: str) -> Graph:
        """The graph that the run was trained on."""
        tensors, _ = self.read_tensors("triples.safetensors")
        try:
            train, valid, test = (tensors[split].numpy() for split in SPLITS)
        except KeyError as error:
            raise self._damaged("triples.safetensors", error) from None
        labels = {}
        if (self.path / "labels.tsv").is_file():
            lines = self._read_text("labels.tsv").splitlines()
            labels = dict(line.split("\t", 1) for line in lines if "\t" in line)
        return Graph(
            name=name,
            entities=Vocabulary(self._read_names("entities.txt"), "entity"),
            relations=Vocabulary(self._read_names("relations.txt"), "relation"),
            train=train,
            valid=valid,
            test=test,
            labels=labels,
        )

    def read_tensors(self, name: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The tensors of a file and what is said about them."""
        try:
            with safe_open(self._existing(name), framework="pt") as file:
                tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
                return tensors, json.loads((file.metadata() or {}).get("about", "{}"))
        except (SafetensorError, ValueError, OSError) as error:
            raise self._damaged(name, error) from None

    def read_json(self, name: str) -> Any:
        """The value of a JSON file."""
        try:
            return json.loads(self._read_text(name))
        except ValueError as error:
            raise self._damaged(name, error) from None

    def read_lines(self, name: str) -> list[dict[str, Any]]:
        """The records of a file of JSON lines."""
        try:
            return [json.loads(line) for line in self._read_text(name).splitlines()]
        except ValueError as error:
            raise self._damaged(name, error) from None

    def has(self, name: str) -> bool:
        """Whether the run has that file."""
        return (self.path / name).is_file()

    def _read_names(self, name: str) -> list[str]:
        return self._read_text(name).removesuffix("\n").split("\n")

    def _read_text(self, name: str) -> str:
        try:
            return self._existing(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise self._damaged(name, error) from None

    def _existing(self, name: str) -> Path:
        path = self.path / name
        if not path.is_file():
            raise RunError(f"The run {self.path} is damaged: {name} is missing.")
        return path

    def _damaged(self, name: str, error: Exception) -> RunError:
        first = str(error).strip().split("\n", 1)[0]
        return RunError(f"The run {self.path} is damaged: {name} cannot be read ({first}).")


def free_folder(root: str | Path, stem: str) -> Path:
    """A path below ``root`` that does not exist yet: stem, stem-2, stem-3, ..."""
    path, number = Path(root) / stem, 1
    while path.exists():
        number += 1
        path = Path(root) / f"{stem}-{number}"
    return path


def _header(settings: Settings, graph: Graph) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "hale": hale.version.VERSION,
        "graph": {
            "name": graph.name,
            "entities": len(graph.entities),
            "relations": len(graph.relations),
            **{split: len(graph.split(split)) for split in SPLITS},
        },
        "settings": settings.model_dump(mode="json"),
    }

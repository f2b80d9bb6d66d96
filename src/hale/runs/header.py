"""Header: settings.json, which says what a run is and how to tell its files from others.

    format, hale   of the folder, and the version that wrote it
    graph          name and counts
    settings       all of them
    files          the SHA-256 of each file that is written once: names, labels, triples
    id             of the run; its weights carry it, so that those of another run are noticed
    extended       where a run was given more time: at which step, and its limits before

Files that change while a run is trained are not listed under ``files``: whatever was killed between
the two writes would look damaged. Each carries a checksum of its own instead: weights in their
header (tensor_file), JSON in each object (seal), this file too. A folder of format 1 is of an
earlier version: its JSON has no checksums, and it may have no files and no id. It is read without.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hale import __version__
from hale.data.files import finish_replacing
from hale.data.graph import SPLITS, Graph
from hale.errors import RunError
from hale.runs.blame import blaming_disk, blaming_file
from hale.runs.seal import unsealed
from hale.settings import Settings

FORMAT = SEALED = 2  # since 2 each JSON file has a checksum
SETTINGS = "settings.json"
ID_DIGITS = 16

Header = dict[str, Any]


def make_header(settings: Settings, graph: Graph, folder: Path) -> Header:
    """The header of a new run, whose folder holds its graph and nothing else."""
    files = {path.name: checksum(path) for path in sorted(folder.iterdir())}
    header: Header = {
        "format": FORMAT,
        "hale": __version__,
        "graph": {
            "name": graph.name,
            "entities": len(graph.entities),
            "relations": len(graph.relations),
            **{split: len(graph.split(split)) for split in SPLITS},
        },
        "settings": settings.model_dump(mode="json"),
        "files": files,
    }
    whole = json.dumps(header, sort_keys=True).encode()
    return {**header, "id": hashlib.sha256(whole).hexdigest()[:ID_DIGITS]}


def read_header(folder: Path) -> Header:
    """The header of the run in a folder."""
    with blaming_disk():
        finish_replacing(folder)
    if not folder.exists():
        raise RunError(f"There is no run {folder}.")
    path = folder / SETTINGS
    if not path.is_file():
        raise RunError(f"{folder} is not a run: it has no {SETTINGS}.")
    with blaming_file(folder, SETTINGS):
        header = json.loads(path.read_text(encoding="utf-8"))
    found = header.get("format") if isinstance(header, dict) else None
    if found not in (1, FORMAT):
        raise RunError(
            f"{path} has format {found!r}; this hale ({__version__}) reads formats 1 and {FORMAT}."
        )
    with blaming_file(folder, SETTINGS):
        return dict(unsealed(header, must=found >= SEALED))


def settings_in(header: Header, folder: Path) -> Settings:
    """The settings that a header names."""
    with blaming_file(folder, SETTINGS):
        values = dict(header["settings"])
        if strange := [name for name in values if name not in Settings.model_fields]:
            raise RunError(
                f"The run {folder} is of another version of hale ({header.get('hale')}; "
                f"this is {__version__}): it has settings that this one lacks "
                f"({', '.join(strange)}). Use that version, or train the run again."
            )
        return Settings.model_validate(values)


def check_files(header: Header, folder: Path) -> None:
    """Refuse files that are not those that the run was made with."""
    with blaming_file(folder, SETTINGS):
        files: Mapping[str, str] = dict(header.get("files", {}))
    for name, digest in files.items():
        if not (folder / name).is_file():
            raise RunError(f"The run {folder} is damaged: {name} is missing.")
        with blaming_file(folder, name):
            found = checksum(folder / name)
        if found != digest:
            raise RunError(
                f"The run {folder} is damaged: {name} is not the file that it was made with "
                f"(its SHA-256 is {found[:12]}..., {SETTINGS} has {str(digest)[:12]}...). "
                "Put that file back, or train the run again."
            )


def checksum(path: Path) -> str:
    """The SHA-256 of a file, as sha256sum tells it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

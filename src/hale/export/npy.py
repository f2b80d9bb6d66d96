"""NumPy arrays beside lists of names."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from hale.export.vectors import Tables


def write_npy(tables: Tables, folder: Path) -> None:
    """Row i of every array is about line i of the names.

    entities.npy, entities.txt, relations.TABLE.npy, relations.txt (2R lines), and
    labels.tsv, entities.TABLE.npy, other.TABLE.npy where there are any.
    """
    np.save(folder / "entities.npy", tables.entities)
    for kind, found in (
        ("entities", tables.of_entities),
        ("relations", tables.relations),
        ("other", tables.others),
    ):
        for name, rows in found.items():
            np.save(folder / f"{kind}.{name}.npy", rows)
    write_lines(folder / "entities.txt", tables.names)
    write_lines(folder / "relations.txt", tables.row_names)
    named = zip(tables.names, tables.labels, strict=True)
    if labels := [f"{name}\t{label}" for name, label in named if label]:
        write_lines(folder / "labels.tsv", labels)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """A line for each text."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

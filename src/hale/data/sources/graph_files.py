"""A file, or a folder with train/valid/test files, or tables -> Graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from hale.data.graph import Graph
from hale.data.progress import Announce
from hale.data.sources.assemble import assemble, codes_of_names, distinct, split_at_random
from hale.data.sources.compression import UNPACKERS
from hale.data.sources.triples import read_labels, read_triples, read_types
from hale.data.types import types_from_names
from hale.errors import SourceError

SPLIT_STEMS = {
    "train": ("train",),
    "valid": ("valid", "validation", "dev"),
    "test": ("test",),
}
FORMATS = (".txt", ".tsv", ".tab", ".csv", ".parquet", ".nt", ".ttl", "")
PACKED = ("", *UNPACKERS)


def read_graph(
    path: str | Path,
    *,
    columns: str | None = None,
    header: bool | None = None,
    labels: object | None = None,
    types: object | None = None,
    holdout: float = 0.05,
    seed: int = 0,
    name: str | None = None,
    skip_bad: bool = False,
    reading: Announce | None = None,
) -> Graph:
    """Read a graph from a folder of splits or from a single file.

    A single file is split by ``seed``: ``holdout`` of its triples go to valid
    and as many to test, none with an entity or relation that train lacks.
    ``labels`` is a file or table of id and readable name, or a mapping, ``types`` one of entity
    and type; a ``labels.tsv`` or ``types.tsv`` beside the splits is found by itself. ``reading``
    is called with the path of each file of triples; what it returns follows the bytes.
    """
    path = Path(path)
    sources: dict[str, object] = {"train": path}
    if path.is_dir():
        sources = dict(_split_files(path))
        labels = _one_of(path, ("labels",), (".tsv",)) if labels is None else labels
        types = _one_of(path, ("types",), (".tsv",)) if types is None else types
    return _read(
        name or path.resolve().name.split(".")[0],
        sources,
        whole=None if path.is_dir() else path.name,
        columns=columns,
        header=header,
        labels=labels,
        types=types,
        holdout=holdout,
        seed=seed,
        skip_bad=skip_bad,
        reading=reading,
    )


def graph_from_tables(
    train: object,
    valid: object | None = None,
    test: object | None = None,
    *,
    columns: str | None = None,
    labels: object | None = None,
    types: object | None = None,
    name: str = "graph",
    holdout: float = 0.05,
    seed: int = 0,
    skip_bad: bool = False,
) -> Graph:
    """A Graph from tables of names: polars or pandas frames, or (n, 3) arrays or lists.

    With ``train`` alone, ``holdout`` of its triples go to valid and as many to
    test (0 for none).
    """
    given = {"train": train, "valid": valid, "test": test}
    sources = {split: table for split, table in given.items() if table is not None}
    return _read(
        name,
        sources,
        whole="the table" if list(sources) == ["train"] else None,
        columns=columns,
        header=None,
        labels=labels,
        types=types,
        holdout=holdout,
        seed=seed,
        skip_bad=skip_bad,
    )


def _read(
    name: str,
    sources: Mapping[str, object],
    *,
    whole: str | None,
    columns: str | None,
    header: bool | None,
    labels: object | None,
    types: object | None,
    holdout: float,
    seed: int,
    skip_bad: bool,
    reading: Announce | None = None,
) -> Graph:
    """The splits of some sources, or of the ``whole``, whose notes call it so."""
    notes: list[str] = []
    rows: dict[str, pl.DataFrame] = {}
    named: dict[str, str] = {}
    dtypes = codes_of_names()
    for split, source in sources.items():
        found = read_triples(
            source,
            what=f"the {split} table",
            columns=columns,
            header=header,
            skip_bad=skip_bad,
            dtypes=dtypes,
            reading=reading,
        )
        rows[split] = found.rows
        notes += found.notes
        named |= found.labels
    if whole is not None:
        rows["train"] = distinct(rows["train"], whole, notes)
        if holdout:
            rows = split_at_random(rows["train"], share=holdout, seed=seed)
    if labels is not None:
        named |= labels if isinstance(labels, Mapping) else read_labels(labels, skip_bad=skip_bad)
    if "test" not in rows and isinstance(sources["train"], Path):
        notes.append("there is no test split, so nothing to evaluate the run on")
    graph = assemble(name, rows, labels=named, notes=notes)
    if types is None:
        return graph
    return replace(graph, types=types_from_names(read_types(types), graph.entities))


def _split_files(folder: Path) -> dict[str, Path]:
    found = {}
    for split, stems in SPLIT_STEMS.items():
        file = _one_of(folder, stems, FORMATS)
        if file is not None:
            found[split] = file
    if "train" not in found:
        raise SourceError(
            "the folder has no train file; expected train.txt (or .tsv, .csv, .parquet, .nt, "
            ".ttl, each also as .gz, .xz or .zst), and valid and test beside it",
            source=str(folder),
        )
    return found


def _one_of(folder: Path, stems: tuple[str, ...], formats: tuple[str, ...]) -> Path | None:
    names = [stem + form + pack for stem in stems for form in formats for pack in PACKED]
    found = [folder / name for name in names if (folder / name).is_file()]
    if len(found) > 1:
        raise SourceError(
            f"holds {' and '.join(file.name for file in found)}; keep one of them",
            source=str(folder),
        )
    return found[0] if found else None

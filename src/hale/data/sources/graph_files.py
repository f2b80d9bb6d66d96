"""A file, or a folder or archive with train/valid/test files, or tables -> Graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from hale.data.graph import Graph
from hale.data.progress import Announce
from hale.data.sources.archive import is_archive, members
from hale.data.sources.assemble import assemble, codes_of_names, distinct, split_at_random
from hale.data.sources.compression import UNPACKERS
from hale.data.sources.json_lines import SUFFIXES as JSON
from hale.data.sources.rdf import SUFFIXES as RDF
from hale.data.sources.triples import read_labels, read_triples, read_types
from hale.data.types import types_from_names
from hale.errors import SourceError

SPLIT_STEMS = {
    "train": ("train",),
    "valid": ("valid", "validation", "dev"),
    "test": ("test",),
}
FORMATS = (".txt", ".tsv", ".tab", ".csv", ".parquet", *JSON, *RDF, "")
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
    weights: str | None = None,
    name: str | None = None,
    skip_bad: bool = False,
    reading: Announce | None = None,
) -> Graph:
    """Read a graph from a folder or zip archive of splits, or from a single file.

    A single file is split by ``seed``: ``holdout`` of its triples go to valid
    and as many to test, none with an entity or relation that train lacks.
    ``labels`` is a file or table of id and readable name, or a mapping, ``types`` one of entity
    and type; a ``labels.tsv`` or ``types.tsv`` beside the splits is found by itself. ``reading``
    is called with the path of each file of triples; what it returns follows the bytes.
    ``weights`` is the column of weights of the training triples, by name or number.
    """
    path = Path(path)
    sources: dict[str, object] = {"train": path}
    files: list[Path] | None = None
    if path.is_dir():
        files = [file for file in path.iterdir() if file.is_file()]
    elif is_archive(path):
        there = members(path)
        files = there if _one_of(path, there, SPLIT_STEMS["train"], FORMATS) else None
        files = None if len(there) == 1 else files
    if files is not None:
        sources = dict(_split_files(path, files))
        labels = _one_of(path, files, ("labels",), (".tsv",)) if labels is None else labels
        types = _one_of(path, files, ("types",), (".tsv",)) if types is None else types
    return _read(
        name or path.resolve().name.split(".")[0],
        sources,
        whole=None if files is not None else path.name,
        columns=columns,
        header=header,
        labels=labels,
        types=types,
        holdout=holdout,
        seed=seed,
        weights=weights,
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
    weights: str | None = None,
    skip_bad: bool = False,
) -> Graph:
    """A Graph from tables of names: polars or pandas frames, or (n, 3) arrays or lists.

    With ``train`` alone, ``holdout`` of its triples go to valid and as many to
    test (0 for none). ``weights`` is the column of weights of the training triples.
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
        weights=weights,
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
    weights: str | None,
    skip_bad: bool,
    reading: Announce | None = None,
) -> Graph:
    """The splits of some sources, or of the ``whole``, whose notes call it so."""
    told: list[tuple[str, Sequence[str]]] = []
    rows: dict[str, pl.DataFrame] = {}
    named: dict[str, str] = {}
    dtypes = codes_of_names()
    for split, source in sources.items():
        found = read_triples(
            source,
            what=f"the {split} table",
            columns=columns,
            header=header,
            weights=weights,
            weights_required=split == "train",
            skip_bad=skip_bad,
            dtypes=dtypes,
            reading=reading,
        )
        rows[split] = found.rows
        told.append((found.source, found.notes))
        named |= found.labels
    notes = _merged(told)
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


def _merged(told: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """The notes on some sources; what is said of each in the same words is said once of all."""
    sources: dict[str, list[str]] = {}
    for source, notes in told:
        for note in notes:
            sources.setdefault(note.removeprefix(f"{source}: "), []).append(source)
    return [
        note if note.startswith(f"{where[0]}, ") else f"{', '.join(where)}: {note}"
        for note, where in sources.items()
    ]


def _split_files(folder: Path, files: Sequence[Path]) -> dict[str, Path]:
    found = {}
    for split, stems in SPLIT_STEMS.items():
        file = _one_of(folder, files, stems, FORMATS)
        if file is not None:
            found[split] = file
    if "train" not in found:
        raise SourceError(
            "the folder has no train file; expected train.txt (or .tsv, .csv, .jsonl, .parquet, "
            ".nt, .nq, .ttl, each also as .gz, .bz2, .xz or .zst), and valid and test beside it",
            source=str(folder),
        )
    return found


def _one_of(
    folder: Path, files: Sequence[Path], stems: tuple[str, ...], formats: tuple[str, ...]
) -> Path | None:
    names = [stem + form + pack for stem in stems for form in formats for pack in PACKED]
    found = sorted(
        (file for file in files if file.name in names), key=lambda file: names.index(file.name)
    )
    if len(found) > 1:
        raise SourceError(
            f"holds {' and '.join(file.name for file in found)}; keep one of them",
            source=str(folder),
        )
    return found[0] if found else None

"""A file, or a folder with train/valid/test files -> Graph."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from hale.data.graph import Graph
from hale.data.sources.assemble import assemble, distinct, split_at_random
from hale.data.sources.columns import parse_columns
from hale.data.sources.compression import UNPACKERS, format_suffix, read_bytes
from hale.data.sources.parquet import read_parquet
from hale.data.sources.rdf import read_rdf
from hale.data.sources.text import decoded, read_text
from hale.errors import InputError, SourceError

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
    labels: str | Path | None = None,
    holdout: float = 0.05,
    seed: int = 0,
    name: str | None = None,
) -> Graph:
    """Read a graph from a folder of splits or from a single file.

    A single file is split by ``seed``: ``holdout`` of its triples go to valid
    and as many to test, none with an entity or relation that train lacks.
    ``labels`` names a tab-separated file (id, readable name); a ``labels.tsv``
    beside the splits is found by itself.
    """
    path = Path(path)
    reader = Reader(parse_columns(columns), header)
    if path.is_dir():
        rows = {split: reader.rows(file) for split, file in _split_files(path).items()}
        labels = labels or _one_of(path, ("labels",), (".tsv",))
    else:
        whole = distinct(reader.rows(path), path.name, reader.notes)
        rows = split_at_random(whole, share=holdout, seed=seed) if holdout else {"train": whole}
    if labels is not None:
        reader.labels.update(read_labels(Path(labels)))
    if "test" not in rows:
        reader.notes.append("there is no test split, so nothing to evaluate the run on")
    stem = path.resolve().name.split(".")[0]
    return assemble(name or stem, rows, labels=reader.labels, notes=reader.notes)


def read_labels(path: Path) -> dict[str, str]:
    """A tab-separated file of id and readable name; the first name of an id counts."""
    labels: dict[str, str] = {}
    lines = decoded(read_bytes(path), str(path)).rstrip("\n").split("\n")
    for number, line in enumerate(lines, start=1):
        fields = line.split("\t")
        if len(fields) != 2 or not fields[0].strip():
            raise SourceError(
                f"expected an id and a name separated by a tab, got {line[:60]!r}",
                source=str(path),
                line=number,
            )
        labels.setdefault(fields[0].strip(), fields[1].strip())
    return labels


class Reader:
    """Reads one file after another and gathers their labels and notes."""

    def __init__(self, columns: tuple[str, ...] | None, header: bool | None) -> None:
        self.columns = columns
        self.header = header
        self.labels: dict[str, str] = {}
        self.notes: list[str] = []

    def rows(self, path: Path) -> pl.DataFrame:
        """The rows of a file."""
        return self.parse(read_bytes(path), path)

    def parse(self, data: bytes, path: Path) -> pl.DataFrame:
        """The rows in the unpacked bytes of a file, whose name tells their format."""
        suffix = format_suffix(path)
        if suffix == ".parquet":
            return read_parquet(data, str(path), columns=self.columns)
        if suffix in (".nt", ".ttl"):
            if self.columns or self.header is not None:
                raise InputError(f"{path}: RDF has neither columns nor a header to choose.")
            rows, labels, notes = read_rdf(data, str(path), suffix=suffix)
            self.labels.update(labels)
        else:
            rows, notes = read_text(
                data, str(path), suffix=suffix, columns=self.columns, header=self.header
            )
        self.notes.extend(notes)
        return rows


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

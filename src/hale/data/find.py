"""find(): the entities and relations that a text may mean, by name and by label."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import numpy as np
import polars as pl

from hale.data.datasets.load import open_graph
from hale.data.graph import Graph
from hale.data.keys import Ids
from hale.data.lines import read_lines
from hale.data.matching import Match, beginning_with, best_matches
from hale.data.results import Results
from hale.errors import HaleWarning, InputError, RunError

Kind = Literal["entity", "relation"]


@dataclass(frozen=True)
class Found:
    """A name that a text may mean, and how it was found (hale.data.matching)."""

    kind: Kind
    name: str
    label: str | None
    how: str


class Named(NamedTuple):
    """Names of one kind; labels, and whose each is: (n,), (m,), (m,)."""

    kind: Kind
    names: pl.Series
    labels: pl.Series
    owners: Ids


class HasGraph(Protocol):
    """A run, for one."""

    @property
    def graph(self) -> Graph:
        """Its graph."""


def find(source: HasGraph | Graph | str | Path, text: str, *, k: int = 10) -> Results[Found]:
    """The k entities and relations that ``text`` most likely means, best first.

    ``source`` is a run, a graph, the name or path of a graph, or the folder of a run, of which the
    files of names alone are read. Names and labels are looked at, whatever their case and accents:
    first those that are the text, then those that have it as a word, that begin with it, that
    contain it, and last those that are spelt alike.
    """
    if k < 1:
        raise InputError(f"The number of names is at least 1, got {k}.")
    if not text.strip():
        raise InputError("Give some letters to look for.")
    rows = [
        (match.order, match.how, number, named)
        for named in names_of(opened(source))
        for match, number in matches_of(named, text, k)
    ]
    rows.sort(key=lambda row: (row[0], row[3].kind == "relation"))
    return Results(
        Found,
        [
            Found(named.kind, named.names[number], label_of(named, number), how)
            for _, how, number, named in rows[:k]
        ],
    )


def opened(source: HasGraph | Graph | str | Path) -> HasGraph | Graph | str | Path:
    """The same, but a graph that was named by its name or path is loaded."""
    if not isinstance(source, str | Path) or is_run(source):
        return source
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HaleWarning)  # of splits, which nobody asks here
        return open_graph(source)


def matches_of(named: Named, text: str, k: int) -> Iterator[tuple[Match, int]]:
    """Matches of names and of labels, each with its id; one of several is the best of them."""
    by_name = [(match, match.place) for match in best_matches(named.names, text, k)]
    by_label = [
        (match, int(named.owners[match.place])) for match in best_matches(named.labels, text, k)
    ]
    seen: set[int] = set()
    for match, number in sorted([*by_name, *by_label], key=lambda row: row[0].order):
        if number not in seen:
            seen.add(number)
            yield match, number


def label_of(named: Named, number: int) -> str | None:
    """The label of an id, where it has one."""
    place = np.flatnonzero(named.owners == number)
    return None if not len(place) else str(named.labels[int(place[0])])


def complete_name(source: HasGraph | Graph | str | Path, kind: Kind, start: str) -> list[str]:
    """Some names and labels of a kind that begin with exactly these letters, for a shell."""
    found: list[str] = []
    for named in names_of(source):
        if named.kind == kind:
            for column in (named.names, named.labels):
                found += [column[place] for place in beginning_with(column, start, 50)]
    return found


def names_of(source: HasGraph | Graph | str | Path) -> list[Named]:
    """The names of a run or a graph; of a run's folder they are read without its weights."""
    if isinstance(source, str | Path):
        return _names_in(Path(source))
    graph = source if isinstance(source, Graph) else source.graph
    nothing = pl.Series([], dtype=pl.String)
    return [
        Named("entity", graph.entities.column, *graph.label_column),
        Named("relation", graph.relations.column, nothing, np.empty(0, dtype=np.int64)),
    ]


def is_run(path: str | Path) -> bool:
    """Whether a folder has the names of a run."""
    return all((Path(path) / f"{kind}.txt").is_file() for kind in ("entities", "relations"))


def _names_in(folder: Path) -> list[Named]:
    """The files of names in the folder of a run."""
    if not is_run(folder):
        raise RunError(f"{folder} is not a run: it has no files of names.")
    try:
        entities, relations = (
            read_lines(folder / f"{kind}.txt") for kind in ("entities", "relations")
        )
        rows = pl.Series([], dtype=pl.String)
        if (folder / "labels.tsv").is_file():
            rows = read_lines(folder / "labels.tsv")
    except (OSError, ValueError) as error:
        raise RunError(f"The names of the run {folder} cannot be read: {error}.") from None
    parted = pl.DataFrame({"row": rows}).select(
        pl.col("row").str.splitn("\t", 2).struct.rename_fields(["name", "label"])
    )
    labelled = parted.unnest("row").drop_nulls()
    nothing = pl.Series([], dtype=pl.String)
    order = pl.DataFrame({"name": entities}).with_row_index("id")
    owned = labelled.join(order, on="name", how="inner", maintain_order="left")
    return [
        Named("entity", entities, owned["label"], owned["id"].cast(pl.Int64).to_numpy()),
        Named("relation", relations, nothing, np.empty(0, dtype=np.int64)),
    ]

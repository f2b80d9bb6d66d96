"""load(): one door for names, folders, files and tables."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from hale.data.datasets.cache import download, locate
from hale.data.datasets.catalog import CATALOG
from hale.data.graph import Graph
from hale.data.progress import Announce
from hale.data.sources import graph_from_tables, read_graph
from hale.data.sources.archive import is_archive
from hale.errors import HaleWarning, InputError, SourceError, UnknownNameError


def load(
    source: object,
    valid: object | None = None,
    test: object | None = None,
    *,
    columns: str | None = None,
    header: bool | None = None,
    labels: object | None = None,
    types: object | None = None,
    type_relation: str | None = None,
    holdout: float = 0.05,
    seed: int = 0,
    weights: str | None = None,
    skip_bad: bool = False,
    announce: Announce | None = None,
    reading: Announce | None = None,
) -> Graph:
    """Load a graph by name, from a folder or file, or from tables in memory.

    ``source`` is the name of a data set ('wordnet', 'wn18rr', ...), a folder
    with train/valid/test files, a single file, or a table (polars, pandas, an
    (n, 3) array), with ``valid`` and ``test`` tables beside it if there are.
    A single file or table gives ``holdout`` of its triples to valid and as many
    to test, chosen by ``seed``.

    ``columns`` is the order of the three columns ('hrt', 'htr', ...), or which columns are head,
    relation and tail, by name or number ('person,verb,thing', '1,2,4'), ``header``
    says whether the first line is one (None: recognise the usual words), and
    ``labels`` gives readable names: a file or table of id and name, or a mapping. ``types``
    gives types: a file or table of entity and type, or else ``type_relation`` names a relation
    whose tails are the types of its heads. ``weights`` names a column of numbers, how much each
    training triple counts in the loss; those of repeated triples are added. Bad lines are told in
    one error, or with ``skip_bad`` left out and noted. ``announce`` is called with the URL of each
    transfer and ``reading`` with the path of each file of triples, when it begins; what they
    return is called with the bytes so far and in all.

    What a reader of the results should know (repeats dropped, test triples in
    train, names that train lacks) is warned of and kept in ``graph.notes``.
    """
    how: dict[str, Any] = {
        "columns": columns,
        "labels": labels,
        "types": types,
        "holdout": holdout,
        "seed": seed,
        "weights": weights,
        "skip_bad": skip_bad,
    }
    if not isinstance(source, str | Path):
        graph = graph_from_tables(source, valid, test, **how)
    elif valid is not None or test is not None:
        raise InputError("valid and test go with tables; a folder or file brings its own splits.")
    else:
        folder = _named(source, announce) if isinstance(source, str) else None
        name = str(source) if folder else None
        graph = read_graph(folder or source, header=header, name=name, reading=reading, **how)
    if type_relation is not None:
        if types is not None:
            raise InputError("Types come from a table or from a relation, not from both.")
        graph = replace(graph, types=graph.types_by(type_relation))
    for note in graph.notes:
        warnings.warn(note, HaleWarning, stacklevel=2)
    return graph


def open_graph(source: object) -> Graph:
    """A graph as it is; the name, path or table of one is loaded (``load``)."""
    return source if isinstance(source, Graph) else load(source)


def _named(name: str, announce: Announce | None) -> Path | None:
    """The folder of a named data set, fetched if need be; None for a path."""
    is_plain = Path(name).name == name
    if is_plain and (place := locate(name)):
        return place.folder
    if name in CATALOG:
        return download(CATALOG[name], announce=announce)
    try:
        if Path(name).exists() or any(map(is_archive, Path(name).parents)):
            return None
    except OSError as error:  # a name too long for the file system, for one
        raise SourceError(f"cannot be read: {error.strerror}", source=name) from None
    if is_plain and not Path(name).suffix:
        raise UnknownNameError("data set or file", name, CATALOG)
    raise SourceError("there is no such file or folder", source=name)

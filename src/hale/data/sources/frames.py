"""Tables from Python (polars, pandas, arrays) -> Graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from hale.data.graph import Graph
from hale.data.sources.assemble import assemble, distinct, split_at_random
from hale.data.sources.columns import parse_columns
from hale.data.sources.parquet import rows_of_frame
from hale.errors import SourceError


def graph_from_tables(
    train: object,
    valid: object | None = None,
    test: object | None = None,
    *,
    columns: str | None = None,
    labels: Mapping[str, str] | None = None,
    name: str = "graph",
    holdout: float = 0.05,
    seed: int = 0,
) -> Graph:
    """A Graph from tables of names: polars or pandas frames, or (n, 3) arrays or lists.

    With ``train`` alone, ``holdout`` of its triples go to valid and as many to
    test (0 for none).
    """
    order = parse_columns(columns)
    given = {"train": train, "valid": valid, "test": test}
    rows = {
        split: rows_of_table(table, f"the {split} table", columns=order)
        for split, table in given.items()
        if table is not None
    }
    notes: list[str] = []
    if list(rows) == ["train"] and holdout:
        whole = distinct(rows["train"], "the table", notes)
        rows = split_at_random(whole, share=holdout, seed=seed)
    return assemble(name, rows, labels=labels, notes=notes)


def rows_of_table(
    table: object, source: str, *, columns: tuple[str, ...] | None = None
) -> pl.DataFrame:
    """The rows of a frame or an (n, 3) array; ``source`` is what an error calls it."""
    return rows_of_frame(_frame(table, source), source, columns=columns)


def is_table(value: object) -> bool:
    """Whether ``value`` is something that ``graph_from_tables`` reads."""
    return (
        isinstance(value, pl.DataFrame | np.ndarray | Sequence)
        and not isinstance(value, str | bytes)
    ) or _is_pandas(value)


def _is_pandas(value: object) -> bool:
    kind = type(value)
    return kind.__module__.split(".")[0] == "pandas" and kind.__name__ == "DataFrame"


def _frame(table: Any, source: str) -> pl.DataFrame:
    if isinstance(table, pl.DataFrame):
        return table
    if _is_pandas(table):
        # Column by column through Python objects: no dependency on pyarrow.
        if table.shape[1] != 3:
            raise SourceError(f"expected 3 columns, found {table.shape[1]}", source=source)
        names = [str(name) for name in table.columns]
        names = names if len(set(names)) == 3 else ["0", "1", "2"]
        texts = table.astype(object).where(table.notna(), None)
        return pl.DataFrame(
            {name: _texts(texts.iloc[:, i].tolist()) for i, name in enumerate(names)}
        )
    if not is_table(table):
        raise SourceError(
            f"expected a polars or pandas frame or an (n, 3) array, got {type(table).__name__}",
            source=source,
        )
    array = np.asarray(table, dtype=None if isinstance(table, np.ndarray) else object)
    if array.ndim != 2 or array.shape[1] != 3:
        raise SourceError(f"expected shape (n, 3), got {array.shape}", source=source)
    return pl.DataFrame(
        {role: _texts(array[:, i].tolist()) for i, role in enumerate(("head", "relation", "tail"))}
    )


def _texts(values: list[Any]) -> pl.Series:
    """Names as text; None and NaN become null, which the checks refuse by row."""
    return pl.Series(
        [None if value is None or value != value else str(value) for value in values],
        dtype=pl.String,
    )

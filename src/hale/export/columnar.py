"""Parquet and CSV: a row for each entity and for each relation."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from hale.data.names import column_of
from hale.export.formulas import without_formulas
from hale.export.vectors import Floats, Tables


def write_parquet(tables: Tables, folder: Path) -> None:
    """entities.parquet and relations.parquet: a table is one column of float arrays."""
    for stem, frame, columns in _frames(tables):
        vectors = [
            pl.Series(name, rows, dtype=pl.Array(pl.Float32, rows.shape[1]))
            for name, rows in columns
        ]
        frame.with_columns(vectors).write_parquet(folder / f"{stem}.parquet")


def write_csv(tables: Tables, folder: Path, *, csv_safe: bool = False) -> None:
    """entities.csv and relations.csv: a table is as many columns as it is wide."""
    for stem, frame, columns in _frames(tables):
        flat = [
            pl.Series(f"{name}_{i}", rows[:, i])
            for name, rows in columns
            for i in range(rows.shape[1])
        ]
        names = without_formulas(frame) if csv_safe else frame
        names.with_columns(flat).write_csv(folder / f"{stem}.csv")


def _frames(tables: Tables) -> list[tuple[str, pl.DataFrame, Iterable[tuple[str, Floats]]]]:
    """File name, names as columns, and tables to stand beside them."""
    entities = pl.DataFrame(
        {"id": range(len(tables.names)), "name": column_of(tables.names), "label": tables.labels},
        schema_overrides={"label": pl.String},
    )
    count = len(tables.relation_names)
    relations = pl.DataFrame(
        {
            "id": range(2 * count),
            "name": tables.relation_names * 2,
            "direction": ["forward"] * count + ["reciprocal"] * count,
        }
    )
    return [
        ("entities", entities, [("vector", tables.entities), *tables.of_entities.items()]),
        ("relations", relations, [*tables.relations.items()]),
    ]

"""Parquet -> rows."""

from __future__ import annotations

import io

import polars as pl

from hale.data.sources.checks import checked
from hale.data.sources.columns import ROLES, header_roles
from hale.errors import SourceError


def read_parquet(
    data: bytes, source: str, *, columns: tuple[str, ...] | None = None
) -> pl.DataFrame:
    """Three columns of a Parquet file, found by their names or else by their order."""
    if not data:
        raise SourceError("is empty", source=source)
    try:
        frame = pl.read_parquet(io.BytesIO(data))
    except (pl.exceptions.PolarsError, OSError) as error:
        first = str(error).strip().split("\n", 1)[0]
        raise SourceError(f"is not a readable Parquet file ({first})", source=source) from None
    return rows_of_frame(frame, source, columns=columns)


def rows_of_frame(
    frame: pl.DataFrame, source: str, *, columns: tuple[str, ...] | None = None
) -> pl.DataFrame:
    """A frame of three columns (any type that has a text form) -> rows."""
    if frame.width != 3:
        raise SourceError(
            f"expected 3 columns (head, relation, tail), found {frame.width}: "
            f"{', '.join(frame.columns[:8])}",
            source=source,
        )
    roles = columns or header_roles(frame.columns) or ROLES
    try:
        named = frame.rename(dict(zip(frame.columns, roles, strict=True))).select(
            pl.col(role).cast(pl.String) for role in ROLES
        )
    except pl.exceptions.PolarsError as error:
        raise SourceError(f"holds columns that are not names ({error})", source=source) from None
    return checked(named.with_row_index("line", offset=1), source, unit="row")

"""Parquet -> a frame."""

from __future__ import annotations

import io

import polars as pl

from hale.errors import SourceError


def parquet_frame(data: bytes, source: str) -> pl.DataFrame:
    """All columns of a Parquet file."""
    if not data:
        raise SourceError("is empty", source=source)
    try:
        return pl.read_parquet(io.BytesIO(data))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        first = str(error).strip().split("\n", 1)[0]
        raise SourceError(f"is not a readable Parquet file ({first})", source=source) from None

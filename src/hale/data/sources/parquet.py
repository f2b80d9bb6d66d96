"""Parquet -> a frame."""

from __future__ import annotations

import io

import polars as pl

from hale.data.sources.trial import Trial
from hale.errors import SourceError


def parquet_frame(data: bytes, source: str) -> pl.DataFrame:
    """All columns of a Parquet file, which another process has read before (see Trial)."""
    if not data:
        raise SourceError("is empty", source=source)
    with Trial() as trial:
        fault = trial.fault_of(data)
    if fault is not None:
        raise SourceError(f"is not a readable Parquet file ({fault})", source=source)
    return pl.read_parquet(io.BytesIO(data))

"""Rows of numbers as text, behind a word or alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

import numpy as np
import polars as pl

from hale.data.names import column_of
from hale.export.vectors import Floats, Tables


def write_rows(
    file: IO[bytes], rows: Floats, *, separator: str, words: Sequence[str] | None = None
) -> None:
    """(n, width) -> n lines; floats as short as they can be to come back the same."""
    columns = [pl.Series(f"v{i}", rows[:, i]) for i in range(rows.shape[1])]
    before = [] if words is None else [column_of(words).alias("word")]
    pl.DataFrame([*before, *columns]).write_csv(
        file, separator=separator, include_header=False, quote_style="never"
    )


def joined(tables: Tables) -> Floats:
    """All relation tables side by side, in their order: (2R, sum of widths)."""
    return np.concatenate(list(tables.relations.values()), axis=1)

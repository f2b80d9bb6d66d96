"""Tables from Python (polars, pandas, arrays, lists of rows) -> a frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from hale.errors import SourceError


def is_table(value: object) -> bool:
    """Whether ``value`` is something that ``frame_of`` takes."""
    return (
        isinstance(value, pl.DataFrame | np.ndarray | Sequence)
        and not isinstance(value, str | bytes)
    ) or _is_pandas(value)


def frame_of(table: Any, source: str, *, widths: Sequence[int] = (3,)) -> pl.DataFrame:
    """A table as a frame; columns without names of their own are called 0, 1, 2, ..."""
    if isinstance(table, pl.DataFrame):
        return table
    if _is_pandas(table):
        # Column by column through Python objects: no dependency on pyarrow.
        names = [str(name) for name in table.columns]
        names = names if len(set(names)) == len(names) else [str(i) for i in range(len(names))]
        texts = table.astype(object).where(table.notna(), None)
        columns = [texts.iloc[:, i].tolist() for i in range(len(names))]
        return pl.DataFrame(
            {name: _texts(values, source) for name, values in zip(names, columns, strict=True)}
        )
    if not is_table(table):
        raise SourceError(
            f"expected a polars or pandas frame or an (n, 3) array, got {type(table).__name__}",
            source=source,
        )
    array = _array(table, source)
    if array.ndim != 2 or array.shape[1] not in widths:
        shapes = " or ".join(f"(n, {width})" for width in widths)
        raise SourceError(f"expected shape {shapes}, got {array.shape}", source=source)
    columns = [array[:, i].tolist() for i in range(array.shape[1])]
    return pl.DataFrame({str(i): _texts(values, source) for i, values in enumerate(columns)})


def _array(table: Any, source: str) -> Any:
    if isinstance(table, np.ndarray):
        return table
    try:
        if any(isinstance(row, str | bytes) for row in table):
            raise TypeError
        return np.asarray([list(row) for row in table], dtype=object)
    except (TypeError, ValueError):
        raise SourceError(
            "expected rows of the same length, each a sequence of names", source=source
        ) from None


def _is_pandas(value: object) -> bool:
    kind = type(value)
    return kind.__module__.split(".")[0] == "pandas" and kind.__name__ == "DataFrame"


def _texts(values: list[Any], source: str) -> pl.Series:
    """Names as text; None and NaN become null, which the checks refuse by row."""
    texts = [None if value is None or value != value else str(value) for value in values]
    try:
        return pl.Series(texts, dtype=pl.String)
    except UnicodeEncodeError:
        raise SourceError(
            "holds names with lone surrogates, which no file can keep", source=source
        ) from None

"""Texts that a spreadsheet would take for formulas.

Names come from anybody's graph. A cell that begins with ``=``, ``+``, ``-`` or ``@`` is computed
when the file is opened, and a formula can send what stands beside it elsewhere. A leading
apostrophe makes it a text. The name is another one then, so this is done only where it is asked
for (``--csv-safe``).
"""

from __future__ import annotations

import polars as pl

_FORMULA = r"^(\s*[=+\-@\t\r])"


def as_texts(column: pl.Series) -> pl.Series:
    """A column with an apostrophe before what would be a formula; other columns as they are."""
    return column.str.replace(_FORMULA, "'$1") if column.dtype == pl.String else column


def without_formulas(table: pl.DataFrame) -> pl.DataFrame:
    """A table whose texts are all shown as they stand."""
    return table.with_columns([as_texts(column) for column in table.get_columns()])

"""Rows: a table of names with the line that each came from, and its checks."""

from __future__ import annotations

import polars as pl

from hale.data.sources.columns import ROLES
from hale.errors import SourceError


def checked(rows: pl.DataFrame, source: str, *, unit: str = "line") -> pl.DataFrame:
    """Names without surrounding space, none empty -> columns head, relation, tail.

    ``rows`` has the three roles as strings (null counts as empty) and ``line``,
    the 1-based number that an error names.
    """
    if rows.is_empty():
        raise SourceError("holds no triples", source=source)
    rows = rows.with_columns(pl.col(role).str.strip_chars().fill_null("") for role in ROLES)
    faults = {
        "is empty": pl.col(ROLES) == "",
        "holds a tab or a line break": pl.col(ROLES).str.contains(
            r"[\t\r\n\x{85}\x{2028}\x{2029}]"
        ),
    }
    for fault, is_wrong in faults.items():
        wrong = rows.filter(pl.any_horizontal(is_wrong))
        if not wrong.is_empty():
            marks = wrong.head(1).select(is_wrong).row(0, named=True)
            role = next(role for role in ROLES if marks[role])
            number = wrong["line"][0]
            if unit == "line":
                raise SourceError(f"the {role} {fault}", source=source, line=number)
            raise SourceError(f"the {role} of row {number} {fault}", source=source)
    return rows.select(ROLES)

"""A file or a table of triples, apart from any graph."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from hale.data.sources.faults import told
from hale.data.sources.layout import NAMES, ROLES, TRIPLES
from hale.data.sources.reader import read_records


@dataclass(frozen=True)
class Triples:
    """Rows of names (head, relation, tail), and what came with them."""

    source: str
    rows: pl.DataFrame
    labels: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def distinct(self) -> pl.DataFrame:
        """Each row once, in their order."""
        return self.rows.unique(maintain_order=True)


def read_triples(
    source: object,
    *,
    what: str = "the table",
    columns: str | None = None,
    header: bool | None = None,
    skip_bad: bool = False,
) -> Triples:
    """Read triples from a file or a table; see ``read_records``.

    All bad lines are told in one error; with ``skip_bad`` they are left out and noted.
    """
    found = read_records(source, TRIPLES, what=what, columns=columns, header=header)
    found.refuse(skip_bad=skip_bad)
    skipped = (f"{found.source}, {fault}: skipped" for fault in told(found.faults, found.unit))
    notes = (*skipped, *found.notes)
    return Triples(found.source, found.rows.select(ROLES), found.labels, notes)


def read_labels(source: object) -> dict[str, str]:
    """Readable names: a file or table of id and name; the first name of an id counts."""
    found = read_records(source, NAMES, what="the table of labels")
    found.refuse()
    named = found.rows.filter(pl.col("label") != "").unique("entity", keep="first")
    return dict(named.select("entity", "label").iter_rows())

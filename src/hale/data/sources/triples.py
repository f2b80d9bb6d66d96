"""A file or a table of triples, apart from any graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from hale.data.progress import Announce
from hale.data.sources.doubts import doubts
from hale.data.sources.layout import NAMES, ROLES, TRIPLES, TYPES
from hale.data.sources.reader import read_records
from hale.errors import SourceError


@dataclass(frozen=True)
class Triples:
    """Rows of names (head, relation, tail), perhaps with a weight, and what came with them."""

    source: str
    rows: pl.DataFrame
    places: pl.Series  # the line or row that each came from
    unit: str  # what one is called
    labels: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def distinct(self) -> pl.DataFrame:
        """Each row once, in their order, with the ``place`` of its first; weights are summed."""
        numbered = self.rows.with_columns(self.places.alias("place"))
        if "weight" not in self.rows.columns:
            return numbered.unique(ROLES, keep="first", maintain_order=True)
        total = pl.col("weight").cast(pl.Float64).sum().cast(pl.Float32)
        return numbered.group_by(ROLES, maintain_order=True).agg(pl.col("place").first(), total)


def read_triples(
    source: object,
    *,
    what: str = "the table",
    columns: str | None = None,
    header: bool | None = None,
    weights: str | None = None,
    weights_required: bool = True,
    skip_bad: bool = False,
    dtypes: Mapping[str, pl.DataType] | None = None,
    reading: Announce | None = None,
) -> Triples:
    """Read triples from a file or a table; see ``read_records``.

    What the rows say against how they were read is noted (``doubts``). All bad lines are told in
    one error; with ``skip_bad`` they are left out and noted. ``weights`` is the column of weights,
    which may be lacking unless ``weights_required``.
    """
    found = read_records(
        source,
        TRIPLES,
        what=what,
        columns=columns,
        header=header,
        weights=weights,
        weights_required=weights_required,
        dtypes=dtypes,
        reading=reading,
    )
    found.refuse(skip_bad=skip_bad)
    skipped = (f"{found.source}, {text}: skipped" for text in found.faults.told(found.unit))
    rows = found.rows.select(*ROLES, *(name for name in found.rows.columns if name == "weight"))
    if rows.is_empty():
        raise SourceError("holds no triples", source=found.source)
    doubted = doubts(
        found.rows,
        found.source,
        found.titles,
        headed=found.headed or header is False,
        chosen=columns is not None,
    )
    notes = (*skipped, *found.notes, *doubted)
    return Triples(found.source, rows, found.rows["place"], found.unit, found.labels, notes)


def read_labels(source: object, *, skip_bad: bool = False) -> dict[str, str]:
    """Readable names: a file or table of id and name; the first name of an id counts."""
    found = read_records(source, NAMES, what="the table of labels")
    found.refuse(skip_bad=skip_bad)
    named = found.rows.filter(pl.col("label") != "")
    named = named.unique("entity", keep="first", maintain_order=True)
    return dict(named.select("entity", "label").iter_rows())


def read_types(source: object, *, skip_bad: bool = False) -> pl.DataFrame:
    """Types: a file or table of entity and type, one a row; an entity may have several."""
    found = read_records(source, TYPES, what="the table of types")
    found.refuse(skip_bad=skip_bad)
    return found.rows.select("entity", "type")

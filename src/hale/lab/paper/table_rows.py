"""Rows: the finished cells of a table's places, and how they compare triple by triple."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean, stdev
from typing import Literal

from hale.lab.paper.cells import Cell, Filled
from hale.lab.paper.declaration import Entry, Judged
from hale.lab.paper.experiments import AS_IN_THE_PAPER
from hale.lab.paper.rank_files import Floats, Ranks
from hale.lab.paper.significance import Interval, Paired, by_triple, holm, interval, paired

# Rows with all parts, where the others of a table have one more or one less.
WHOLE = ("HaLE-RotL", "as tuned")

Measured = Literal["metrics", "plain", "ruled", "valid"]  # what a cell has metrics of
RanksOf = Callable[[str], Ranks | None]  # by the key of a cell


def by_share(cell: Cell, finished: Iterable[Filled]) -> list[list[Filled]]:
    """The finished seeds of a cell, a list for each share of the time, the largest first.

    Of each share only those with the settings and the threads of its latest: others have no mean.
    """
    shares: dict[float, list[Filled]] = {}
    for filled in finished:
        if filled.is_of(cell):
            shares.setdefault(filled.scale, []).append(filled)
    found = []
    for _, mine in sorted(shares.items(), reverse=True):
        latest = max(mine, key=lambda filled: filled.finished)
        found.append(
            [
                filled
                for filled in mine
                if filled.same_settings(latest) and filled.threads == latest.threads
            ]
        )
    return found


def longest(cell: Cell, finished: Iterable[Filled]) -> Filled | None:
    """The first seed of a cell at the largest share of the time that is finished."""
    found = by_share(cell, finished)
    return found[0][0] if found else None


@dataclass(eq=False)
class Row:
    """A place of a table at one share of the time, with all its seeds; none if it was not run."""

    entry: Entry
    cells: Sequence[Filled]
    # (n,) reciprocal ranks by triple of those it is judged by, where all seeds keep theirs
    values: Floats | None = None
    judged: Judged = "test"  # by which triples
    rival_of: Row | None = field(default=None, repr=False)  # HaLE's row that it is compared with
    against: Paired | None = None  # HaLE against it, by Holm's correction over all that meet HaLE
    best: bool = False  # significantly above every row that it is compared with
    fair: bool = True  # no cell of it is stale or was searched otherwise than others

    def mean(self, name: str, of: Measured = "metrics") -> float | None:
        """The mean of a metric over the seeds; None where a seed lacks it."""
        tables: list[Mapping[str, float] | None] = [getattr(cell, of) for cell in self.cells]
        found = [float(table[name]) for table in tables if table is not None and name in table]
        return mean(found) if found and len(found) == len(self.cells) else None

    @property
    def spread(self) -> float | None:
        """The standard deviation over seeds of the MRR that it is judged by; None for one."""
        told = [cell.valid if self.judged == "validation" else cell.metrics for cell in self.cells]
        figures = [float(table["mrr"]) for table in told if table is not None]
        return stdev(figures) if len(figures) > 1 else None

    @property
    def interval(self) -> Interval | None:
        """The bootstrap interval over triples of the MRR that it is judged by."""
        return None if self.values is None else interval(self.values)

    @property
    def adjusted_index(self) -> float | None:
        """1 - (mean rank - 1) / (that of a draw by lot - 1): 1 is perfect, 0 is chance."""
        rank, by_lot = self.mean("mean_rank"), self.mean("mean_rank_by_lot")
        return None if rank is None or by_lot is None else 1 - (rank - 1) / (by_lot - 1)

    @property
    def is_hale(self) -> bool:
        """Whether it is HaLE with all that goes beyond the paper."""
        strategy = dict(self.entry.cell.values)["strategy"]
        return strategy == "hale" and self.entry.group != AS_IN_THE_PAPER

    @property
    def validation(self) -> float:
        """MRR on validation triples, by which rows are chosen: the mean over seeds."""
        return self.mean("mrr", "valid") or 0.0


def rows_of(
    entries: Sequence[Entry],
    finished: Mapping[str, Filled],
    ranks_of: RanksOf,
    *,
    judged: Judged = "test",
    marked: Collection[str] = (),
) -> list[Row]:
    """The rows of a table on one data set, each rival compared with HaLE at its share.

    By test or by validation triples, as the table is ``judged``. Rows of which a cell is
    ``marked``, by its key, are compared with none.
    """
    rows = [
        Row(
            entry,
            cells,
            _values(cells, ranks_of, judged),
            judged=judged,
            fair=not any(cell.key in marked for cell in cells),
        )
        for entry in entries
        for cells in by_share(entry.cell, finished.values()) or [[]]
    ]
    if judged != "alone":
        compare(rows)
    return rows


def _values(cells: Sequence[Filled], ranks_of: RanksOf, judged: Judged) -> Floats | None:
    kept = [found for cell in cells if (found := ranks_of(cell.key)) is not None]
    seeds = [ranks.valid if judged == "validation" else ranks.headline for ranks in kept]
    alike = len(seeds) == len(cells) and len({len(ranks) for ranks in seeds}) == 1
    return by_triple(seeds) if alike else None


def compare(rows: Sequence[Row]) -> None:
    """Test HaLE against each rival on the same triples, and tell who is significantly above all.

    A rival meets HaLE with its own model, or, where HaLE has none such, HaLE's row that is best on
    validation triples; always at the same share of the time. Where a table has a row with all
    parts, all others meet that one. The tests of all rivals that meet one row are a family.
    """
    families: dict[int, tuple[Row, list[tuple[Row, Paired]]]] = {}
    whole = [row for row in rows if row.entry.row in WHOLE]
    met = whole or [row for row in rows if row.is_hale]
    for row in rows:
        if row in met or not row.cells or row.values is None or not row.fair:
            continue
        chosen = _partner(row, met)
        if chosen is None or chosen.values is None or len(chosen.values) != len(row.values):
            continue
        found = paired(chosen.values, row.values)
        families.setdefault(id(chosen), (chosen, []))[1].append((row, found))
    for chosen, family in families.values():
        corrected = holm([found.p for _, found in family])
        for (row, found), p in zip(family, corrected, strict=True):
            row.rival_of, row.against = chosen, Paired(found.gain, p)
            row.best = row.against.tells and found.gain < 0
        chosen.best = all(
            row.against is not None and row.against.tells and row.against.gain > 0
            for row, _ in family
        )


def _partner(row: Row, met: Sequence[Row]) -> Row | None:
    """Whom a rival meets, of the rows that are met; None where there is none that is fair.

    It had the same share of the time, and as many threads.
    """
    mine, model = row.cells[0], dict(row.entry.cell.values)["model"]
    peers = [
        other
        for other in met
        if other.cells
        and (other.cells[0].scale, other.cells[0].threads) == (mine.scale, mine.threads)
    ]
    own = [peer for peer in peers if dict(peer.entry.cell.values)["model"] == model]
    fair = [peer for peer in own or peers if peer.fair]
    return max(fair, key=lambda peer: peer.validation, default=None)

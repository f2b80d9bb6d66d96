"""Rows: the planned cells of a table's places, and how they compare triple by triple."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean, stdev
from typing import Literal

from hale.lab.paper.cells import Filled
from hale.lab.paper.declaration import Entry, Experiment, Judged
from hale.lab.paper.experiments import AS_IN_THE_PAPER
from hale.lab.paper.plan import AVAILABLE, seeds_of, shares_of
from hale.lab.paper.rank_files import Floats, Ranks
from hale.lab.paper.significance import Interval, Paired, by_triple, holm, interval, paired

# Rows with all parts, where the others of a table have one more or one less.
WHOLE = ("HaLE-RotL", "as tuned")

Measured = Literal["metrics", "plain", "ruled", "valid", "valid_plain"]  # a cell's metrics
RanksOf = Callable[[str], Ranks | None]  # by the key of a cell


def by_share(
    experiment: str, entry: Entry, finished: Mapping[str, Filled]
) -> dict[float, list[Filled]]:
    """The finished seeds of a place, by the shares of the time that are planned, the largest first.

    Of each share only those with the settings and the threads of its latest: others have no mean.
    """
    found: dict[float, list[Filled]] = {}
    if entry.cell.dataset not in AVAILABLE:
        return found
    for scale in sorted(shares_of(experiment, entry), reverse=True):
        keys = [entry.cell.key(i, scale) for i in range(seeds_of(experiment, entry, scale))]
        mine = [finished[key] for key in keys if key in finished]
        latest = max(mine, key=lambda filled: filled.finished, default=None)
        found[scale] = [
            filled
            for filled in mine
            if latest is not None
            and filled.same_settings(latest)
            and filled.threads == latest.threads
        ]
    return found


def longest(experiment: str, entry: Entry, finished: Mapping[str, Filled]) -> Filled | None:
    """The first seed of a place at the largest share of the time that is finished."""
    shares = by_share(experiment, entry, finished).values()
    return next((cells[0] for cells in shares if cells), None)


@dataclass(eq=False)
class Row:
    """A place of a table at one share of the time, with all its seeds; none if it was not run."""

    entry: Entry
    scale: float
    cells: Sequence[Filled]
    # (n,) reciprocal ranks by triple of those it is judged by, where all seeds keep theirs
    values: Floats | None = None
    judged: Judged = "test"  # by which triples
    fair: bool = True  # nothing is wrong with a cell of it
    planned: int = 1  # seeds
    rival_of: Row | None = field(default=None, repr=False)  # HaLE's row that it is to meet
    against: Paired | None = None  # HaLE against it, by Holm's correction, if they met
    best: bool = False  # as ``_judge`` has it

    def mean(self, name: str, of: Measured | None = None) -> float | None:
        """The mean of a metric over the seeds, of the headline's; None where a seed lacks it."""
        tables = [getattr(cell, of or self.headline) for cell in self.cells]
        found = [float(table[name]) for table in tables if table is not None and name in table]
        return mean(found) if found and len(found) == len(self.cells) else None

    @property
    def headline(self) -> Literal["plain", "metrics"]:
        """By which ranks: the paper's tables by scores alone, as the paper has it."""
        return headline_of(self.judged)

    @property
    def validated(self) -> Literal["valid_plain", "valid"]:
        """The metrics of validation triples that are by the headline's ranks."""
        return "valid_plain" if self.headline == "plain" else "valid"

    @property
    def spread(self) -> float | None:
        """The standard deviation over seeds of the MRR that it is judged by; None for one."""
        of = "valid" if self.judged == "validation" else self.headline
        figures = [float(getattr(cell, of)["mrr"]) for cell in self.cells]
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
    def strategy(self) -> object:
        """The strategy of its cell."""
        return dict(self.entry.cell.values)["strategy"]

    @property
    def model(self) -> object:
        """The model of its cell."""
        return dict(self.entry.cell.values)["model"]

    @property
    def is_hale(self) -> bool:
        """Whether it is HaLE with all that goes beyond the paper."""
        return self.strategy == "hale" and self.entry.group != AS_IN_THE_PAPER

    @property
    def validation(self) -> float:
        """MRR on validation triples, by which rows are chosen: the mean over seeds."""
        return self.mean("mrr", self.validated) or 0.0


def headline_of(judged: Judged) -> Literal["plain", "metrics"]:
    """The metrics that a table shows first: those of the paper's own are by scores alone."""
    return "plain" if judged == "test" else "metrics"


def rows_of(
    experiment: Experiment,
    finished: Mapping[str, Filled],
    ranks_of: RanksOf,
    marked: Collection[str] = (),
) -> dict[str, list[Row]]:
    """The planned rows of a table by data set, each rival compared with HaLE at its share.

    By test or by validation triples, as the table is judged. Rows of which a cell is ``marked``,
    by its key, are compared with none.
    """
    judged = experiment.judged
    found: dict[str, list[Row]] = {}
    for entry in experiment.entries:
        rows = found.setdefault(entry.cell.dataset, [])
        for scale, cells in by_share(experiment.name, entry, finished).items():
            fair = not any(cell.key in marked for cell in cells)
            planned = seeds_of(experiment.name, entry, scale)
            values = _values(cells, ranks_of, judged)
            rows.append(Row(entry, scale, cells, values, judged, fair, planned))
    if judged != "alone":
        anywhere = _spread([row for rows in found.values() for row in rows])
        for rows in found.values():
            here = _spread(rows)
            compare(rows, anywhere if here is None else here)
    return found


def _values(cells: Sequence[Filled], ranks_of: RanksOf, judged: Judged) -> Floats | None:
    kept = [found for cell in cells if (found := ranks_of(cell.key)) is not None]
    alone = headline_of(judged) == "plain"
    seeds = [
        ranks.valid if judged == "validation" else ranks.plain if alone else ranks.headline
        for ranks in kept
    ]
    alike = bool(seeds) and len(seeds) == len(cells) and len({len(ranks) for ranks in seeds}) == 1
    return by_triple(seeds) if alike else None


def _spread(rows: Sequence[Row]) -> float | None:
    """The largest spread over seeds that is known of some rows."""
    return max((row.spread for row in rows if row.spread is not None), default=None)


def compare(rows: Sequence[Row], spread: float | None = None) -> None:
    """Test HaLE against each rival on the same triples, and tell which rows are best.

    A rival meets HaLE with its own model, or, where HaLE has none such, HaLE's row that is best on
    validation triples; always at the same share of the time. Where a table has a row with all
    parts, all others meet that one. All tests at one share are a family. ``spread`` is that over
    seeds. Nothing is best where it is not known, nor while a row or a seed of the plan is missing.
    """
    for scale in dict.fromkeys(row.scale for row in rows):
        peers = [row for row in rows if row.scale == scale]
        whole = [row for row in peers if row.entry.row in WHOLE]
        met = whole or [row for row in peers if row.is_hale]
        tested = []
        for row in peers:
            row.rival_of = None if row in met else _partner(row, met)
            if row.rival_of is not None and (found := _tested(row.rival_of, row)) is not None:
                tested.append((row, found))
        corrected = holm([found.p for _, found in tested])
        for (row, found), p in zip(tested, corrected, strict=True):
            row.against = Paired(found.gain, p)
        if spread is None or any(len(row.cells) < row.planned for row in peers):
            continue
        for chosen in met:
            _judge(chosen, [row for row in peers if row.rival_of is chosen], 2 * spread)
        for row in peers:
            row.best = row.best and not any(_is_above(other, row) for other in peers)


def _judge(chosen: Row, rivals: Sequence[Row], least: float) -> None:
    """Who is best of a row of HaLE's and all that are to meet it: nobody until all have met.

    Nor where none of them is another strategy than HaLE, nor by a gain that is not above the least.
    """
    gains = [row.against for row in rivals if row.against is not None]
    if len(gains) < len(rivals) or all(row.strategy == "hale" for row in rivals):
        return
    chosen.best = all(gain.tells and gain.gain > least for gain in gains)
    for row, gain in zip(rivals, gains, strict=True):
        row.best = gain.tells and -gain.gain > least


def _partner(row: Row, met: Sequence[Row]) -> Row | None:
    """Whom a rival is to meet, of the rows that are met; whether it can is another question."""
    own = [other for other in met if other.model == row.model]
    peers = own or [other for other in met if other.cells and other.fair]
    return max(peers, key=lambda peer: peer.validation, default=None)


def _tested(one: Row, other: Row) -> Paired | None:
    """How much better one row is than another, if nothing is wrong with them.

    None too where they had other numbers of threads, or keep no ranks of the same triples.
    """
    if one.values is None or other.values is None or not (one.fair and other.fair):
        return None
    alike = one.cells[0].threads == other.cells[0].threads and len(one.values) == len(other.values)
    return paired(one.values, other.values) if alike else None


def _is_above(other: Row, row: Row) -> bool:
    """Whether another row is above one by a test of its own, or might be: without any correction.

    So bold is taken away sooner than it is given; also by rows that are marked.
    """
    if other is row or not other.cells or row.values is None:
        return False
    if other.values is None or len(other.values) != len(row.values):
        return (other.mean("mrr") or 0.0) > (row.mean("mrr") or 0.0)
    return other.values.mean() > row.values.mean() and paired(other.values, row.values).tells

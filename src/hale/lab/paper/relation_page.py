"""The second page: rows by relation and direction, and on triples of seen entities only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import mean, stdev

import numpy as np

from hale.evaluation.metrics import Metrics
from hale.lab.paper.cells import Filled
from hale.lab.paper.declaration import Experiment
from hale.lab.paper.rank_files import Floats, Ranks, Triples
from hale.lab.paper.table_rows import RanksOf, by_share, headline_of

TriplesOf = Callable[[str], Triples | None]  # by data set
MOST = 12  # relations shown of a data set, those with most triples


def render_relations(
    experiments: Iterable[Experiment],
    finished: Mapping[str, Filled],
    ranks_of: RanksOf,
    triples_of: TriplesOf,
    marked: Mapping[str, str] | None = None,
) -> str:
    """The page; rows whose cells keep no ranks are left out.

    ``marked`` says of cells, by key, what is wrong with them.
    """
    lines = [
        "# By relation and direction, and on seen entities",
        "",
        "Of the cells behind [reproduction.md](reproduction.md) that keep their ranks, the mean of "
        "all seeds at the longest time that is finished: as there by scores alone in the paper's "
        "tables, with the head ruled out in those beyond the paper, and by the other two ranks "
        "beside; ± is the standard deviation over seeds. Rows that are marked there are marked "
        "here. Seen are the triples whose head "
        "and tail both occur in train; they are ranked among all entities, those that train lacks "
        "too. PyKEEN's WN18RR has the same triples, and leaves those entities out as candidates "
        "as well, so its ranks are no worse. Figures over seen triples and over all are not "
        "comparable.",
        "",
    ]
    for experiment in experiments:
        if experiment.kind != "table":
            continue
        for dataset in dict.fromkeys(entry.cell.dataset for entry in experiment.entries):
            told = triples_of(dataset)
            if told is not None:
                rows = _rows(experiment, dataset, finished, ranks_of, told, marked or {})
                lines += _section(experiment, dataset, rows, told)
    return "\n".join(lines)


Row = tuple[str, list[Ranks]]  # its name, and the ranks of its seeds


def _rows(
    experiment: Experiment,
    dataset: str,
    finished: Mapping[str, Filled],
    ranks_of: RanksOf,
    told: Triples,
    marked: Mapping[str, str],
) -> list[Row]:
    rows = []
    for entry in experiment.select((dataset,)):
        shares = by_share(experiment.name, entry, finished).values()
        cells: list[Filled] = next((cells for cells in shares if cells), [])
        kept = [found for cell in cells if (found := ranks_of(cell.key)) is not None]
        whole = all(len(one.headline) == 2 * len(told.relations) for one in kept)
        if kept and len(kept) == len(cells) and whole:
            share = "" if cells[0].scale >= 1 else f" (x {cells[0].scale:g})"
            faults = dict.fromkeys(marked[cell.key] for cell in cells if cell.key in marked)
            share += f" ({', '.join(faults)})" if faults else ""
            rows.append((f"{entry.group}, {entry.row}{share}", kept))
    return rows


def _section(experiment: Experiment, dataset: str, rows: list[Row], told: Triples) -> list[str]:
    if not rows:
        return []
    seen = np.tile(told.seen, 2)
    alone = headline_of(experiment.judged) == "plain"
    other = "head ruled out" if alone else "by scores alone"
    lines = [f"## {experiment.title.split(':')[0]}, {dataset}", ""]
    lines += [
        f"On {int(told.seen.sum()):,} of {len(told.seen):,} test triples, of seen entities:",
        "",
        f"| | MRR | Hits@1 | Hits@10 | {other}: MRR | by the rule: MRR | Hits@1 | Hits@10 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, kept in rows:
        ruled = _figures([one.ruled[seen] for one in kept if one.ruled is not None])
        both = [_figures([ranks[seen] for ranks in of]) for of in _ranks_of(kept, alone=alone)]
        figures = [*both[0], both[1][0], *ruled]
        lines.append(f"| {name} | {' | '.join(figures)} |")
    counts = np.bincount(told.relations, minlength=len(told.names))
    shown = np.argsort(-counts, kind="stable")[:MOST]
    shown = shown[counts[shown] > 0]
    heads = " | ".join(f"{told.names[i]} ({counts[i]:,})" for i in shown)
    lines += ["", "MRR of tails / heads, by relation (test triples):", "", f"| | all | {heads} |"]
    lines.append("|---|---|" + "---|" * len(shown))
    for name, kept in rows:
        ruled_too = [one.ruled for one in kept if one.ruled is not None]
        for title, seeds in (
            (name, _ranks_of(kept, alone=alone)[0]),
            (f"{name}, by the rule", ruled_too),
        ):
            if not seeds:
                continue
            both = np.mean([(1 / ranks).reshape(2, -1) for ranks in seeds], axis=0)
            cells = [_both(both)] + [_both(both[:, told.relations == i]) for i in shown]
            lines.append(f"| {title} | {' | '.join(cells)} |")
    return [*lines, ""]


def _ranks_of(kept: Sequence[Ranks], *, alone: bool) -> tuple[list[Floats], list[Floats]]:
    """The ranks of seeds that a table shows first, and those beside."""
    by_scores, head_out = [one.plain for one in kept], [one.headline for one in kept]
    return (by_scores, head_out) if alone else (head_out, by_scores)


def _figures(seeds: Sequence[Floats]) -> list[str]:
    """MRR, Hits@1 and Hits@10, the mean of seeds; nothing of none."""
    if not seeds:
        return ["", "", ""]
    found = [Metrics.of(ranks) for ranks in seeds]
    each = [(one.mrr, one.hits[1], one.hits[10]) for one in found]
    told = [f"{mean(values):.3f}" for values in zip(*each, strict=True)]
    if len(found) > 1:
        told[0] += f" ± {stdev(one.mrr for one in found):.3f}"
    return told


def _both(values: Floats) -> str:
    tails, heads = values.mean(axis=1)
    return f"{tails:.3f} / {heads:.3f}"

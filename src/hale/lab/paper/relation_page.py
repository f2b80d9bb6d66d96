"""The second page: rows by relation and direction, and on triples of seen entities only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from hale.evaluation.metrics import Metrics
from hale.lab.paper.cells import Filled
from hale.lab.paper.declaration import Entry, Experiment
from hale.lab.paper.rank_files import Floats, Triples
from hale.lab.paper.table_rows import RanksOf, by_share

TriplesOf = Callable[[str], Triples | None]  # by data set
MOST = 12  # relations shown of a data set, those with most triples


def render_relations(
    experiments: Iterable[Experiment],
    finished: Mapping[str, Filled],
    ranks_of: RanksOf,
    triples_of: TriplesOf,
) -> str:
    """The page; rows whose cells keep no ranks are left out."""
    lines = [
        "# By relation and direction, and on seen entities",
        "",
        "Of the cells behind [reproduction.md](reproduction.md) that keep their ranks, the first "
        "seed at the longest time: MRR with an entity last among the answers to a query about "
        "itself (as there), and by the cardinality rule beside. Seen are the triples whose head "
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
            entries = [entry for entry in experiment.entries if entry.cell.dataset == dataset]
            lines += _section(experiment, dataset, entries, finished, ranks_of, triples_of)
    return "\n".join(lines)


def _section(
    experiment: Experiment,
    dataset: str,
    entries: list[Entry],
    finished: Mapping[str, Filled],
    ranks_of: RanksOf,
    triples_of: TriplesOf,
) -> list[str]:
    told = triples_of(dataset)
    rows = []
    for entry in entries:
        shares = by_share(entry.cell, finished.values())
        kept = ranks_of(shares[0][0].key) if shares else None
        if kept is not None and told is not None and len(kept.headline) == 2 * len(told.relations):
            name = f"{entry.group}, {entry.row}" + (
                "" if shares[0][0].scale >= 1 else f" (x {shares[0][0].scale:g})"
            )
            rows.append((name, kept))
    if not rows or told is None:
        return []
    seen = np.tile(told.seen, 2)
    lines = [f"## {experiment.title.split(':')[0]}, {dataset}", ""]
    lines += [
        f"On {int(told.seen.sum()):,} of {len(told.seen):,} test triples, of seen entities:",
        "",
        "| | MRR | Hits@1 | Hits@10 | no rule: MRR | by the rule: MRR | Hits@1 | Hits@10 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, kept in rows:
        ruled = ["", "", ""] if kept.ruled is None else _figures(kept.ruled[seen])
        figures = [*_figures(kept.headline[seen]), *_figures(kept.plain[seen])[:1], *ruled]
        lines.append(f"| {name} | {' | '.join(figures)} |")
    counts = np.bincount(told.relations, minlength=len(told.names))
    shown = np.argsort(-counts, kind="stable")[:MOST]
    shown = shown[counts[shown] > 0]
    heads = " | ".join(f"{told.names[i]} ({counts[i]:,})" for i in shown)
    lines += ["", "MRR of tails / heads, by relation (test triples):", "", f"| | all | {heads} |"]
    lines.append("|---|---|" + "---|" * len(shown))
    for name, kept in rows:
        for title, ranks in ((name, kept.headline), (f"{name}, by the rule", kept.ruled)):
            if ranks is None:
                continue
            both = (1 / ranks).reshape(2, -1)
            cells = [_both(both)] + [_both(both[:, told.relations == i]) for i in shown]
            lines.append(f"| {title} | {' | '.join(cells)} |")
    return [*lines, ""]


def _figures(ranks: Floats) -> list[str]:
    found = Metrics.of(ranks)
    return [f"{value:.3f}" for value in (found.mrr, found.hits[1], found.hits[10])]


def _both(values: Floats) -> str:
    tails, heads = values.mean(axis=1)
    return f"{tails:.3f} / {heads:.3f}"

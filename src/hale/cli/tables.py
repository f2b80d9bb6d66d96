"""Tables on stdout: answers, verdicts, metrics, settings, and lists of what there is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hale.answers.align import Match
    from hale.answers.answer import Answers
    from hale.answers.discovery import MissingFact
    from hale.answers.explanation import Explanation
    from hale.answers.neighborhood import Neighbor
    from hale.data.graph import Graph
    from hale.evaluation.calibration import ByNegatives
    from hale.evaluation.classification import Verdicts
    from hale.evaluation.reliability import Quality, Reliability
    from hale.runs.run import Run


def listing(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Iterable[str] = (),
    title: str | None = None,
) -> Table:
    """Rows of text under their columns; those of ``right`` are numbers."""
    table = Table(box=None, header_style="bold", title=title)
    numbers = set(right)
    for name in columns:
        table.add_column(name, justify="right" if name in numbers else "left")
    for row in rows:
        table.add_row(*row)
    return table


def answers_table(graph: Graph, answers: Answers) -> Table:
    """The answers to one query, in plain words where there are labels."""
    names = (_of(graph, answers.head), answers.relation or "?", _of(graph, answers.tail))
    table = _table("  ".join(names), [""])
    table.add_column("answer", overflow="fold")
    with_labels = any(answer.label for answer in answers)
    if with_labels:
        table.add_column("label", overflow="fold")
    table.add_column("score", justify="right")
    with_probability = any(answer.probability is not None for answer in answers)
    if with_probability:
        table.add_column("probability", justify="right")
    table.add_column("known in")
    for answer in answers:
        table.add_row(
            str(answer.rank),
            answer.name,
            *([answer.label or ""] if with_labels else []),
            f"{answer.score:.3f}",
            *([_share(answer.probability)] if with_probability else []),
            answer.split or "",
        )
    return table


def facts_table(facts: Sequence[MissingFact], title: str) -> Table:
    """Missing facts, best first."""
    table = _table(title, [""])
    for column in ("head", "relation", "tail"):
        table.add_column(column, overflow="fold")
    table.add_column("score", justify="right")
    with_probability = any(fact.probability is not None for fact in facts)
    if with_probability:
        table.add_column("probability", justify="right")
    for fact in facts:
        table.add_row(
            str(fact.rank),
            _named(fact.head, fact.head_label),
            fact.relation,
            _named(fact.tail, fact.tail_label),
            f"{fact.score:.3f}",
            *([_share(fact.probability)] if with_probability else []),
        )
    return table


def neighbors_table(found: Sequence[Neighbor], title: str) -> Table:
    """Neighbours, nearest first."""
    table = _table(title, [""])
    table.add_column("entity", overflow="fold")
    with_labels = any(neighbor.label for neighbor in found)
    if with_labels:
        table.add_column("label", overflow="fold")
    table.add_column("distance", justify="right")
    for neighbor in found:
        label = [neighbor.label or ""] if with_labels else []
        table.add_row(str(neighbor.rank), neighbor.entity, *label, f"{neighbor.distance:.4f}")
    return table


def matches_table(found: Sequence[Match], title: str) -> Table:
    """Entities of two graphs that are the same, surest first."""
    table = _table(title, [])
    for name in ("left", "right"):
        table.add_column(name, overflow="fold")
    table.add_column("confidence", justify="right")
    for one in found:
        names = (_named(one.left, one.left_label), _named(one.right, one.right_label))
        table.add_row(*names, f"{one.confidence:.3f}")
    return table


def explanation_tables(found: Explanation) -> list[Table]:
    """What is said of the fact, and below it the facts that support it."""
    names = (_named(found.head, found.head_label), _named(found.tail, found.tail_label))
    about = Table(
        title=f"{names[0]}  {found.relation}  {names[1]}",
        title_justify="left",
        box=None,
        show_header=False,
    )
    about.add_column(style="bold")
    about.add_column()
    about.add_row("known", f"in {found.split}" if found.split else "no")
    about.add_row("score", f"{found.score:.3f}")
    if found.probability is not None:
        about.add_row("probability", _share(found.probability))
    for what, rank in (("tail", found.tail_rank), ("head", found.head_rank)):
        about.add_row(f"rank of the {what}", f"{rank:,g} of {found.num_entities:,}, filtered")
    support = _table(f"nearest facts of train with {found.relation}", [])
    for column in ("head", "tail"):
        support.add_column(column, overflow="fold")
    for column in ("distance", "of heads", "of tails"):
        support.add_column(column, justify="right")
    for fact in found.support:
        support.add_row(
            _named(fact.head, fact.head_label),
            _named(fact.tail, fact.tail_label),
            *(f"{x:.3f}" for x in (fact.distance, fact.head_distance, fact.tail_distance)),
        )
    return [about, support]


def reliability_table(found: Reliability, title: str) -> Table:
    """Shown answers by how sure: their mean probability, and the share of them that was true."""
    table = Table(
        title=f"{title}: answers shown, each half judged by a fit of the other",
        title_justify="left",
        box=None,
        header_style="bold",
    )
    table.add_column("probability")
    for column in ("answers", "mean p", "share true"):
        table.add_column(column, justify="right")
    for band in found.bands:
        name = f"{band.low:g} and more" if band.high == 1 else f"{band.low:g} to {band.high:g}"
        table.add_row(name, f"{band.count:,}", _share(band.probability), _share(band.share))
    mean = sum(band.count * (band.probability or 0.0) for band in found.bands) / found.count
    table.add_row("all", f"{found.count:,}", f"{mean:.3f}", f"{found.hits / found.count:.3f}")
    return table


def fits_table(run: Run, calibration: ByNegatives) -> Table:
    """What was fitted, for all relations together and for each with enough triples."""
    import numpy as np

    fits, relations = calibration.fits, run.graph.relations
    title = f"{calibration.method} against given negatives, on {run.graph.name}"
    table = Table(title=title, title_justify="left", box=None, header_style="bold")
    table.add_column("relation", overflow="fold")
    for column in ("positives", "negatives", "threshold", "p at threshold"):
        table.add_column(column, justify="right")
    rows = [(relations[number], fit) for number, fit in fits.by_relation.items()]
    rest = len(relations) - len(rows)
    shared = "all together" + (f", for {rest} with few" if rest else "")
    for name, fit in [(shared, fits.overall), *rows]:
        table.add_row(
            name,
            f"{fit.positives:,}",
            f"{fit.negatives:,}",
            f"{fit.threshold:.3f}",
            f"{fit.curve.probability(np.array([fit.threshold]))[0]:.3f}",
        )
    return table


def verdicts_table(verdicts: Verdicts, labels: NDArray[np.bool_] | None, *, most: int) -> Table:
    """The first verdicts, with readable names where there are any."""
    graph = verdicts.graph
    table = Table(box=None, header_style="bold")
    for column in ("head", "relation", "tail"):
        table.add_column(column, overflow="fold")
    table.add_column("verdict")
    table.add_column("probability", justify="right")
    table.add_column("known in")
    if labels is not None:
        table.add_column("label")
    for place, verdict in enumerate(verdicts[:most]):
        label = [] if labels is None else [_word(bool(labels[place]))]
        table.add_row(
            _of(graph, verdict.head),
            verdict.relation,
            _of(graph, verdict.tail),
            _word(verdict.verdict),
            f"{verdict.probability:.3f}",
            verdict.known or "",
            *label,
        )
    return table


def quality_table(quality: Quality) -> Table:
    """Accuracy, F1 and calibration error in one row."""
    shares = {
        "accuracy": quality.accuracy,
        "F1": quality.f1,
        "precision": quality.precision,
        "recall": quality.recall,
        "calibration error": quality.calibration_error,
    }
    columns = [*shares, "triples", "true"]
    counts = (f"{quality.count:,}", f"{quality.positives:,}")
    row = (*(f"{value:.4f}" for value in shares.values()), *counts)
    return listing(columns, [row], right=columns)


def metrics_table(reports: Mapping[str, Mapping[str, Any]], title: str) -> Table:
    """One row of metrics per name."""
    table = Table(title=title, title_justify="left", box=None, header_style="bold")
    table.add_column("")
    for column in ("MRR", "Hits@1", "Hits@3", "Hits@10", "mean rank", "ranks"):
        table.add_column(column, justify="right")
    for name, metrics in reports.items():
        table.add_row(
            name,
            *(f"{metrics[key]:.4f}" for key in ("mrr", "hits@1", "hits@3", "hits@10")),
            f"{metrics['mean_rank']:,.1f}",
            f"{metrics['count']:,}",
        )
    return table


def without_rule(
    report: Mapping[str, Any], name: str = "vectors alone"
) -> dict[str, Mapping[str, Any]]:
    """The row of the scores alone, where a rule of ranking made the others."""
    return {name: report["vectors_alone"]} if "vectors_alone" in report else {}


def sample_line(report: Mapping[str, Any]) -> str:
    """What a report on a sample is of, and how sure it is: 1.96 standard errors either way."""
    some = report["sample"]
    return (
        f"a sample of {some['triples']:,} of {some['of']:,} triples: MRR {report['mrr']:.4f} "
        f"± {1.96 * some['mrr_standard_error']:.4f} (95 %)"
    )


def settings_table(values: Mapping[str, Any], title: str) -> Table:
    """Names and values, one a row."""
    table = Table(title=title, title_justify="left", box=None, show_header=False)
    table.add_column(style="bold")
    table.add_column()
    for name, value in values.items():
        table.add_row(name, "-" if value is None else str(value))
    return table


def _table(title: str, numbers: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", box=None, header_style="bold")
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def _of(graph: Graph, entity: str | None) -> str:
    return "?" if entity is None else _named(entity, graph.label(entity))


def _named(entity: str, label: str | None) -> str:
    return f"{entity} ({label})" if label else entity


def _share(probability: float | None) -> str:
    return "" if probability is None else f"{probability:.3f}"


def _word(value: bool) -> str:
    return "true" if value else "false"

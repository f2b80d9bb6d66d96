"""What a person sees of answers: tables on stdout, progress on stderr."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from hale.answers.discovery import MissingFact
from hale.answers.explanation import Explanation
from hale.answers.neighborhood import Neighbor
from hale.answers.predictor import Answers
from hale.data.graph import Graph

# Where there is no terminal for a bar, a line as often as this.
SECONDS_BETWEEN_LINES = 10.0


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


@contextmanager
def query_progress(console: Console) -> Iterator[Callable[[int, int], None]]:
    """Yields what to call with the queries done and in all: a bar, or now and then a line."""
    if not console.is_terminal:
        shown = time.monotonic()

        def line(done: int, total: int) -> None:
            nonlocal shown
            if time.monotonic() - shown >= SECONDS_BETWEEN_LINES:
                shown = time.monotonic()
                console.print(f"{done:,} of {total:,} queries")

        yield line
        return
    bar = Progress(
        BarColumn(bar_width=24),
        TextColumn("{task.completed:,} of {task.total:,} queries"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    with bar:
        task = bar.add_task("", total=1)
        yield lambda done, total: bar.update(task, completed=done, total=total)


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

"""Finished cells to Markdown: the paper's figures and ours, side by side."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import mean
from typing import Literal

from hale.lab.paper.cells import Filled
from hale.lab.paper.declaration import STAND_INS, Entry, Experiment, Judged
from hale.lab.paper.preface import preface
from hale.lab.paper.table_rows import RanksOf, Row, by_share, longest, rows_of

COLUMNS = (
    *("MRR", "95 %", "seeds", "no rule", "by the rule", "on validation", "paper"),
    *("Hits@1", "Hits@3", "Hits@10"),
    *("mean rank", "AMRI", "HaLE against it", "epochs", "time", "validation", "machine", "commit"),
)
# What some are called where rows are judged by validation triples.
VALIDATED = {
    "MRR": "MRR on test",
    "95 %": "95 %, validation",
    "HaLE against it": "as tuned against it, validation",
}


def no_ranks(_: str) -> None:
    """Where no file keeps the ranks of cells."""


def render_table(
    experiment: Experiment,
    finished: Mapping[str, Filled],
    ranks_of: RanksOf = no_ranks,
    marked: Mapping[str, str] | None = None,
) -> str:
    """A section per data set; a row per system with what was measured and what the paper says.

    ``marked`` says of cells, by key, what is wrong with them.
    """
    lines = [f"## {experiment.title}", ""]
    datasets = list(dict.fromkeys(entry.cell.dataset for entry in experiment.entries))
    for dataset in datasets:
        entries = [entry for entry in experiment.entries if entry.cell.dataset == dataset]
        if not any(by_share(entry.cell, finished.values()) for entry in entries):
            lines += [f"### {dataset}", "", "Declared, and not run yet.", ""]
            continue
        judged = experiment.judged
        rows = rows_of(entries, finished, ranks_of, judged=judged, marked=marked or {})
        lines += _heading(dataset, {entry.cell.seconds for entry in entries}, judged)
        lines += [_line(row, marked or {}) for row in rows]
        lines.append("")
    return "\n".join(lines)


def _heading(dataset: str, seconds: Collection[float], judged: Judged) -> list[str]:
    title = f"### {dataset}"
    if len(seconds) == 1:
        title += f", {min(seconds):,.0f} s of training at full time"
    if dataset in STAND_INS:
        title += f" (stands in for {STAND_INS[dataset]}'s scale; not to be compared with the paper)"
    names = " | ".join(VALIDATED.get(name, name) for name in COLUMNS)
    if judged != "validation":
        names = " | ".join(COLUMNS)
    return [title, "", f"| | | {names} |", "|---|---|" + "---|" * len(COLUMNS)]


def _line(row: Row, marked: Mapping[str, str]) -> str:
    found, entry = row.cells, row.entry
    name = f"{entry.row}{_marks(found)}{_faults(found, marked)}"
    if not found:
        cells = [*[""] * 6, _paper(entry), *[""] * 7, "not run", "", "", ""]
        return f"| {entry.group} | {name} | {' | '.join(cells)} |"
    bounds = row.interval
    against = ""
    if row.against is not None and row.rival_of is not None:
        sure = "p < 0.001" if row.against.p < 0.001 else f"p {row.against.p:.3f}"
        against = f"{row.against.gain:+.3f}, {sure} ({row.rival_of.entry.row})"
    cells = [
        _judged(row, "metrics"),
        "" if bounds is None else f"{bounds.low:.3f} to {bounds.high:.3f}",
        str(len(found)),
        _figure(row.mean("mrr", "plain")),
        _ruled(row),
        _judged(row, "valid"),
        _paper(entry),
        *(_figure(row.mean(name)) for name in ("hits@1", "hits@3", "hits@10")),
        _number(row.mean("mean_rank")),
        _figure(row.adjusted_index),
        against,
        _epochs(found),
        _time(found),
        f"{mean(cell.training.get('validation_seconds') or 0.0 for cell in found):,.0f} s",
        _one_of(_machine(cell) for cell in found),
        _one_of(cell.commit or "unknown" for cell in found),
    ]
    return f"| {entry.group} | {name} | {' | '.join(cells)} |"


def _judged(row: Row, of: Literal["metrics", "valid"]) -> str:
    """MRR of test or of validation triples; bold and with its spread if the row is judged by it."""
    mrr = _figure(row.mean("mrr", of))
    if (of == "valid") != (row.judged == "validation") or not mrr:
        return mrr
    spread = "" if row.spread is None else f" ± {row.spread:.3f}"
    return (f"**{mrr}**" if row.best else mrr) + spread


def _ruled(row: Row) -> str:
    """MRR and Hits@10 by the cardinality rule."""
    found = row.mean("mrr", "ruled"), row.mean("hits@10", "ruled")
    return "" if found[0] is None else " / ".join(_figure(value) for value in found)


def _paper(entry: Entry) -> str:
    """MRR, Hits@10 and Hits@1 of the paper."""
    if entry.paper is None:
        return ""
    star = "*" if entry.paper_is_full else ""
    return " / ".join(f"{figure:.3f}" for figure in entry.paper) + star


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _one_of(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def _machine(cell: Filled) -> str:
    """The processor, how many threads it trained on, and the load of the machine."""
    plural = "" if cell.threads == 1 else "s"
    load = f", load {cell.machine['load']:.1f}" if "load" in cell.machine else ""
    return f"{cell.machine.get('cpu', 'unknown')}, {cell.threads} thread{plural}{load}"


def _epochs(found: Sequence[Filled]) -> str:
    done = mean(float(cell.training.get("epochs", 0.0)) for cell in found)
    return f"{done:.1f}, not converged" if done < 1 else f"{done:,.0f}"


def _epochs_behind(experiment: Experiment, finished: Mapping[str, Filled]) -> list[str]:
    """The epochs of each curve, so that fast steps are told from swift learning."""
    datasets = list(dict.fromkeys(entry.cell.dataset for entry in experiment.entries))
    done: dict[tuple[str, str], dict[str, str]] = {}
    for entry in experiment.entries:
        cell = longest(entry.cell, finished.values())
        row = done.setdefault((entry.group, entry.row), {})
        row[entry.cell.dataset] = "" if cell is None else _epochs([cell])
    lines = ["Epochs behind the curves:", "", f"| | | {' | '.join(datasets)} |"]
    lines.append("|---|---|" + "---|" * len(datasets))
    for (group, name), row in done.items():
        lines.append(f"| {group} | {name} | {' | '.join(row[dataset] for dataset in datasets)} |")
    return [*lines, ""]


def _marks(found: Sequence[Filled]) -> str:
    """What a system has that no figure beside it shows."""
    if not found:
        return ""
    settings = found[0].settings
    marks = "†" if settings.get("heights") else ""
    marks += "§" if settings.get("strategy") == "hale" and not settings.get("square", True) else ""
    return f" {marks}" if marks else ""


def _faults(found: Sequence[Filled], marked: Mapping[str, str]) -> str:
    faults = _one_of(marked[cell.key] for cell in found if cell.key in marked)
    return f" ({faults})" if faults else ""


def _time(found: Sequence[Filled]) -> str:
    """How long the cells were trained; reduced time is said."""
    seconds = mean(cell.training["seconds"] for cell in found)
    share = found[0].scale
    return f"{seconds:,.0f} s" + ("" if share >= 1 else f" (x {share:g})")


def render_page(
    experiments: Iterable[Experiment],
    finished: Mapping[str, Filled],
    figures: Mapping[str, str],
    recipe: str = "auto",
    ranks_of: RanksOf = no_ranks,
    marked: Mapping[str, str] | None = None,
) -> str:
    """The whole page; ``figures`` maps experiments to the pictures that were drawn."""
    lines = [
        "# The paper, reproduced" + ("" if recipe == "auto" else f" (recipe: {recipe})"),
        "",
        preface(recipe),
        "",
    ]
    for experiment in experiments:
        if experiment.kind == "table":
            lines.append(render_table(experiment, finished, ranks_of, marked))
        elif experiment.name in figures:
            lines += [
                f"## {experiment.title}",
                "",
                f"![{experiment.title}]({figures[experiment.name]})",
                "",
                *(_epochs_behind(experiment, finished) if experiment.kind == "curves" else ()),
            ]
    return "\n".join(lines)

"""Finished cells to Markdown: the paper's figures and ours, side by side."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import mean

from hale.lab.paper.cells import Filled
from hale.lab.paper.declaration import STAND_INS, Entry, Experiment, Judged
from hale.lab.paper.preface import preface
from hale.lab.paper.table_rows import Measured, RanksOf, Row, headline_of, longest, rows_of

COLUMNS = (
    *("MRR", "95 %", "seeds", "head ruled out", "by the rule", "on validation", "paper"),
    *("Hits@1", "Hits@3", "Hits@10"),
    *("mean rank", "AMRI", "HaLE against it", "epochs", "time", "validation", "machine", "commit"),
)
# What some are called where the headline has the head ruled out, and by validation triples.
HEAD_OUT = {"head ruled out": "by scores alone"}
VALIDATED = {
    "MRR": "MRR on test",
    "95 %": "95 %, validation",
    "HaLE against it": "as tuned against it, validation (descriptive)",
}
NOT_RUN = "Declared, and not run yet."


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
    for dataset, rows in rows_of(experiment, finished, ranks_of, marked or {}).items():
        if not any(row.cells for row in rows):
            lines += [f"### {dataset}", "", NOT_RUN, ""]
            continue
        lines += _heading(dataset, {row.entry.cell.seconds for row in rows}, experiment.judged)
        lines += [_line(row, marked or {}) for row in rows]
        lines.append("")
    return "\n".join(lines)


def _heading(dataset: str, seconds: Collection[float], judged: Judged) -> list[str]:
    title = f"### {dataset}"
    if len(seconds) == 1:
        title += f", {min(seconds):,.0f} s of training at full time"
    if dataset in STAND_INS:
        title += f" (stands in for {STAND_INS[dataset]}'s scale; not to be compared with the paper)"
    called = {} if headline_of(judged) == "plain" else HEAD_OUT
    called = called | VALIDATED if judged == "validation" else called
    names = " | ".join(called.get(name, name) for name in COLUMNS)
    return [title, "", f"| | | {names} |", "|---|---|" + "---|" * len(COLUMNS)]


def _line(row: Row, marked: Mapping[str, str]) -> str:
    found, entry = row.cells, row.entry
    name = f"{entry.row}{_marks(found)}{_faults(found, marked)}"
    if not found:
        cells = [*[""] * 6, _paper(entry), *[""] * 7, f"not run{_share(row)}", "", "", ""]
        return f"| {entry.group} | {name} | {' | '.join(cells)} |"
    bounds = row.interval
    against = ""
    if row.against is not None and row.rival_of is not None:
        sure = "p < 0.001" if row.against.p < 0.001 else f"p {row.against.p:.3f}"
        against = f"{row.against.gain:+.3f}, {sure} ({row.rival_of.entry.row})"
    cells = [
        _judged(row, row.headline),
        "" if bounds is None else f"{bounds.low:.3f} to {bounds.high:.3f}",
        "1 (spread unknown)" if len(found) == 1 else str(len(found)),
        _beside(row, "metrics" if row.headline == "plain" else "plain"),
        _beside(row, "ruled"),
        _judged(row, row.validated),
        _paper(entry),
        *(_figure(row.mean(name)) for name in ("hits@1", "hits@3", "hits@10")),
        _number(row.mean("mean_rank")),
        _figure(row.adjusted_index),
        against,
        _epochs(found),
        _time(row),
        f"{mean(cell.training.get('validation_seconds') or 0.0 for cell in found):,.0f} s",
        _one_of(_machine(cell) for cell in found),
        _one_of(cell.commit or "unknown" for cell in found),
    ]
    return f"| {entry.group} | {name} | {' | '.join(cells)} |"


def _judged(row: Row, of: Measured) -> str:
    """MRR of test or of validation triples; bold and with its spread if the row is judged by it."""
    mrr = _figure(row.mean("mrr", of))
    if (of == row.validated) != (row.judged == "validation") or not mrr:
        return mrr
    spread = "" if row.spread is None else f" ± {row.spread:.3f}"
    return (f"**{mrr}**" if row.best else mrr) + spread


def _beside(row: Row, of: Measured) -> str:
    """MRR and Hits@10 by other ranks than the headline's."""
    found = row.mean("mrr", of), row.mean("hits@10", of)
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
    """The processor, the threads that it trained on, its share of them, and the machine's load."""
    plural = "" if cell.threads == 1 else "s"
    load = f", load {cell.machine['load']:.1f}" if "load" in cell.machine else ""
    share = "" if cell.cpu_share is None else f", share {cell.cpu_share:.2f}"
    return f"{cell.machine.get('cpu', 'unknown')}, {cell.threads} thread{plural}{share}{load}"


def _epochs(found: Sequence[Filled]) -> str:
    done = mean(float(cell.training.get("epochs", 0.0)) for cell in found)
    return f"{done:.1f}, not converged" if done < 1 else f"{done:,.0f}"


def _epochs_behind(experiment: Experiment, finished: Mapping[str, Filled]) -> list[str]:
    """The epochs of each curve, so that fast steps are told from swift learning."""
    datasets = list(dict.fromkeys(entry.cell.dataset for entry in experiment.entries))
    done: dict[tuple[str, str], dict[str, str]] = {}
    for entry in experiment.entries:
        cell = longest(experiment.name, entry, finished)
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


def _time(row: Row) -> str:
    """How long the cells were trained; reduced time is said."""
    return f"{mean(cell.training['seconds'] for cell in row.cells):,.0f} s{_share(row)}"


def _share(row: Row) -> str:
    return "" if row.scale >= 1 else f" (x {row.scale:g})"


def render_page(
    experiments: Iterable[Experiment],
    finished: Mapping[str, Filled],
    figures: Mapping[str, str],
    ranks_of: RanksOf = no_ranks,
    marked: Mapping[str, str] | None = None,
) -> str:
    """The whole page; ``figures`` maps experiments to the pictures that were drawn."""
    lines = ["# The paper, reproduced", "", preface(), ""]
    for experiment in experiments:
        if experiment.kind == "table":
            lines.append(render_table(experiment, finished, ranks_of, marked))
            continue
        drawn = figures.get(experiment.name)
        picture = NOT_RUN if drawn is None else f"![{experiment.title}]({drawn})"
        lines += [f"## {experiment.title}", "", picture, ""]
        if drawn is not None and experiment.kind == "curves":
            lines += _epochs_behind(experiment, finished)
    return "\n".join(lines)

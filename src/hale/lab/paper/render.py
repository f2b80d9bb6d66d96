"""Finished cells to Markdown: the paper's figures and ours, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean

from hale.lab.paper.cells import Cell, Filled
from hale.lab.paper.experiments import STAND_INS, Entry, Experiment

METRICS = {"mrr": "MRR", "hits@10": "Hits@10", "hits@1": "Hits@1"}
PAPER_KEYS = {"mrr": "mrr", "hits@10": "hits10", "hits@1": "hits1"}


def by_share(cell: Cell, finished: Iterable[Filled]) -> list[list[Filled]]:
    """The finished seeds of a cell, a list for each share of the time, the largest first.

    Of each share only those with the settings of its latest: seeds of different settings have
    no mean.
    """
    shares: dict[float, list[Filled]] = {}
    for filled in finished:
        if filled.is_of(cell):
            shares.setdefault(filled.scale, []).append(filled)
    found = []
    for _, mine in sorted(shares.items(), reverse=True):
        latest = max(mine, key=lambda filled: filled.finished)
        found.append([filled for filled in mine if filled.same_settings(latest)])
    return found


def longest(cell: Cell, finished: Iterable[Filled]) -> Filled | None:
    """The first seed of a cell at the largest share of the time that is finished."""
    found = by_share(cell, finished)
    return found[0][0] if found else None


def render_table(experiment: Experiment, finished: Mapping[str, Filled]) -> str:
    """A section per data set; a row per system with what was measured and what the paper says."""
    lines = [f"## {experiment.title}", ""]
    datasets = list(dict.fromkeys(entry.cell.dataset for entry in experiment.entries))
    for dataset in datasets:
        entries = [entry for entry in experiment.entries if entry.cell.dataset == dataset]
        if not any(by_share(entry.cell, finished.values()) for entry in entries):
            lines += [f"### {dataset}", "", "Declared, and not run yet.", ""]
            continue
        lines += [*_heading(dataset, entries[0].cell.seconds), *_rows(entries, finished), ""]
    return "\n".join(lines)


def _heading(dataset: str, seconds: float) -> list[str]:
    title = f"### {dataset}, {seconds:,.0f} s of training at full time"
    if dataset in STAND_INS:
        title += f" (stands in for {STAND_INS[dataset]}'s scale; not to be compared with the paper)"
    head = " | ".join(f"{name} | paper" for name in METRICS.values())
    return [title, "", f"| | | {head} | time | seeds |", "|---|---|" + "---|" * 8]


def _rows(entries: Sequence[Entry], finished: Mapping[str, Filled]) -> list[str]:
    """The rows of all systems; one that was trained for several times has one for each."""
    return [
        _row(entry, found)
        for entry in entries
        for found in by_share(entry.cell, finished.values()) or [[]]
    ]


def _row(entry: Entry, found: Sequence[Filled]) -> str:
    cells = []
    for key in METRICS:
        ours = f"{mean(cell.metrics[key] for cell in found):.3f}" if found else ""
        paper = ""
        if entry.paper is not None:
            paper = f"{getattr(entry.paper, PAPER_KEYS[key]):.3f}"
            ours = f"**{ours}**" if ours >= paper else ours
            paper += "*" if entry.paper_is_full else ""
        cells += [ours, paper]
    return (
        f"| {entry.group} | {entry.row}{_marks(found)} | {' | '.join(cells)} | {_time(found)} | "
        f"{len(found) or ''} |"
    )


def _marks(found: Sequence[Filled]) -> str:
    """What a system has that no figure beside it shows."""
    if not found:
        return ""
    settings = found[0].settings
    marks = "†" if settings.get("heights") else ""
    marks += "" if settings.get("loops", True) else "‡"
    marks += "§" if settings.get("strategy") == "hale" and not settings.get("square", True) else ""
    return f" {marks}" if marks else ""


def _time(found: Sequence[Filled]) -> str:
    """How long the cells were trained, by how many threads; reduced time is said."""
    if not found:
        return "not run"
    seconds = mean(cell.training["seconds"] for cell in found)
    share = found[0].scale
    threads = " or ".join(sorted({f"{cell.training['threads']}" for cell in found}))
    reduced = "" if share >= 1 else f" (x {share:g})"
    return f"{seconds:,.0f} s{reduced}, {threads} thread{'' if threads == '1' else 's'}"


def render_page(
    experiments: Iterable[Experiment],
    finished: Mapping[str, Filled],
    figures: Mapping[str, str],
    recipe: str = "auto",
) -> str:
    """The whole page; ``figures`` maps experiments to the pictures that were drawn."""
    lines = [
        "# The paper, reproduced" + ("" if recipe == "auto" else f" (recipe: {recipe})"),
        "",
        "Written by `hale reproduce --render` from the files in `cells/`: no number of ours "
        "stands here that no file backs. MRR, Hits@10 and Hits@1 are of the test split, filtered, "
        "in both directions, of the state kept by validation triples; several seeds are "
        "averaged. The paper's figures (Wang et al., WWW 2022) come from a GTX 1070; those with "
        "a star from models that their authors trained without a limit of time, of more than "
        "256 dimensions in Table 4. A share beside the time (x 0.1) says that a system had only "
        "that part of the paper's time; compare systems of the same share, which is why some stand "
        "here more than once. Systems of one thread may have been trained side by side. "
        "Bold figures reach the paper's. Where a system has a dagger (†), its entities have a "
        "height beside their d numbers; where it has a double one (‡), an entity comes last among "
        "the answers to a query about itself, for relations of which (almost) no training fact "
        "joins an entity to itself (see docs/models.md); where it has a paragraph sign (§), "
        "alignment is not squared (nor is it in HaLE's curves on WN18RR).",
        "",
    ]
    machines = {
        f"{cell.machine['cpu']}, {cell.machine['cores']} cores, torch {cell.machine['torch']}"
        for cell in finished.values()
    }
    lines += [f"Machines: {'; '.join(sorted(machines)) or 'none yet'}.", ""]
    for experiment in experiments:
        if experiment.kind == "table":
            lines.append(render_table(experiment, finished))
        elif experiment.name in figures:
            lines += [
                f"## {experiment.title}",
                "",
                f"![{experiment.title}]({figures[experiment.name]})",
                "",
            ]
    return "\n".join(lines)

"""Run search: the trials of a row's search, and what they find written down."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from filelock import FileLock

from hale.data.files import make_folder, write_text
from hale.lab.bench.machine import machine
from hale.lab.paper.cells import load_quietly
from hale.lab.paper.commit import commit_of_code
from hale.lab.paper.searches import SAMPLE, SEARCHED, THREADS, TRIALS, Search
from hale.settings.recipes import read_recipe
from hale.training.tune.search import Tuned, tune


def run_search(
    search: Search,
    *,
    work: Path,
    home: Path | None = None,
    announce: Callable[[str], None] | None = None,
) -> Tuned:
    """Search, or go on with it, and write what was found into its file.

    That of the row with all parts goes before that of a row that lacks one.
    """
    if search.whole is not None and not search.whole.is_done(home):
        run_search(search.whole, work=work, home=home, announce=announce)
    graph = load_quietly(search.dataset)
    held: dict[str, Any] = dict(search.held)
    found = tune(
        graph,
        out=work / "searches" / search.key,
        budget=math.inf,
        trials=TRIALS,
        trial_seconds=search.trial,
        model=search.model,
        strategy=search.strategy,
        begin=search.begin(home),
        only=search.moves,
        announce=announce,
        recipe="none" if search.recipe == SEARCHED else search.recipe,
        dim=search.dim,
        threads=THREADS,
        validation_sample=SAMPLE,
        **held,
    )
    path = search.file(home)
    make_folder(path.parent)
    with FileLock(path.with_name(f".{path.name}.lock")):  # searches beside write it too
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        write_text(path, with_table(text, search.table, _lines(search, found, home)))
    read_recipe.cache_clear()
    return found


def _lines(search: Search, found: Tuned, home: Path | None) -> list[str]:
    start = "" if found.start is None else f", {found.start:.4f} where it began"
    how = (
        f"hale reproduce --tune ({search.key}): best of {found.trials} trials of "
        f"{search.trial:g} s ({found.pruned} given up), validation MRR {found.mrr:.4f}{start}"
    )
    told: dict[str, object] = {
        "found": how,
        "epochs": round(found.epochs, 2),
        "machine": machine()["cpu"],
        "commit": commit_of_code(),
        **search.conditions(home),
    }
    if found.cpu_share is not None:
        told["cpu_share"] = round(found.cpu_share, 3)
    told |= {name: one for name, one in found.values.items() if name not in dict(search.held)}
    return [
        f"{name} = {f'{value:.4g}' if isinstance(value, float) else json.dumps(value)}"
        for name, value in told.items()
    ]


def with_table(text: str, name: str, lines: list[str]) -> str:
    """The text of a file with one table put in, or in place of the one of that name."""
    kept, inside = [], False
    for line in text.rstrip("\n").split("\n"):
        if line.startswith("["):
            inside = line.strip() == f"[{name}]"
        if not inside:
            kept.append(line)
    while kept and not kept[-1]:
        kept.pop()
    return "\n".join([*kept, *([""] if kept else []), f"[{name}]", *lines, ""])

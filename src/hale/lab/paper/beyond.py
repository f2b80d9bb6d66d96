"""Beyond the paper: tables of what `hale train` does with its recipes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hale.lab.paper.cells import Cell, Same
from hale.lab.paper.declaration import Entry, Experiment, cell
from hale.lab.paper.published import TITLES

GROUPS = {"hale": "HaLE", "allneg": "AllNeg"}
Changes = dict[str, tuple[str, dict[str, Any]]]  # by row: what the cell is called, and has


def improvements() -> Experiment:
    """What goes beyond the paper, each put in or taken out alone of `hale train`'s recipe."""
    changes: Changes = {
        "as tuned": ("", {}),
        "constant learning rate": ("no-decay", {"decay": 0.0}),
        "known answers kept in the sums": ("known", {"leave_out_known": False}),
        "sums over all entities": ("all", {"block": "all"}),
        "an entity may answer for itself": ("loops", {"loops": True}),
    }
    own: dict[str, Changes] = {
        "wn18rr": {
            "alignment squared": ("square", {"square": True}),
            "without heights": ("no-heights", {"heights": False}),
            "without the network": ("no-residual", {"residual": 0}),
            "without dropout": ("no-dropout", {"dropout": 0.0}),
            "dropout from the start": ("dropout-start", {"dropout_start": Same("dropout")}),
            "beta 3": ("beta-3", {"beta": 3.0}),
            "relations start anywhere": ("anywhere", {"near": 0.0}),
            "one bound for all relations": ("one-bound", {"gamma_two_way": Same("gamma")}),
        },
        "fb15k-237": {
            "heights": ("heights", {"heights": True}),
            "relations start near": ("near", {"near": 0.5}),
            "alignment not squared": ("no-square", {"square": False}),
            "without the network": ("no-residual", {"residual": 0}),
            "without dropout": ("no-dropout", {"dropout": 0.0}),
            "gamma 10 for relations that run both ways": ("two-way", {"gamma_two_way": 10.0}),
        },
    }

    def changed(dataset: str, variant: str, values: Mapping[str, Any]) -> Cell:
        return cell(dataset, "hale", "rotl", dim=32, variant=variant, recipe="auto", **values)

    entries = [
        Entry("RotL", row, changed(dataset, variant, values))
        for dataset, others in own.items()
        for row, (variant, values) in {**changes, **others}.items()
    ]
    title = "Beyond the paper: one change at a time, HaLE-RotL at d = 32"
    return Experiment("improvements", title, "table", tuple(entries), judged="validation")


def best() -> Experiment:
    """The targets: what `hale train` does with its recipes, some of them found by hand."""
    chosen: tuple[tuple[str, str, str, int, float | None], ...] = (
        ("wn18rr", "hale", "rotl", 32, None),
        ("wn18rr", "hale", "rotl", 32, 60.0),
        *(
            (dataset, "hale", model, 32, None)
            for dataset, models in (("fb15k-237", ("rotl", "affine")), ("codex-m", ("rotl",)))
            for model in models
        ),
        *(
            (dataset, strategy, model, 256, None)
            for dataset in ("codex-s", "codex-m")
            for strategy, model in (("allneg", "complex"), ("hale", "rote"))
        ),
    )
    entries = []
    for dataset, strategy, model, dim, seconds in chosen:
        variant = "" if seconds is None else f"{seconds:g}s"
        made = cell(
            dataset, strategy, model, dim=dim, variant=variant, seconds=seconds, recipe="auto"
        )
        row = f"{TITLES[model]}, d = {dim}, {made.seconds:,.0f} s"
        entries.append(Entry(GROUPS[strategy], row, made))
    title = "With all that is known: the recipes of `hale train`"
    return Experiment("best", title, "table", tuple(entries), judged="alone")

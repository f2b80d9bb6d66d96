"""hale train --plan: what a run will take, told before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hale.cli.app import out, print_json
from hale.cli.tables import listing

if TYPE_CHECKING:
    from hale.data.graph import Graph

SHOWN = ("model", "dim", "strategy", "batch_size", "queries", "block", "learning_rate", "gamma")


def show_plan(graph: Graph, given: dict[str, Any], *, as_json: bool) -> None:
    """Time a few steps on a graph, and print epochs, time and memory."""
    from hale.training.forecast import forecast

    found = forecast(graph, given)
    settings = found.settings.model_dump(mode="json")
    if as_json:
        print_json(
            {
                "graph": graph.name,
                "step_ms": 1e3 * found.step_seconds,
                "steps_per_epoch": found.steps_per_epoch,
                "epoch_seconds": found.epoch_seconds,
                "epochs": found.epochs if found.epochs < float("inf") else None,
                "seconds": found.seconds if found.epochs < float("inf") else None,
                "validation_seconds": found.validation_seconds,
                "memory_mb": found.memory_mb,
                "enough_seconds": found.enough_seconds,
                "short": found.short,
                "settings": settings,
            }
        )
        return
    known = found.epochs < float("inf")
    rows = [
        ("settings", ", ".join(f"{name} {settings[name]}" for name in SHOWN)),
        ("a step", f"{1e3 * found.step_seconds:.2f} ms"),
        ("an epoch", f"{found.steps_per_epoch:,} steps, {found.epoch_seconds:.1f} s"),
        ("epochs", f"{found.epochs:.1f}" if known else "until patience ends them"),
        ("training", f"{found.seconds:.0f} s" if known else "as long as patience lasts"),
    ]
    if found.validation_seconds is not None:
        rows.append(("validation", f"at most {found.validation_seconds:.0f} s"))
    rows.append(("memory", f"{found.memory_mb:,.0f} MB held now"))
    out.print(listing(("", ""), rows, title=f"{graph.name}, as planned"))
    if found.short:
        out.print(found.short)

"""hale models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hale.cli.app import out, print_json, reporting
from hale.cli.options import Json
from hale.errors import SettingsError

if TYPE_CHECKING:
    from hale.data.graph import GraphSize
    from hale.models import Model

MOST = 1 << 31  # entities, and relations


@reporting
def models(
    entities: Annotated[
        int, typer.Option("--entities", "-n", help="Number of entities (N).", min=1, max=MOST)
    ] = 40_943,
    relations: Annotated[
        int, typer.Option("--relations", "-r", help="Number of relations (R).", min=1, max=MOST)
    ] = 11,
    dim: Annotated[
        int, typer.Option("--dim", "-d", help="Size of an entity vector.", min=1, max=1 << 16)
    ] = 32,
    as_json: Json = False,
) -> None:
    """List the models: query vector, similarity, parameters at N, R and d, strategies."""
    from hale.cli.tables import listing
    from hale.data.graph import GraphSize
    from hale.models import MODELS
    from hale.objectives import OBJECTIVES
    from hale.runs.systems import strategies_for

    size = GraphSize(entities, relations)
    rows = [
        {
            "name": model.name,
            "query": model.formula,
            "similarities": list(model.similarities),
            "parameters": _parameters(model, size, dim),
            "cost": model.cost,
            "strategies": strategies_for(model),
            "source": model.source,
        }
        for model in MODELS.values()
    ]
    if as_json:
        print_json({"entities": entities, "relations": relations, "dim": dim, "models": rows})
        return
    lines = []
    for row, model in zip(rows, MODELS.values(), strict=True):
        without = [name for name in OBJECTIVES if name not in strategies_for(model)]
        lines.append(
            (
                model.name,
                model.formula,
                ", ".join(model.similarities),
                "-" if row["parameters"] is None else f"{row['parameters']:,}",
                model.cost,
                f"all but {', '.join(without)}" if without else "all",
            )
        )
    columns = ("name", "query vector", "similarity", "parameters", "cost", "strategies")
    title = f"N = {entities:,}, R = {relations:,}, d = {dim}"
    out.print(listing(columns, lines, right=["parameters"], title=title))
    out.print(
        "The similarity that stands first is the model's own; --similarity asks for another. "
        "Cost: multiplications for a query vector; its comparison with all entities adds N d."
    )


def _parameters(model: type[Model], size: GraphSize, dim: int) -> int | None:
    """Trainable numbers; None where a model does not take that size."""
    from hale.runs.systems import count_parameters

    try:
        return count_parameters(model, size, dim)
    except (SettingsError, RuntimeError):  # RuntimeError: more numbers than torch can count
        return None

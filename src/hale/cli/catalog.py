"""hale models and hale strategies: what there is to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from hale.cli.common import Json, app, out, print_json, reporting
from hale.errors import SettingsError

if TYPE_CHECKING:
    from hale.data.graph import GraphSize
    from hale.models import Model


@app.command()
@reporting
def models(
    entities: Annotated[
        int, typer.Option("--entities", "-n", help="Number of entities (N).", min=1)
    ] = 40_943,
    relations: Annotated[
        int, typer.Option("--relations", "-r", help="Number of relations (R).", min=1)
    ] = 11,
    dim: Annotated[int, typer.Option("--dim", "-d", help="Size of an entity vector.", min=1)] = 32,
    as_json: Json = False,
) -> None:
    """List the models: query vector, similarity, parameters at N, R and d, strategies."""
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
    table = Table(
        box=None, header_style="bold", title=f"N = {entities:,}, R = {relations:,}, d = {dim}"
    )
    for name in ("name", "query vector", "similarity", "parameters", "cost", "strategies"):
        table.add_column(name, justify="right" if name == "parameters" else "left")
    for row, model in zip(rows, MODELS.values(), strict=True):
        without = [name for name in OBJECTIVES if name not in strategies_for(model)]
        table.add_row(
            model.name,
            model.formula,
            ", ".join(model.similarities),
            "-" if row["parameters"] is None else f"{row['parameters']:,}",
            model.cost,
            f"all but {', '.join(without)}" if without else "all",
        )
    out.print(table)
    out.print(
        "The similarity that stands first is the model's own; --similarity asks for another. "
        "Cost: multiplications for a query vector; its comparison with all entities adds N d."
    )


def _parameters(model: type[Model], size: GraphSize, dim: int) -> int | None:
    """Trainable numbers; None where a model does not take that dimension."""
    from hale.runs.systems import count_parameters

    try:
        return count_parameters(model, size, dim)
    except SettingsError:
        return None


@app.command()
@reporting
def strategies(as_json: Json = False) -> None:
    """List the training strategies: their losses and the models they go with."""
    from hale.models import MODELS
    from hale.objectives import OBJECTIVES
    from hale.runs.systems import common

    rows = [
        {
            "name": strategy.name,
            "loss": strategy.formula,
            "similarities": list(strategy.similarities),
            "models": [name for name, model in MODELS.items() if common(model, strategy)],
            "source": strategy.source,
        }
        for strategy in OBJECTIVES.values()
    ]
    if as_json:
        print_json({"strategies": rows})
        return
    table = Table(box=None, header_style="bold")
    for name in ("name", "loss", "models"):
        table.add_column(name)
    for row in rows:
        every = len(row["models"]) == len(MODELS)
        table.add_row(
            str(row["name"]), str(row["loss"]), "all" if every else ", ".join(row["models"])
        )
    out.print(table)
    out.print("f is a score, d a distance, p a positive, n a negative, s the logistic function.")

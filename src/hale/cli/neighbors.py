"""hale neighbors."""

from __future__ import annotations

from typing import Annotated

import typer

from hale.cli.app import out, print_json, reporting
from hale.cli.asking import asking_ranks
from hale.cli.completion import complete_entity
from hale.cli.options import Device, Json, OfType, Ranks, RunPath, TypeRelation, Within


@reporting
def neighbors(
    run: RunPath,
    entity: Annotated[
        str,
        typer.Argument(
            help="An entity's id or label.", metavar="ENTITY", autocompletion=complete_entity
        ),
    ],
    k: Annotated[int, typer.Option("-k", help="Number of neighbours.")] = 10,
    metric: Annotated[str, typer.Option("--metric", help="l2 or cosine.")] = "l2",
    of_type: OfType = None,
    type_relation: TypeRelation = None,
    within: Within = None,
    device: Device = "auto",
    ranks: Ranks = None,
    as_json: Json = False,
) -> None:
    """List the entities whose vectors are nearest to one."""
    from hale.answers.neighborhood import neighbors as nearest
    from hale.cli.tables import neighbors_table
    from hale.runs.run import load_run

    with asking_ranks(ranks, run, device) as group:
        loaded = load_run(run, device=device, group=group)
        found = nearest(
            loaded,
            entity,
            k=k,
            metric=metric,  # type: ignore[arg-type]
            types=of_type or None,
            type_relation=type_relation,
            within=within,
        )
    name = loaded.graph.entities[loaded.graph.entity_id(entity)]
    if as_json:
        rows = [neighbor.as_dict() for neighbor in found]
        print_json({"run": str(run), "entity": name, "metric": metric, "neighbors": rows})
        return
    label = loaded.graph.label(name)
    title = f"{name} ({label})" if label else name
    out.print(neighbors_table(found, f"{title}, nearest by {metric} distance"))

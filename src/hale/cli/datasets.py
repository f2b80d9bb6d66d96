"""hale datasets."""

from __future__ import annotations

from typing import Annotated

import typer

from hale.cli.app import load_graph, out, print_json, reporting
from hale.cli.options import Json


@reporting
def datasets(
    fetch: Annotated[
        str | None, typer.Option("--fetch", help="Download this data set now.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the named data sets, their sizes and where they are."""
    from hale.cli.tables import listing
    from hale.data.datasets import CATALOG, locate
    from hale.errors import UnknownNameError

    if fetch is not None:
        if fetch not in CATALOG:
            raise UnknownNameError("data set", fetch, CATALOG)
        load_graph(fetch)
    rows = []
    for dataset in CATALOG.values():
        place = locate(dataset.name)
        rows.append(
            {
                "name": dataset.name,
                "about": dataset.about,
                "entities": dataset.num_entities,
                "relations": dataset.num_relations,
                **dict(zip(("train", "valid", "test"), dataset.counts, strict=True)),
                "licence": dataset.licence,
                "present": place is not None,
                "where": place.source if place else "download",
            }
        )
    if as_json:
        print_json({"datasets": rows})
        return
    counts = ("entities", "relations", "train", "valid", "test")
    lines = [
        (
            str(row["name"]),
            *(f"{row[key]:,}" for key in counts),
            str(row["where"]),
            str(row["about"]),
        )
        for row in rows
    ]
    out.print(listing(["name", *counts, "where", "about"], lines, right=counts))

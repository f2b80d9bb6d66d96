"""hale recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hale.cli.app import out, print_json, reporting
from hale.cli.options import Json


@reporting
def recipe(
    file: Annotated[
        str,
        typer.Argument(
            help="A file that 'hale tune' wrote, a data set that has a recipe, or paper.",
            metavar="FILE",
        ),
    ],
    as_json: Json = False,
) -> None:
    """Show a recipe and check it: what `hale train --recipe FILE` would take from it."""
    from hale.cli.tables import settings_table
    from hale.settings.recipes import named_recipe

    path, content = named_recipe(file)
    tables = _checked(path, content)
    graph = {name: content[name] for name in ("entities", "train", "dim") if name in content}
    if as_json:
        print_json({"recipe": str(path), **graph, "settings": tables})
        return
    if "entities" in graph:
        at = f", at dim {graph['dim']}" if "dim" in graph else ""
        out.print(
            f"found on a graph of {graph['entities']:,} entities and {graph['train']:,} training "
            f"facts{at}"
        )
    for name, values in tables.items():
        out.print(settings_table(values, name))


def _checked(path: Path, content: Any) -> dict[str, dict[str, Any]]:
    """The tables by strategy and model, if a run can be made from each; else all faults at once."""
    from hale.errors import HaleError, InputError
    from hale.models import MODELS
    from hale.runs.systems import complete, strategies_for
    from hale.settings.recipes import NO_SETTINGS
    from hale.settings.recipes.from_file import ANY, systems_in
    from hale.training.start import check

    tables: dict[str, dict[str, Any]] = {}
    faults: list[str] = []
    for strategy, model in systems_in(content):
        table = content[strategy][model]
        tables[f"{strategy} with {model}"] = table
        named = {"recipe": "none", "strategy": strategy, "model": model}
        if model == ANY:  # what all have is judged with the first that the strategy takes
            named["model"] = next(
                (name for name, kind in MODELS.items() if strategy in strategies_for(kind)), ANY
            )
        nested = [part for part in table.values() if isinstance(part, dict)]  # for long runs, kinds
        for values in (table, *(table | part for part in nested)):
            own = {
                name: value
                for name, value in values.items()
                if name not in NO_SETTINGS and not isinstance(value, dict)
            }
            try:
                check(complete(**{**own, **named}))
            except HaleError as error:
                fault = f"[{strategy}.{model}]: {error}"
                faults += [] if fault in faults else [fault]
    if faults:
        raise InputError(f"{path} cannot be used:\n" + "\n".join(faults))
    return tables

"""hale tune."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hale.cli.app import err, load_graph, out, print_json, reporting
from hale.cli.options import Json


@reporting
def tune(
    graph: Annotated[
        str, typer.Argument(help="A data set's name, a folder or a file.", metavar="GRAPH")
    ],
    model: Annotated[str, typer.Option("--model", help="The model.")] = "rotl",
    strategy: Annotated[
        str | None, typer.Option("--strategy", help="The strategy; the model's own if not given.")
    ] = None,
    dim: Annotated[int, typer.Option("--dim", "-d", help="Size of an entity vector.")] = 32,
    budget: Annotated[str, typer.Option("--budget", help="Time of the whole search.")] = "30m",
    trial: Annotated[str, typer.Option("--trial", help="Training time of one trial.")] = "60s",
    folder: Annotated[
        Path | None, typer.Option("--out", help="Folder of the search. [runs/tune-GRAPH-MODEL-DIM]")
    ] = None,
    threads: Annotated[int | None, typer.Option("--threads", help="CPU threads.", min=1)] = None,
    as_json: Json = False,
) -> None:
    """Search for settings on validation triples, and write the best as a recipe.

    The same command goes on with a search that was broken off. Use what was found with
    `hale train GRAPH` and the options it prints.
    """
    from hale.settings import parse_duration
    from hale.training.tuner import recipe_text, write_recipe
    from hale.training.tuner import tune as search

    try:
        seconds, each = parse_duration(budget), parse_duration(trial)
    except ValueError as error:
        from hale.errors import InputError

        raise InputError(f"{error}.") from None
    triples = load_graph(graph)
    place = folder or Path("runs") / f"tune-{triples.name}-{model}-{dim}"
    found = search(
        triples,
        out=place,
        budget=seconds,
        trial_seconds=each,
        model=model,
        strategy=strategy,
        dim=dim,
        threads=threads,
        announce=err.print,
    )
    how = (
        f"hale tune {triples.name} --model {model} --strategy {found.strategy} --dim {dim} "
        f"--trial {each:g}s: best of "
        f"{found.trials} trials ({found.pruned} given up) in {found.seconds / 60:.0f} min, "
        f"validation MRR {found.mrr:.4f}"
    )
    if found.start is not None:
        how += f", {found.start:.4f} without a search"
    target = place / "recipe.toml"
    write_recipe(target, recipe_text(triples, model, found, how))
    if as_json:
        print_json({"mrr": found.mrr, "values": dict(found.values), "recipe": str(target)})
        return
    out.print(f"best validation MRR {found.mrr:.4f} of {found.trials} trials; recipe: {target}")
    flags = " ".join(_flag(name, value) for name, value in found.values.items())
    out.print(
        f"hale train {graph} --recipe none --model {model} --strategy {found.strategy} "
        f"--dim {dim} {flags}"
    )


def _flag(name: str, value: object) -> str:
    """A setting as an option of hale train."""
    if name == "leave_out_known":
        return "--leave-out-known" if value else "--keep-known"
    option = "lambda" if name == "weight" else name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{option}" if value else f"--no-{option}"
    return f"--{option} " + (f"{value:.4g}" if isinstance(value, float) else str(value))

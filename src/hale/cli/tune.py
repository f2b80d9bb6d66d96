"""hale tune."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from hale.cli.app import err, load_graph, out, print_json, reporting
from hale.cli.options import Json, as_flag, settings_options
from hale.errors import InputError
from hale.settings import Settings

# What ends and judges a trial is the search's own.
NOT_HELD = ("budget", "epochs", "patience", "validate_every")
# Trials have no teachers: their answers would be computed for each anew.
TAUGHT = tuple(name for name in Settings.model_fields if name.startswith(("teacher", "distil")))


@reporting
@settings_options(*(name for name in Settings.model_fields if name not in (*NOT_HELD, *TAUGHT)))
def tune(
    graph: Annotated[
        str, typer.Argument(help="A data set's name, a folder or a file.", metavar="GRAPH")
    ],
    *,
    budget: Annotated[str, typer.Option("--budget", help="Time of the whole search.")] = "30m",
    trial: Annotated[str, typer.Option("--trial", help="Training time of one trial.")] = "60s",
    trials: Annotated[
        int | None,
        typer.Option("--trials", min=1, help="Number of trials, whatever they take. [by --budget]"),
    ] = None,
    searched: Annotated[
        str,
        typer.Option(
            "--search",
            help="What to search: settings, or activation, the shape of the one that --activation "
            "names (sigmoid, spline; hanon for its own slope).",
        ),
    ] = "settings",
    folder: Annotated[
        Path | None, typer.Option("--out", help="Folder of the search. [runs/tune-GRAPH-MODEL-DIM]")
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out lines that are no triples.")
    ] = False,
    as_json: Json = False,
    **given: Any,
) -> None:
    """Search for settings on validation triples, and write the best as a recipe.

    A setting that is given stays as it is in all trials; the others are searched, or completed
    as hale train would. The same command goes on with a search that was broken off. Use what was
    found with `hale train GRAPH --recipe FILE`.
    """
    from hale.data.files import check_writable
    from hale.settings import parse_duration
    from hale.training.tune.recipe_file import recipe_text, write_recipe
    from hale.training.tune.search import tune as search

    try:
        seconds, each = parse_duration(budget), parse_duration(trial)
    except ValueError as error:
        raise InputError(f"{error}.") from None
    check_writable((folder or Path("runs") / "tune") / "recipe.toml")
    triples = load_graph(graph, skip_bad=skip_bad)
    model = given.pop("model", Settings.model_fields["model"].default)
    dim = given.pop("dim", Settings.model_fields["dim"].default)
    strategy = given.pop("strategy", None)
    place = folder or Path("runs") / f"tune-{triples.name}-{model}-{dim}"
    found = search(
        triples,
        out=place,
        budget=seconds if trials is None else math.inf,
        trials=trials,
        trial_seconds=each,
        model=model,
        strategy=strategy,
        dim=dim,
        search=searched,  # type: ignore[arg-type]
        announce=err.print,
        **given,
    )
    chosen = f"--model {model} --strategy {found.strategy} --dim {dim}"
    chosen += "" if searched == "settings" else f" --search {searched}"
    held = "".join(f" {as_flag(name, value)}" for name, value in given.items())
    how = (
        f"hale tune {triples.name} {chosen}{held} --trial {each:g}s: best of "
        f"{found.trials} trials ({found.pruned} given up) in {found.seconds / 60:.0f} min, "
        f"validation MRR {found.mrr:.4f}"
    )
    if found.start is not None:
        how += f", {found.start:.4f} without a search"
    target = place / "recipe.toml"
    write_recipe(target, recipe_text(triples, model, found, how, dim))
    if searched == "activation":
        _draw(found.values, place / "activation.svg")
    if as_json:
        print_json({"mrr": found.mrr, "values": dict(found.values), "recipe": str(target)})
        return
    out.print(f"best validation MRR {found.mrr:.4f} of {found.trials} trials; recipe: {target}")
    rest = {n: v for n, v in given.items() if n != "recipe" and n not in found.values}
    flags = "".join(f" {as_flag(name, value)}" for name, value in rest.items())
    out.print(f"hale train {graph} --recipe {target}{flags}")


def _draw(values: Any, target: Path) -> None:
    """The curve of an activation that was found, beside those of the paper's Figure 2."""
    from hale.engine.activations import make_activation
    from hale.errors import MissingExtraError
    from hale.lab.paper.figures import draw_functions

    made = make_activation(
        values.get("activation", "hanon"),
        beta=values.get("beta", 1.0),
        gamma=values["gamma"],
        shape=values.get("shape", ()),
    )
    try:
        draw_functions(target, {f"{made.name}, found": made})
        err.print(f"drawn: {target}")
    except MissingExtraError as error:
        err.print(f"not drawn: {error}")

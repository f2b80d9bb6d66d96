"""The command line: argument -> settings -> call; nothing is decided here.

Torch is imported inside the commands, so that help and errors come at once.
"""

from __future__ import annotations

import functools
import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeVar

import typer
from rich.console import Console

from hale.errors import HaleError, HaleWarning, InputError, RunError
from hale.settings import DEFAULT_BUDGET_SECONDS, DEFAULT_QUERIES, Settings
from hale.version import VERSION

if TYPE_CHECKING:
    from hale.graph import Graph

app = typer.Typer(
    name="hale",
    help="Knowledge-graph embeddings in minutes, and the answers they give.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
# Names are data: no markup, no emoji codes.
out = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
err = Console(stderr=True, highlight=False, soft_wrap=True, markup=False, emoji=False)

P = ParamSpec("P")
R = TypeVar("R")

INTERRUPTED = 130


def reporting(command: Callable[P, R]) -> Callable[P, R]:
    """Turn hale's errors into one message and an exit status."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except HaleError as error:
            err.print(f"error: {error}", style="red")
            raise typer.Exit(error.exit_status) from None
        except KeyboardInterrupt:
            err.print("interrupted")
            raise typer.Exit(INTERRUPTED) from None

    return wrapped


def setting(name: str, *flags: str) -> Any:
    """An option for a setting: its description and default stand with the setting."""
    field = Settings.model_fields[name]
    default = DERIVED_DEFAULTS.get(name, field.default)
    return _option(f"{field.description}", default, *flags)


def _option(text: str, default: object, *flags: str) -> Any:
    """An option that is None unless given; its default is told in the help."""
    return typer.Option(*flags, help=f"{text} [default: {default}]", show_default=False)


# Defaults that depend on other settings.
DERIVED_DEFAULTS = {
    "budget": f"{DEFAULT_BUDGET_SECONDS:.0f}s, without another limit",
    "epochs": "no limit",
    "patience": "no limit",
    "alpha": "by --queries",
    "queries": DEFAULT_QUERIES,
    "validate_every": "a tenth of the run; 5 epochs under patience alone",
    "threads": "as PyTorch chooses",
}

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout, progress on stderr.")
]
Device = Annotated[str, typer.Option("--device", help="auto, cpu, cuda or mps.")]
RunPath = Annotated[Path, typer.Argument(help="Folder of a run.", metavar="RUN")]


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Knowledge-graph embeddings in minutes, and the answers they give."""
    if show:
        out.print(f"hale {VERSION}")
        raise typer.Exit


@app.command()
@reporting
def train(
    graph: Annotated[
        str | None,
        typer.Argument(
            help="A data set's name, a folder with train/valid/test, or a file of triples.",
            metavar="GRAPH",
        ),
    ] = None,
    *,
    model: Annotated[str | None, setting("model", "--model")] = None,
    dim: Annotated[int | None, setting("dim", "--dim", "-d")] = None,
    budget: Annotated[str | None, setting("budget", "--budget")] = None,
    epochs: Annotated[int | None, setting("epochs", "--epochs")] = None,
    patience: Annotated[int | None, setting("patience", "--patience")] = None,
    out_folder: Annotated[
        Path | None,
        _option("Folder for the run.", "runs/GRAPH-MODEL-DIM", "--out"),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in --out; GRAPH may be left out.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the run in --out.")
    ] = False,
    strategy: Annotated[str | None, setting("strategy", "--strategy")] = None,
    activation: Annotated[str | None, setting("activation", "--activation")] = None,
    beta: Annotated[float | None, setting("beta", "--beta")] = None,
    gamma: Annotated[float | None, setting("gamma", "--gamma")] = None,
    weight: Annotated[float | None, setting("weight", "--lambda")] = None,
    alpha: Annotated[float | None, setting("alpha", "--alpha")] = None,
    queries: Annotated[int | None, setting("queries", "--queries")] = None,
    square: Annotated[bool | None, setting("square", "--square/--no-square")] = None,
    relation_scale: Annotated[
        bool | None, setting("relation_scale", "--relation-scale/--no-relation-scale")
    ] = None,
    leave_out_known: Annotated[
        bool | None, setting("leave_out_known", "--leave-out-known/--keep-known")
    ] = None,
    optimizer: Annotated[str | None, setting("optimizer", "--optimizer")] = None,
    learning_rate: Annotated[
        float | None, setting("learning_rate", "--learning-rate", "--lr")
    ] = None,
    decay: Annotated[float | None, setting("decay", "--decay")] = None,
    batch_size: Annotated[int | None, setting("batch_size", "--batch-size")] = None,
    init_scale: Annotated[float | None, setting("init_scale", "--init-scale")] = None,
    validate_every: Annotated[str | None, setting("validate_every", "--validate-every")] = None,
    validation_sample: Annotated[
        int | None, setting("validation_sample", "--validation-sample")
    ] = None,
    seed: Annotated[int | None, setting("seed", "--seed")] = None,
    threads: Annotated[int | None, setting("threads", "--threads")] = None,
    device: Annotated[str | None, setting("device", "--device")] = None,
    columns: Annotated[
        str | None,
        _option("Order of a file's columns.", "hrt", "--columns"),
    ] = None,
    header: Annotated[
        bool | None,
        _option("Whether files have a header line.", "recognised", "--header/--no-header"),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option("--labels", help="Tab-separated file: id, readable name.")
    ] = None,
    holdout: Annotated[
        float,
        typer.Option("--holdout", help="Share of a single file for each of valid and test."),
    ] = 0.05,
    split_seed: Annotated[
        int, typer.Option("--split-seed", help="Seed of the split of a single file.", min=0)
    ] = 0,
    as_json: Json = False,
) -> None:
    """Train a model on GRAPH and evaluate it on the test split.

    Symbols in brackets are those of the paper (Wang et al., WWW 2022).
    """
    given = {name: value for name, value in locals().items() if name in Settings.model_fields}
    given = {name: value for name, value in given.items() if value is not None}
    if graph is None and not resume:
        raise InputError("Name a graph: a data set ('hale datasets' lists them), folder or file.")
    if resume and (out_folder is None or overwrite):
        raise InputError("--resume goes with --out RUN, and not with --overwrite.")

    from hale.display import LiveProgress, metrics_table
    from hale.evaluator import evaluate as evaluate_run
    from hale.settings import make_settings
    from hale.store import free_folder
    from hale.trainer import check
    from hale.trainer import train as train_run

    settings = make_settings()
    if not resume:  # faults are told before anything is read or fetched
        settings = make_settings(**given)
        check(settings)
    triples = None
    if graph is not None:
        triples = _load(
            graph,
            columns=columns,
            header=header,
            labels=labels,
            holdout=holdout,
            seed=split_seed,
        )
    if out_folder is None:
        assert triples is not None
        out_folder = free_folder("runs", f"{triples.name}-{settings.model}-{settings.dim}")
    with LiveProgress(err).live() as progress:
        run = train_run(
            triples,
            out=out_folder,
            resume=resume,
            overwrite=overwrite,
            observer=progress,
            **given,
        )
    summary = run.summary
    err.print(
        f"stopped by {summary.stopped_by} after {summary.seconds:.1f} s of training "
        f"({summary.epochs:.1f} epochs, {summary.steps:,} steps) and "
        f"{summary.validation_seconds:.1f} s of validation"
    )
    if summary.stopped_by == "interrupt":
        err.print(f"saved in {run.path}; go on with: hale train --resume --out {run.path}")
        if as_json:
            _print_json({"run": str(run.path), "training": asdict(summary)})
        raise typer.Exit(INTERRUPTED)
    split = next((name for name in ("test", "valid") if len(run.graph.split(name))), None)
    report: dict[str, Any] = {}
    if split is not None:
        report = evaluate_run(run, split).as_dict()
        run.save_metrics(split, report)
    if as_json:
        best = run.best
        _print_json(
            {
                "run": str(run.path),
                "graph": run.graph.name,
                "notes": list(run.graph.notes),
                **report,
                "training": asdict(summary),
                "best": asdict(best) if best else None,
                "settings": run.settings.model_dump(mode="json"),
            }
        )
        return
    if split is not None:
        directions = {"both directions": report, **report["by_direction"]}
        out.print(metrics_table(directions, f"{run.graph.name}, {split} split, filtered"))
    if run.best is not None and run.best.metrics:
        out.print(
            f"kept: the state of step {summary.kept_step:,}, the best by MRR on "
            f"{summary.validation_sample:,} validation triples ({run.best.metrics['mrr']:.4f})"
        )
    out.print(f"run:  {run.path}")


@app.command()
@reporting
def evaluate(
    run: RunPath,
    split: Annotated[str, typer.Option("--split", help="train, valid or test.")] = "test",
    ties: Annotated[
        str, typer.Option("--ties", help="mean, optimistic or pessimistic rank of ties.")
    ] = "mean",
    by_relation: Annotated[
        bool, typer.Option("--by-relation", help="A row for each relation as well.")
    ] = False,
    device: Device = "auto",
    threads: Annotated[int | None, typer.Option("--threads", help="CPU threads.", min=1)] = None,
    as_json: Json = False,
) -> None:
    """Rank a split of a run's graph: filtered, over all entities, in both directions."""
    from hale.device import use_threads
    from hale.display import metrics_table
    from hale.evaluator import evaluate as evaluate_run
    from hale.run import load_run

    use_threads(threads)
    loaded = load_run(run, device=device)
    report = evaluate_run(loaded, split, ties=ties).as_dict()  # type: ignore[arg-type]
    if as_json:
        _print_json({"run": str(run), **report})
    else:
        rows = {"both directions": report, **report["by_direction"]}
        if by_relation:
            rows |= report["by_relation"]
        out.print(metrics_table(rows, f"{loaded.graph.name}, {split} split, filtered"))
    if ties == "mean":
        try:
            loaded.save_metrics(split, report)
        except RunError as error:  # a shared run that only others may write to
            err.print(f"warning: not kept with the run: {error}", style="yellow")


@app.command()
@reporting
def predict(
    run: RunPath,
    head: Annotated[str | None, typer.Option("--head", help="Ask for tails of this head.")] = None,
    relation: Annotated[str | None, typer.Option("--relation", help="The relation.")] = None,
    tail: Annotated[str | None, typer.Option("--tail", help="Ask for heads of this tail.")] = None,
    k: Annotated[int, typer.Option("-k", help="Number of answers.")] = 10,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Answer a query: the tails of (head, relation), or the heads of (relation, tail)."""
    from hale.display import answers_table
    from hale.predictor import predict as predict_answers
    from hale.run import load_run

    loaded = load_run(run, device=device)
    answers = predict_answers(loaded, head=head, relation=relation, tail=tail, k=k)
    if as_json:
        _print_json({"run": str(run), **answers.as_dict()})
        return
    out.print(answers_table(loaded, answers))


@app.command()
@reporting
def show(
    run: Annotated[Path | None, typer.Argument(help="Folder of a run.", metavar="RUN")] = None,
    engine: Annotated[
        bool, typer.Option("--engine", help="Tell which engine runs here, and why.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw the training curve to this file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a run: its graph, settings, how training went, and its metrics."""
    if engine:
        _show_engine(as_json)
        return
    if run is None:
        raise InputError("Name the folder of a run, or ask for --engine.")
    from hale.display import metrics_table, settings_table
    from hale.plots import plot_training
    from hale.run import load_run

    loaded = load_run(run)
    if plot is not None:
        plot_training(loaded, plot)
        err.print(f"drawn: {plot}")
    settings = loaded.settings.model_dump(mode="json")
    parameters = sum(parameter.numel() for parameter in loaded.model.parameters())
    if as_json:
        _print_json(
            {
                "run": str(run),
                "graph": loaded.graph.name,
                "entities": len(loaded.graph.entities),
                "relations": len(loaded.graph.relations),
                "parameters": parameters,
                "settings": settings,
                "training": asdict(loaded.summary),
                "history": [asdict(record) for record in loaded.history],
                "metrics": loaded.metrics,
            }
        )
        return
    out.print(f"{loaded.graph!r}, {parameters:,} parameters")
    out.print(settings_table(settings, "settings"))
    out.print(settings_table(asdict(loaded.summary), "training"))
    reports = {f"{name} split": report for name, report in loaded.metrics.items()}
    if loaded.best is not None and loaded.best.metrics:
        reports["validation sample"] = dict(loaded.best.metrics)
    if reports:
        out.print(metrics_table(reports, "metrics, filtered, both directions"))


@app.command()
@reporting
def datasets(
    fetch: Annotated[
        str | None, typer.Option("--fetch", help="Download this data set now.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the named data sets, their sizes and where they are."""
    from rich.table import Table

    from hale.datasets import CATALOG, locate
    from hale.errors import UnknownNameError

    if fetch is not None:
        if fetch not in CATALOG:
            raise UnknownNameError("data set", fetch, CATALOG)
        _load(fetch)
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
        _print_json({"datasets": rows})
        return
    table = Table(box=None, header_style="bold")
    for column in ("name", "entities", "relations", "train", "valid", "test", "where", "about"):
        table.add_column(
            column, justify="left" if column in ("name", "where", "about") else "right"
        )
    for row in rows:
        numbers = (f"{row[key]:,}" for key in ("entities", "relations", "train", "valid", "test"))
        table.add_row(str(row["name"]), *numbers, str(row["where"]), str(row["about"]))
    out.print(table)


def _show_engine(as_json: bool) -> None:
    from hale.device import use_threads
    from hale.engine import current

    found = current()
    threads = use_threads(None)
    if as_json:
        _print_json({"engine": found.name, "why": found.why, "threads": threads})
        return
    out.print(f"engine: {found.name} ({found.why}), {threads} threads")


def _load(source: str, **options: Any) -> Graph:
    """Load a graph with download bars; its notes go to stderr."""
    from hale.datasets import load
    from hale.display import download_bars

    with warnings.catch_warnings(), download_bars(err) as announce:
        warnings.simplefilter("ignore", HaleWarning)
        graph = load(source, announce=announce, **options)
    err.print(repr(graph))
    for note in graph.notes:
        err.print(f"warning: {note}", style="yellow")
    return graph


def _print_json(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


def main() -> None:
    """Entry point of the command."""
    app()

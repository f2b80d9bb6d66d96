"""hale train."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from hale.cli.app import INTERRUPTED, err, load_graph, out, print_json, reporting
from hale.cli.options import Json, option, setting
from hale.errors import InputError
from hale.settings import Settings


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
    recipe: Annotated[str | None, setting("recipe", "--recipe")] = None,
    dim: Annotated[int | None, setting("dim", "--dim", "-d")] = None,
    budget: Annotated[str | None, setting("budget", "--budget")] = None,
    epochs: Annotated[int | None, setting("epochs", "--epochs")] = None,
    patience: Annotated[int | None, setting("patience", "--patience")] = None,
    out_folder: Annotated[
        Path | None,
        option("Folder for the run.", "runs/GRAPH-MODEL-DIM", "--out"),
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
    gamma_start: Annotated[float | None, setting("gamma_start", "--gamma-start")] = None,
    gamma_two_way: Annotated[float | None, setting("gamma_two_way", "--gamma-two-way")] = None,
    weight: Annotated[float | None, setting("weight", "--lambda")] = None,
    alpha: Annotated[float | None, setting("alpha", "--alpha")] = None,
    queries: Annotated[int | None, setting("queries", "--queries")] = None,
    query_power: Annotated[float | None, setting("query_power", "--query-power")] = None,
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
    near: Annotated[float | None, setting("near", "--near")] = None,
    similarity: Annotated[str | None, setting("similarity", "--similarity")] = None,
    biases: Annotated[bool | None, setting("biases", "--biases/--no-biases")] = None,
    heights: Annotated[bool | None, setting("heights", "--heights/--no-heights")] = None,
    loops: Annotated[bool | None, setting("loops", "--loops/--no-loops")] = None,
    dropout: Annotated[float | None, setting("dropout", "--dropout")] = None,
    dropout_start: Annotated[float | None, setting("dropout_start", "--dropout-start")] = None,
    negatives: Annotated[int | None, setting("negatives", "--negatives")] = None,
    margin: Annotated[float | None, setting("margin", "--margin")] = None,
    temperature: Annotated[float | None, setting("temperature", "--temperature")] = None,
    negative_weight: Annotated[
        float | None, setting("negative_weight", "--negative-weight")
    ] = None,
    penalty: Annotated[float | None, setting("penalty", "--penalty")] = None,
    penalty_power: Annotated[float | None, setting("penalty_power", "--penalty-power")] = None,
    precision: Annotated[str | None, setting("precision", "--precision")] = None,
    validate_every: Annotated[str | None, setting("validate_every", "--validate-every")] = None,
    validation_sample: Annotated[
        int | None, setting("validation_sample", "--validation-sample")
    ] = None,
    seed: Annotated[int | None, setting("seed", "--seed")] = None,
    threads: Annotated[int | None, setting("threads", "--threads")] = None,
    device: Annotated[str | None, setting("device", "--device")] = None,
    columns: Annotated[
        str | None,
        option("Order of a file's columns.", "hrt", "--columns"),
    ] = None,
    header: Annotated[
        bool | None,
        option("Whether files have a header line.", "recognised", "--header/--no-header"),
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

    from hale.cli.progress import LiveProgress
    from hale.cli.tables import metrics_table
    from hale.evaluation.evaluator import evaluate as evaluate_run
    from hale.runs.folder import free_folder
    from hale.runs.systems import complete
    from hale.training.trainer import check
    from hale.training.trainer import train as train_run

    settings = complete(**({} if resume else given))
    check(settings)  # faults are told before anything is read or fetched
    triples = None
    if graph is not None:
        triples = load_graph(
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
            print_json({"run": str(run.path), "training": asdict(summary)})
        raise typer.Exit(INTERRUPTED)
    split = next((name for name in ("test", "valid") if len(run.graph.split(name))), None)
    report: dict[str, Any] = {}
    if split is not None:
        report = evaluate_run(run, split).as_dict()
        run.save_metrics(split, report)
    if as_json:
        best = run.best
        print_json(
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
        highest = max(record.metrics["mrr"] for record in run.history)
        second = "" if run.best.metrics["mrr"] == highest else ", no worse than the best on others"
        out.print(
            f"kept: the state of step {summary.kept_step:,} of {summary.steps:,}, MRR "
            f"{run.best.metrics['mrr']:.4f} on {summary.validation_sample:,} validation triples"
            f"{second}"
        )
    out.print(f"run:  {run.path}")

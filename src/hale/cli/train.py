"""hale train."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hale.cli import INTERRUPTED
from hale.cli.app import err, load_graph, out, print_json, reporting
from hale.cli.launch import is_rank, launch_ranks, leads
from hale.cli.options import Columns, Json, Weights, option, settings_options
from hale.errors import HaleWarning, InputError

if TYPE_CHECKING:
    from hale.engine.group import Group


@reporting
@settings_options()
def train(
    graph: Annotated[
        str | None,
        typer.Argument(
            help="A data set's name, a folder with train/valid/test, or a file of triples.",
            metavar="GRAPH",
        ),
    ] = None,
    *,
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
    columns: Columns = None,
    header: Annotated[
        bool | None,
        option("Whether files have a header line.", "recognised", "--header/--no-header"),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option("--labels", help="File of two columns: id, readable name.")
    ] = None,
    weights: Weights = None,
    types: Annotated[
        Path | None,
        typer.Option("--types", help="File of two columns: entity, type. Kept with the run."),
    ] = None,
    type_relation: Annotated[
        str | None,
        typer.Option("--type-relation", help="Types are the tails of this relation, of its heads."),
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out lines that are no triples.")
    ] = False,
    holdout: Annotated[
        float,
        typer.Option("--holdout", help="Share of a single file for each of valid and test."),
    ] = 0.05,
    split_seed: Annotated[
        int, typer.Option("--split-seed", help="Seed of the split of a single file.", min=0)
    ] = 0,
    full_evaluation: Annotated[
        bool,
        typer.Option(
            "--full-evaluation",
            help="Rank all of the test split, not what a tenth of the budget is enough for.",
        ),
    ] = False,
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Tell epochs, time and memory by a few steps, and stop."),
    ] = False,
    track: Annotated[
        str | None,
        typer.Option(
            "--track",
            help="Write losses and validations for tensorboard, mlflow or wandb (offline).",
        ),
    ] = None,
    ranks: Annotated[
        int | None,
        typer.Option(
            "--ranks",
            help="Train in so many processes of this machine, which share the entities.",
            min=1,
            max=64,
        ),
    ] = None,
    timeout: Annotated[
        str,
        typer.Option("--timeout", help="How long ranks wait for one that does not answer."),
    ] = "60s",
    as_json: Json = False,
    **given: Any,
) -> None:
    """Train a model on GRAPH and evaluate it on the test split.

    Without any option it trains for two minutes, with settings that suit the graph:

    \b
      hale train facts.tsv --budget 5m --out runs/mine

    Symbols in brackets are those of the paper (Wang et al., WWW 2022).
    """  # noqa: D301
    if graph is None and not resume:
        raise InputError("Name a graph: a data set ('hale datasets' lists them), folder or file.")
    if resume and (out_folder is None or overwrite):
        raise InputError("--resume goes with --out RUN, and not with --overwrite.")
    if resume and plan:
        raise InputError("--plan tells of a new run; leave out --resume.")
    if plan and (ranks or is_rank()):
        raise InputError("--plan tells of a run in one process; leave out --ranks.")
    if is_rank() and out_folder is None:
        raise InputError("Under torchrun name the folder of the run, which all ranks see: --out.")

    from hale.cli.plan import show_plan
    from hale.cli.progress import LiveProgress
    from hale.cli.tables import metrics_table, sample_line, without_rule
    from hale.cli.wall import WallTime
    from hale.data.files import free_folder
    from hale.data.graph import Graph, GraphSize
    from hale.evaluation.evaluator import evaluate as evaluate_run
    from hale.evaluation.evaluator import sample_of
    from hale.evaluation.gradual import ranking_seconds
    from hale.runs.replacing import is_taken
    from hale.runs.run import Run
    from hale.runs.systems import complete
    from hale.training.ranked_start import check_ranked, train_on_ranks
    from hale.training.start import check
    from hale.training.start import train as train_run
    from hale.training.tracking import tracker_class

    wall = WallTime()
    if not leads():  # rank 0 tells
        warnings.simplefilter("ignore", HaleWarning)
        err.quiet = True
    settings = complete(**({} if resume else given))
    check(settings)  # faults are told before anything is read or fetched
    tracker = None if track is None else tracker_class(track)
    if not resume and not is_rank():
        is_taken(out_folder or Path("runs") / "new", overwrite=overwrite)
    if ranks is not None and not is_rank():
        if not resume:
            check_ranked(settings, GraphSize(1, 1))  # told once, not by each rank
        stem = f"{Path(graph or '').stem}-{settings.model}-{settings.dim}"
        launch_ranks(ranks, out_folder or free_folder("runs", stem))

    def load() -> Graph:
        assert graph is not None
        return load_graph(
            graph,
            columns=columns,
            header=header,
            labels=labels,
            weights=weights,
            types=types,
            type_relation=type_relation,
            skip_bad=skip_bad,
            holdout=holdout,
            seed=split_seed,
        )

    triples = None if graph is None or is_rank() else load()
    if plan:
        assert triples is not None
        show_plan(triples, given, as_json=as_json)
        return
    if out_folder is None:
        assert triples is not None
        out_folder = free_folder("runs", f"{triples.name}-{settings.model}-{settings.dim}")
    wall.load()
    with (
        LiveProgress(err).live() if leads() else nullcontext() as progress,
        _joined(timeout) as group,
    ):
        run: Run | None
        if is_rank():
            run = train_on_ranks(
                group,
                None if graph is None else load,
                given,
                out=out_folder,
                resume=resume,
                overwrite=overwrite,
                observer=progress,
                track=track,
            )
        else:
            run = train_run(
                triples,
                out=out_folder,
                resume=resume,
                overwrite=overwrite,
                observer=progress,
                track=track,
                **given,
            )
        if run is None:  # rank 0 tells why
            return
        wall.add(run.took)
        summary = run.summary
        err.print(
            f"stopped by {summary.stopped_by} after {summary.seconds:.1f} s of training "
            f"({summary.epochs:.1f} epochs, {summary.steps:,} steps) and "
            f"{summary.validation_seconds:.1f} s of validation"
        )
        split = next((name for name in ("test", "valid") if len(run.graph.split(name))), None)
        report: dict[str, Any] = {}
        if split is not None and summary.stopped_by != "interrupt":
            seconds = None if full_evaluation else ranking_seconds(run.settings)
            some = (
                None
                if full_evaluation or seconds
                else sample_of(run.model, len(run.graph.split(split)))
            )
            with wall.part("evaluate"):
                told = None if progress is None else progress.ranking
                found = evaluate_run(run, split, sample=some, seconds=seconds, follow=told)
                report = found.as_dict()
            if group.leads:
                run.save_metrics(split, report)
    if not group.leads:  # rank 0 tells the rest
        return
    if tracker is not None and run.path is not None:
        err.print(f"tracked; see it with: {tracker.where(run.path)}")
    if summary.stopped_by == "interrupt":
        err.print(f"saved in {run.path}; go on with: hale train --resume --out {run.path}")
        if as_json:
            print_json({"run": str(run.path), "training": asdict(summary)})
        raise typer.Exit(INTERRUPTED)
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
                "wall": wall.as_dict(),
            }
        )
        return
    if split is not None:
        directions = {
            "both directions": report,
            **report["by_direction"],
            **without_rule(report),
        }
        ruled = ", by the cardinality rule" if "vectors_alone" in report else ""
        out.print(metrics_table(directions, f"{run.graph.name}, {split} split, filtered{ruled}"))
        if "sample" in report:
            out.print(f"{sample_line(report)}; hale evaluate {run.path} ranks all")
    if run.best is not None and run.best.metrics:
        highest = max(record.metrics["mrr"] for record in run.history)
        second = "" if run.best.metrics["mrr"] == highest else ", no worse than the best on others"
        out.print(
            f"kept: the state of step {summary.kept_step:,} of {summary.steps:,}, MRR "
            f"{run.best.metrics['mrr']:.4f} on {summary.validation_sample:,} validation triples"
            f"{second}"
        )
    out.print(f"run:  {run.path}")
    err.print(wall.line())


@contextmanager
def _joined(timeout: str) -> Iterator[Group]:
    """The group of ranks that torchrun started; one alone where it did not."""
    from hale.engine.group import ALONE, Group

    if not is_rank():
        yield ALONE
        return
    group = Group.join(_seconds(timeout))
    try:
        yield group
    finally:
        group.leave()


def _seconds(timeout: str) -> float:
    from hale.settings import parse_duration

    try:
        return parse_duration(timeout)
    except ValueError as error:
        raise InputError(f"--timeout: {error}.") from None

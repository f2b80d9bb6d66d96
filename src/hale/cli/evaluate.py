"""hale evaluate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hale.cli.app import err, out, print_json, reporting
from hale.cli.asking import asking_ranks
from hale.cli.options import (
    Device,
    Json,
    OfType,
    Paths,
    Ranks,
    RunPath,
    Threads,
    TypeRelation,
    Within,
)
from hale.errors import RunError

if TYPE_CHECKING:
    from hale.evaluation.limits import Among


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
    typed: Annotated[
        bool,
        typer.Option(
            "--typed", help="Rank among entities of the types that a relation's answers have."
        ),
    ] = False,
    cardinality: Annotated[
        bool | None,
        typer.Option(
            "--cardinality/--no-cardinality",
            help="Rank by the cardinality rule, or by the vectors alone. [as the run does]",
        ),
    ] = None,
    paths: Paths = False,
    of_type: OfType = None,
    type_relation: TypeRelation = None,
    within: Within = None,
    device: Device = "auto",
    threads: Threads = None,
    ranks: Ranks = None,
    as_json: Json = False,
) -> None:
    """Rank a split of a run's graph: filtered, over all entities, in both directions.

    With --typed, --type or --within among some entities alone: figures of another kind, which are
    told apart; those of --typed are kept with the run beside the ordinary ones. By the cardinality
    rule, the figures of the vectors alone stand beside. With --paths, rules that lead from head to
    tail have a say beside the vectors.
    """
    from hale.cli.progress import query_progress
    from hale.cli.tables import metrics_table, without_rule
    from hale.engine.device import use_threads
    from hale.evaluation.evaluator import evaluate as evaluate_run
    from hale.evaluation.evaluator import limits_of
    from hale.evaluation.second_opinion import keep_paths, weight_of, with_paths
    from hale.runs.run import load_run

    use_threads(threads)
    with asking_ranks(ranks, run, device) as group, query_progress(err, "triples") as follow:
        loaded = load_run(run, device=device, group=group)
        limited: Among = {
            "types": of_type or None,
            "type_relation": type_relation,
            "within": within,
        }
        if paths:
            limits_of(loaded.graph, typed=typed, **limited)  # before rules are made
        alone = loaded
        loaded = with_paths(alone, keep=False) if paths else alone
        found = evaluate_run(
            loaded,
            split,
            ties=ties,  # type: ignore[arg-type]
            follow=follow,
            typed=typed,
            cardinality=cardinality,
            **limited,
        )
        if paths:
            keep_paths(alone, loaded.model)  # what was refused leaves none behind
    report = found.as_dict()
    if as_json:
        print_json({"run": str(run), **report, **({"paths": weight_of(loaded)} if paths else {})})
    else:
        beside = "without the rule" if paths else "vectors alone"
        rows = {"both directions": report, **report["by_direction"], **without_rule(report, beside)}
        if by_relation:
            rows |= report["by_relation"]
        among = f", among entities {found.candidates}" if found.candidates else ""
        ruled = ", by the cardinality rule" if found.vectors_alone else ""
        weighed = f", with path rules of weight {weight_of(loaded):g}" if paths else ""
        title = f"{loaded.graph.name}, {split} split, filtered{among}{ruled}{weighed}"
        out.print(metrics_table(rows, title))
        if found.missed:
            err.print(f"{found.missed:,} targets were no candidates, and count as the last of all")
    own = not paths and (cardinality is None or cardinality == loaded.settings.cardinality)
    if group.leads and ties == "mean" and own and (typed or found.candidates is None):
        try:
            loaded.save_metrics(f"{split} (typed)" if typed else split, report)
        except RunError as error:  # a shared run that only others may write to
            err.print(f"warning: not kept with the run: {error}", style="yellow")

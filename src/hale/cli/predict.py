"""hale predict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hale.cli.app import err, out, print_json, reporting, tell_file, tell_meaning
from hale.cli.asking import asking_ranks, leading_file
from hale.cli.completion import complete_entity, complete_relation
from hale.cli.options import (
    Anything,
    CsvSafe,
    Device,
    Json,
    OfType,
    OutFile,
    Paths,
    Ranks,
    RunPath,
    Threads,
    TypeRelation,
    Within,
)
from hale.errors import InputError

if TYPE_CHECKING:
    from hale.data.graph import Ids
    from hale.runs.run import Run


@reporting
def predict(
    run: RunPath,
    head: Annotated[
        str | None, typer.Option("--head", help="The head.", autocompletion=complete_entity)
    ] = None,
    relation: Annotated[
        str | None,
        typer.Option("--relation", help="The relation.", autocompletion=complete_relation),
    ] = None,
    tail: Annotated[
        str | None, typer.Option("--tail", help="The tail.", autocompletion=complete_entity)
    ] = None,
    queries: Annotated[
        Path | None,
        typer.Option(
            "--queries",
            help="File of head, relation, tail (tabs, .csv, .parquet); one is '?' or empty.",
        ),
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out bad lines of --queries with a warning.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="All queries of --relation: every head that it has.")
    ] = False,
    direction: Annotated[
        str | None,
        typer.Option(
            "--direction",
            help="With --all: tail asks for the tails of every head, head for the heads of "
            "every tail. [default: tail]",
            show_default=False,
        ),
    ] = None,
    k: Annotated[int, typer.Option("-k", help="Number of answers.")] = 10,
    known: Annotated[
        str, typer.Option("--known", help="mark or drop facts that the graph holds.")
    ] = "mark",
    above: Annotated[
        float | None,
        typer.Option("--above", help="Of those, only answers of at least this probability."),
    ] = None,
    paths: Paths = False,
    anything: Anything = False,
    of_type: OfType = None,
    type_relation: TypeRelation = None,
    within: Within = None,
    out_file: OutFile = None,
    csv_safe: CsvSafe = False,
    device: Device = "auto",
    threads: Threads = None,
    ranks: Ranks = None,
    as_json: Json = False,
) -> None:
    """Answer queries: tails of (head, relation), heads of (relation, tail), relations of both.

    One query from --head, --relation and --tail, two of them; a file of queries; or all queries
    of a relation.
    """
    _check_ways(
        [head, relation, tail], queries=queries, every=every, skip_bad=skip_bad, direction=direction
    )
    from hale.answers.arrays import tables
    from hale.answers.predictor import answers_to, check, find_answers
    from hale.cli.tables import answers_table
    from hale.engine.device import use_threads
    from hale.evaluation.limits import candidates_of
    from hale.evaluation.second_opinion import with_paths
    from hale.export.table_file import check_table_path
    from hale.runs.run import load_run

    use_threads(threads)
    check(k, known, above)  # type: ignore[arg-type]
    if paths and above is not None:
        raise InputError(
            "Probabilities are of scores without path rules: leave --above or --paths."
        )
    if out_file is not None:
        check_table_path(out_file)
    with asking_ranks(ranks, run, device) as group:
        loaded = load_run(run, device=device, group=group)
        asked = _queries(loaded, [head, relation, tail], queries, skip_bad, every, direction)
        candidates = candidates_of(
            loaded.graph,
            anything=anything,
            types=of_type or None,
            type_relation=type_relation,
            within=within,
        )
        if paths:  # last: what is refused leaves no rules behind
            loaded = with_paths(loaded)
        how: dict[str, Any] = {"k": k, "known": known, "above": above, "candidates": candidates}
        if out_file is not None:
            with leading_file(group, out_file, csv_safe=csv_safe) as file:
                for table in tables(loaded.graph, find_answers(loaded, asked, **how)):
                    file.add(table)
            tell_file(run, out_file, {"queries": len(asked), "answers": file.rows}, as_json)
            return
        found = answers_to(loaded, asked, **how)
        if as_json and (queries is not None or every):
            print_json({"run": str(run), "queries": [answers.as_dict() for answers in found]})
        elif as_json:
            print_json({"run": str(run), **next(found).as_dict()})
        else:
            sure = held = False
            for answers in found:
                out.print(answers_table(loaded.graph, answers))
                sure = sure or any(answer.probability is not None for answer in answers)
                held = held or any(answer.split == "train" for answer in answers)
            if sure:
                tell_meaning(loaded, held=held)


def _check_ways(
    names: list[str | None],
    *,
    queries: Path | None,
    every: bool,
    skip_bad: bool,
    direction: str | None,
) -> None:
    """Refuse options that contradict each other, before anything is loaded."""
    head, relation, tail = (name is not None for name in names)
    if queries is not None and (head or relation or tail or every):
        raise InputError("--queries stands alone, without --head, --relation, --tail and --all.")
    if every and (head or tail or not relation):
        raise InputError("--all goes with --relation alone, without --head and --tail.")
    if relation and not (head or tail or every):
        raise InputError("--relation goes with --head, --tail or --all.")
    if skip_bad and queries is None:
        raise InputError("--skip-bad goes with --queries FILE.")
    if direction is not None and not every:
        raise InputError("--direction goes with --all.")


def _queries(
    loaded: Run,
    names: list[str | None],
    queries: Path | None,
    skip_bad: bool,
    every: bool,
    direction: str | None,
) -> Ids:
    """The queries that the options ask for, as ids."""
    import numpy as np

    from hale.answers.queries import Query, queries_of_relation, query_ids, read_queries

    if queries is not None:
        file = read_queries(queries, loaded.graph, skip_bad=skip_bad)
        for note in file.notes:
            err.print(f"warning: {note}", style="yellow")
        for fault in file.faults:
            err.print(f"warning: {queries}, {fault} (left out)", style="yellow")
        return file.queries
    if every:
        assert names[1] is not None
        return queries_of_relation(loaded.graph, names[1], direction or "tail")  # type: ignore[arg-type]
    return np.array([query_ids(loaded.graph, Query(*names))], dtype=np.int64)

"""hale discover."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hale.cli.app import err, out, print_json, reporting, tell_file, tell_meaning
from hale.cli.asking import asking_ranks, leading_file
from hale.cli.completion import complete_relation
from hale.cli.options import (
    Anything,
    CsvSafe,
    Device,
    Json,
    OfType,
    OutFile,
    Ranks,
    RunPath,
    Threads,
    TypeRelation,
    Within,
)
from hale.errors import InputError

if TYPE_CHECKING:
    from hale.evaluation.limits import Limits


@reporting
def discover(
    run: RunPath,
    relation: Annotated[
        list[str] | None,
        typer.Option(
            "--relation",
            help="Facts of this relation only; may be given repeatedly.",
            autocompletion=complete_relation,
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "-k", help="Facts for each --relation, or in all. [default: 100]", show_default=False
        ),
    ] = None,
    per_query: Annotated[
        int | None,
        typer.Option("--per-query", help="The best answers to every query instead, to --out."),
    ] = None,
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
    """Find the most plausible facts that the graph lacks."""
    if per_query is not None and (k is not None or out_file is None):
        raise InputError("--per-query K goes with --out FILE, and not with -k.")
    from hale.answers.discovery import discover as discover_facts
    from hale.answers.discovery import discover_each
    from hale.cli.progress import query_progress
    from hale.cli.tables import facts_table
    from hale.engine.device import use_threads
    from hale.export.table_file import check_table_path
    from hale.runs.run import load_run

    use_threads(threads)
    if out_file is not None:
        check_table_path(out_file)
    with asking_ranks(ranks, run, device) as group:
        loaded = load_run(run, device=device, group=group)
        relations = relation or None
        limits: Limits = {
            "anything": anything,
            "types": of_type or None,
            "type_relation": type_relation,
            "within": within,
        }
        if per_query is not None:
            assert out_file is not None
            with (
                query_progress(err) as progress,
                leading_file(group, out_file, csv_safe=csv_safe) as file,
            ):
                found = discover_each(loaded, relations, k=per_query, progress=progress, **limits)
                for table in found:
                    file.add(table)
            tell_file(run, out_file, {"answers": file.rows}, as_json)
            return
        with query_progress(err) as progress:
            k = 100 if k is None else k
            facts = discover_facts(loaded, relations, k=k, progress=progress, **limits)
        if out_file is not None:
            with leading_file(group, out_file, csv_safe=csv_safe) as file:
                file.add(facts.to_polars())
            tell_file(run, out_file, {"facts": file.rows}, as_json)
        elif as_json:
            print_json({"run": str(run), "facts": [fact.as_dict() for fact in facts]})
        else:
            out.print(facts_table(facts, f"{loaded.graph.name}, facts that it lacks"))
            if any(fact.probability is not None for fact in facts):
                tell_meaning(loaded)

"""hale why."""

from __future__ import annotations

from typing import Annotated

import typer

from hale.cli.app import out, print_json, reporting, tell_meaning
from hale.cli.completion import complete_entity, complete_relation
from hale.cli.options import Device, Json, RunPath


@reporting
def why(
    run: RunPath,
    head: Annotated[
        str, typer.Argument(help="Id or label.", metavar="HEAD", autocompletion=complete_entity)
    ],
    relation: Annotated[
        str,
        typer.Argument(help="The relation.", metavar="RELATION", autocompletion=complete_relation),
    ],
    tail: Annotated[
        str, typer.Argument(help="Id or label.", metavar="TAIL", autocompletion=complete_entity)
    ],
    k: Annotated[int, typer.Option("-k", help="Number of supporting facts.")] = 5,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Explain a fact: its rank and score, and the known facts and rules that support it."""
    from hale.answers.explanation import why as explain
    from hale.answers.paths import in_words
    from hale.cli.tables import explanation_tables
    from hale.runs.run import load_run

    loaded = load_run(run, device=device)
    found = explain(loaded, head, relation, tail, k=k)
    if as_json:
        print_json({"run": str(run), **found.as_dict()})
        return
    for table in explanation_tables(found):
        out.print(table)
    ends = (found.head_label or found.head, found.tail_label or found.tail)
    for number, rule in enumerate(found.paths):
        out.print(("" if number else "because ") + in_words(rule, *ends), markup=False)
    if found.probability is not None:
        tell_meaning(loaded)

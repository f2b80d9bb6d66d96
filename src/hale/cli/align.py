"""hale align."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hale.cli.app import err, out, print_json, reporting, tell_file
from hale.cli.options import CsvSafe, Json, OutFile, SkipBad, settings_options


@reporting
@settings_options(
    *("budget", "model", "dim", "strategy", "seed", "threads", "device"),
    texts={"budget": "Seconds of training, all rounds together (60s, 10m)."},
    defaults={
        "budget": "120s",
        "model": "as the left run's",
        "dim": "as the left run's",
        "strategy": "as suits the model",
    },
)
def align(
    left: Annotated[Path, typer.Argument(help="Folder of a run.", metavar="RUN_A")],
    right: Annotated[Path, typer.Argument(help="Folder of another run.", metavar="RUN_B")],
    *,
    seeds: Annotated[
        Path,
        typer.Option("--seeds", help="File of known pairs: an entity of RUN_A, one of RUN_B."),
    ],
    rounds: Annotated[
        int,
        typer.Option(
            "--rounds", help="Rounds of training; sure matches join the pairs of the next.", min=1
        ),
    ] = 4,
    same_relations: Annotated[
        bool, typer.Option("--same-relations", help="Relations of one name are one relation.")
    ] = False,
    least: Annotated[
        float, typer.Option("--least", help="Least confidence that is told.", min=0, max=1)
    ] = 0.0,
    skip_bad: SkipBad = False,
    out_file: OutFile = None,
    csv_safe: CsvSafe = False,
    rows: Annotated[int, typer.Option("--rows", help="Rows of the table.", min=1)] = 20,
    as_json: Json = False,
    **given: Any,
) -> None:
    """Find the entities of two runs' graphs that are the same, from some known pairs.

    Both graphs are trained anew in one space. Names play no part. The confidence of a match is how
    often such matches were right among known pairs that training did not see.
    """
    from hale.answers.align import DEFAULT_SECONDS, Match
    from hale.answers.align import align as align_runs
    from hale.cli.progress import LiveProgress
    from hale.cli.tables import matches_table
    from hale.data.results import Results
    from hale.export.table_file import check_table_path, table_file

    if out_file is not None:
        check_table_path(out_file)
    budget = given.pop("budget", DEFAULT_SECONDS)
    with LiveProgress(err).live() as progress:
        found = align_runs(
            left,
            right,
            seeds,
            budget=budget,
            rounds=rounds,
            same_relations=same_relations,
            skip_bad=skip_bad,
            observer=progress,
            **given,
        )
    told = Results(Match, [match for match in found if match.confidence >= least])
    if out_file is not None:
        with table_file(out_file, csv_safe=csv_safe) as file:
            file.add(told.to_polars())
        tell_file(left, out_file, {"matches": file.rows}, as_json)
    elif as_json:
        print_json({"left": str(left), "right": str(right), "matches": [m.as_dict() for m in told]})
    else:
        out.print(matches_table(told[:rows], f"{len(told):,} matches, surest first"))
        if len(told) > rows:
            err.print(f"{rows} of {len(told):,} matches shown; --out FILE or --json has all")

"""hale bench ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hale.cli.app import err, out, print_json, reporting
from hale.cli.options import Json


@reporting
def ranks(
    sizes: Annotated[str, typer.Option("--ranks", help="Numbers of ranks.")] = "1,2,4",
    entities: Annotated[str, typer.Option("--n", help="Numbers of entities.")] = "100000",
    dim: Annotated[int, typer.Option("--dim", "-d", min=2)] = 32,
    batch_size: Annotated[int, typer.Option("--batch-size", min=1)] = 1024,
    queries: Annotated[int, typer.Option("--queries", min=1)] = 100,
    block: Annotated[str, typer.Option("--block", help="Entities of a step.")] = "4096",
    steps: Annotated[int, typer.Option("--steps", help="Steps that are timed.", min=1)] = 12,
    namespaces: Annotated[
        bool,
        typer.Option(
            "--namespaces", help="Each rank on a host of its own, in a network namespace (root)."
        ),
    ] = False,
    latency: Annotated[
        float, typer.Option("--latency", help="Of a line between hosts, ms one way.")
    ] = 1.0,
    bandwidth: Annotated[
        float, typer.Option("--bandwidth", help="Of a line between hosts, Mbit/s.")
    ] = 1000.0,
    process: Annotated[
        int,
        typer.Option(
            "--process", help="Measure one process with so many threads beside them.", min=0
        ),
    ] = 0,
    out_file: Annotated[
        Path | None,
        typer.Option("--out", help="Keep the figures in this JSON file, beside others there."),
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--page", help="Write the page of all figures in --out.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw those of --namespaces to this PNG file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Training steps on ranks: time, bytes sent beside the formula, memory (synthetic graphs).

    One machine cannot show what several gain: ranks here share its cores. With --namespaces a cost
    model is fitted on up to eight ranks and foretells the others.
    """
    from hale.data.files import write_json
    from hale.errors import InputError
    from hale.lab.bench.hosts import Line
    from hale.lab.bench.machine import machine
    from hale.lab.bench.rank_page import plot_ranks, write_page
    from hale.lab.bench.rank_step import Asked, process_row, rank_rows

    try:
        numbers, counts = ([int(x) for x in text.split(",")] for text in (sizes, entities))
    except ValueError:
        raise InputError("--ranks and --n take whole numbers separated by commas.") from None
    if (page or plot) and out_file is None:
        raise InputError("--page and --plot go with --out FILE, which has the figures.")
    line = Line(latency, bandwidth) if namespaces else None
    rows: list[dict[str, Any]] = []
    alone: list[dict[str, Any]] = []
    for count in counts:
        asked = Asked(count, dim, batch_size, queries, block, steps)
        rows += rank_rows(numbers, asked, line, follow=_tell)
        if process:
            alone.append(process_row(process, asked))
            _tell_process(alone[-1])
    result, kind = _kept(out_file), "hosts" if namespaces else "local"
    result |= {"machine": machine(), kind: beside(result.get(kind, []), rows)}
    result["process"] = beside(result.get("process", []), alone)
    if out_file is not None:
        out_file.parent.mkdir(parents=True, exist_ok=True)
        write_json(out_file, result, indent=1)
    if plot is not None and result.get("hosts"):
        plot_ranks(result, plot)
    if page is not None:
        picture = None if plot is None else Path("..") / plot.parent.name / plot.name
        write_page(result, page, None if picture is None else picture.as_posix())
    if as_json:
        print_json(result)


def beside(before: list[dict[str, Any]], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with those measured before, which go where they were measured again."""
    found = {
        (
            row["block"] == "all",
            row["entities"],
            row["block"],
            row.get("ranks", row.get("threads")),
        ): row
        for row in (*before, *rows)
    }
    return [found[key] for key in sorted(found)]


def _tell(row: dict[str, Any]) -> None:
    """One line for a row, as soon as it is there."""
    out.print(
        f"{row['ranks']} ranks, {row['entities']:,} entities: {row['median_ms']:.1f} ms a step, "
        f"{row['sent_bytes'] / 1e3:,.1f} KB sent (formula {row['formula_bytes'] / 1e3:,.1f}), "
        f"{row['memory_mb']:,.0f} MB a rank"
    )


def _tell_process(row: dict[str, Any]) -> None:
    out.print(
        f"one process, {row['threads']} threads, {row['entities']:,} entities: "
        f"{row['median_ms']:.1f} ms a step, {row['memory_mb']:,.0f} MB"
    )


def _kept(path: Path | None) -> dict[str, Any]:
    """What the file has of another kind of measurement."""
    import json

    if path is None or not path.is_file():
        return {}
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except ValueError:
        err.print(f"warning: {path} is no JSON, and is replaced", style="yellow")
        return {}

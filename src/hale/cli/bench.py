"""hale bench: figures that anyone can measure again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from hale.cli.app import err, load_graph, out, print_json, reporting
from hale.cli.bench_kills import kills
from hale.cli.bench_ranks import ranks
from hale.cli.options import Json, Threads

bench = typer.Typer(
    name="bench",
    help="Measure: the kernel, a step, blocks, ranks, growth, an index, a race with PyKEEN.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
bench.command()(ranks)
bench.command()(kills)

Out = Annotated[Path | None, typer.Option("--out", help="Write the JSON object to a file too.")]
Plot = Annotated[Path | None, typer.Option("--plot", help="Draw the result to this file.")]
Graph = Annotated[str, typer.Argument(help="A data set's name, a folder or a file.")]


@bench.command()
@reporting
def kernel(
    m: Annotated[int, typer.Option("-m", "--queries", help="Sampled queries.", min=1)] = 100,
    sizes: Annotated[str, typer.Option("--n", help="Numbers of entities.")] = "14541,40943,83379",
    dims: Annotated[str, typer.Option("--d", help="Dimensions.")] = "32,64,128,256",
    rounds: Annotated[int, typer.Option("--rounds", help="Turns of each rival.", min=1)] = 15,
    rivals: Annotated[str, typer.Option("--rivals")] = "autograd,compile,tiles,native",
    threads: Threads = None,
    out_file: Out = None,
    as_json: Json = False,
) -> None:
    """The uniformity term, forward and backward, against its rivals."""
    from hale.errors import InputError, UnknownNameError
    from hale.lab.bench.kernel import RIVALS, kernel_rows

    _use(threads)
    names = rivals.split(",")
    for name in names:
        if name not in RIVALS:
            raise UnknownNameError("rival", name, RIVALS)
    try:
        shapes = [[int(x) for x in text.split(",")] for text in (sizes, dims)]
    except ValueError:
        raise InputError("--n and --d take whole numbers separated by commas.") from None
    rows = kernel_rows(m=m, sizes=shapes[0], dims=shapes[1], rounds=rounds, rivals=names)
    _show(rows, out_file, as_json, hide=("peak_gflops",))


@bench.command()
@reporting
def step(
    graph: Graph,
    model: Annotated[str, typer.Option("--model")] = "rotl",
    dim: Annotated[int, typer.Option("--dim", "-d")] = 32,
    batch_size: Annotated[int | None, typer.Option("--batch-size")] = None,
    queries: Annotated[int | None, typer.Option("--queries")] = None,
    block: Annotated[str | None, typer.Option("--block")] = None,
    threads: Threads = None,
    out_file: Out = None,
    as_json: Json = False,
) -> None:
    """Where a training step's time goes; what is not given is as in training."""
    from hale.lab.bench.step import step_rows
    from hale.runs.systems import complete

    _use(threads)
    loaded = load_graph(graph)
    settings = complete(
        loaded,
        model=model,
        dim=dim,
        batch_size=batch_size,
        queries=queries,
        block=block,
        epochs=1000,
    )
    _show(step_rows(loaded, settings), out_file, as_json)


@bench.command()
@reporting
def block(
    run: Annotated[
        Path | None, typer.Option("--run", help="Take the vectors of this run, not drawn ones.")
    ] = None,
    entities: Annotated[int, typer.Option("--n", help="Entities that are drawn.", min=2)] = 40_943,
    dim: Annotated[int, typer.Option("--dim", "-d", min=1)] = 32,
    sizes: Annotated[str, typer.Option("--block", help="Entities of a block.")] = "512,4096",
    queries: Annotated[int, typer.Option("--queries", min=1)] = 32,
    draws: Annotated[int, typer.Option("--draws", help="Blocks that are drawn.", min=2)] = 500,
    threads: Threads = None,
    out_file: Out = None,
    as_json: Json = False,
) -> None:
    """How sums over blocks of entities stand for sums over all: bias, spread, and its bound."""
    from hale.errors import InputError
    from hale.lab.bench.estimation import block_rows
    from hale.runs.run import load_run

    _use(threads)
    try:
        wanted = [int(size) for size in sizes.split(",")]
    except ValueError:
        raise InputError("--block takes whole numbers separated by commas.") from None
    loaded = None if run is None else load_run(run, device="cpu")
    rows = block_rows(loaded, n=entities, dim=dim, sizes=wanted, queries=queries, draws=draws)
    _show(rows, out_file, as_json, hide=("log_bias", "log_spread"))


@bench.command()
@reporting
def evaluate(
    graph: Graph,
    model: Annotated[str, typer.Option("--model")] = "rotl",
    dim: Annotated[int, typer.Option("--dim", "-d")] = 32,
    threads: Threads = None,
    out_file: Out = None,
    as_json: Json = False,
) -> None:
    """Ranking a test split: time and peak memory."""
    from hale.lab.bench.ranking import ranking_rows

    _use(threads)
    _show(ranking_rows(load_graph(graph), model=model, dim=dim), out_file, as_json)


@bench.command()
@reporting
def growth(
    dim: Annotated[int, typer.Option("--dim", "-d")] = 32,
    queries: Annotated[int, typer.Option("--queries")] = 100,
    block: Annotated[
        str, typer.Option("--block", help="Entities of a step, beside all of them.")
    ] = "4096",
    most: Annotated[
        int, typer.Option("--most", help="Largest number of entities.", min=1_000)
    ] = 10_000_000,
    longest: Annotated[
        float, typer.Option("--longest", help="Longest step to wait for, in seconds.")
    ] = 10.0,
    plot: Plot = None,
    out_file: Out = None,
    as_json: Json = False,
) -> None:
    """Time and memory of a step as entities grow, with blocks and without (synthetic graphs)."""
    from hale.lab.bench.growth import SIZES, growth_rows, plot_growth

    sizes = [size for size in SIZES if size <= most]
    rows = growth_rows(sizes=sizes, dim=dim, queries=queries, block=block, longest=longest)
    if plot:
        plot_growth(rows, plot)
    _show(rows, out_file, as_json)


@bench.command()
@reporting
def index(
    run: Annotated[
        Path | None, typer.Option("--run", help="Take the vectors of this run, not synthetic ones.")
    ] = None,
    entities: Annotated[
        int, typer.Option("--n", help="Synthetic entities, in clusters.", min=1)
    ] = 1_000_000,
    dim: Annotated[int, typer.Option("--dim", "-d", min=1)] = 32,
    queries: Annotated[int, typer.Option("--queries", min=1)] = 1000,
    k: Annotated[int, typer.Option("-k", help="Answers to each query.", min=1)] = 10,
    threads: Threads = None,
    out_file: Out = None,
    as_json: Json = False,
) -> None:
    """Answers from an index against exact ones: recall and speed (extra 'index')."""
    from hale.errors import InputError
    from hale.export.index import Lifted
    from hale.lab.bench.nearest import nearest_rows, synthetic_vectors, vectors_of
    from hale.runs.run import load_run

    _use(threads)
    if run is None:
        vectors, asked = synthetic_vectors(entities, dim, queries)
        lifted, name = Lifted(vectors, "l2sq"), "synthetic"
    else:
        loaded = load_run(run, device="cpu")
        lifted, asked = vectors_of(loaded, queries)
        name = loaded.graph.name
    if k > len(lifted.vectors):
        raise InputError(f"There are {len(lifted.vectors):,} entities, fewer than -k {k}.")
    rows = nearest_rows(lifted, asked, name=name, k=k)
    _show(
        rows,
        out_file,
        as_json,
        hide=(
            "vectors",
            "d",
            "k",
            "queries",
            "connectivity",
            "expansion_add",
            "build_s",
            "index_mb",
        ),
    )


@bench.command()
@reporting
def race(
    graph: Graph,
    seconds: Annotated[float, typer.Option("--seconds", help="Clock of each rival.")] = 120,
    dim: Annotated[int, typer.Option("--dim", "-d")] = 32,
    metric: Annotated[str, typer.Option("--metric", help="mrr or hits@10.")] = "mrr",
    target: Annotated[
        float, typer.Option("--target", min=0.001, max=1, help="Quality to reach.")
    ] = 0.38,
    rivals: Annotated[str | None, typer.Option("--rivals", help="Some of them.")] = None,
    threads: Threads = None,
    plot: Plot = None,
    out_file: Out = None,
    as_json: Json = False,
) -> None:
    """Quality over training time, hale against PyKEEN (extra 'bench')."""
    from hale.errors import UnknownNameError
    from hale.lab.bench.race import RIVALS, plot_race, race_rows

    names = rivals.split(",") if rivals else list(RIVALS)
    for name in names:
        if name not in RIVALS:
            raise UnknownNameError("rival", name, RIVALS)
    if metric not in ("mrr", "hits@10", "hits@1", "hits@3"):
        raise UnknownNameError("metric", metric, ["mrr", "hits@1", "hits@3", "hits@10"])
    rows = race_rows(
        graph,
        seconds=seconds,
        dim=dim,
        threads=threads,
        target=target,
        metric=metric,
        rivals=names,
    )
    if plot:
        plot_race(rows, graph, plot)
    _show(rows, out_file, as_json, hide=("curve",))


def _use(threads: int | None) -> None:
    from hale.engine.device import use_threads

    use_threads(threads)


def _show(
    rows: Sequence[dict[str, Any]],
    out_file: Path | None,
    as_json: bool,
    hide: Sequence[str] = (),
) -> None:
    """A table of the rows, or one JSON object with them under 'rows'."""
    from hale.cli.tables import listing
    from hale.data.files import write_json
    from hale.lab.bench.machine import machine

    result = {"machine": machine(), "rows": list(rows)}
    if out_file:
        out_file.parent.mkdir(parents=True, exist_ok=True)
        write_json(out_file, result, indent=1)
    if as_json:
        print_json(result)
        return
    here = result["machine"]
    err.print(f"{here['cpu']}, {here['threads']} threads, torch {here['torch']}")  # type: ignore[index]
    columns = [name for name in rows[0] if name not in hide]
    lines = [[_text(row[name]) for name in columns] for row in rows]
    numbers = [name for name in columns if not isinstance(rows[0][name], str)]
    out.print(listing(columns, lines, right=numbers))


def _text(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.3g}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)

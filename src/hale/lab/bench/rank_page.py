"""The page and the picture of what `hale bench ranks` measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hale.data.files import write_text, write_whole
from hale.errors import MissingExtraError
from hale.lab.bench.hosts import Line
from hale.lab.bench.rank_costs import Costs, Observed, fit_costs

Row = Mapping[str, Any]

SAME = ("entities", "dim", "batch", "queries", "block")  # of what is compared
FITTED = 8  # the cost model is fitted on as many ranks, and foretells more


def observed(row: Row, cores: int) -> Observed:
    """A row as the cost model sees it; without a line nothing is given of it."""
    line = row["line"] or {"latency_ms": 0.0, "megabits": 1e9}
    return Observed(
        ranks=row["ranks"],
        cores=cores,
        rounds=row["rounds"],
        latency=line["latency_ms"] / 1e3,
        sent=row["sent_bytes"],
        bandwidth=line["megabits"] * 1e6 / 8,
        seconds=row["median_ms"] / 1e3,
    )


def costs_of(rows: Sequence[Row], cores: int) -> Costs | None:
    """The cost model of rows of up to eight ranks; None where there are too few."""
    seen = [observed(row, cores) for row in rows if row["ranks"] <= FITTED]
    return fit_costs(seen) if len(seen) >= 4 else None


def write_page(result: Mapping[str, Any], page: Path, picture: str | None) -> None:
    """The page of a result of `hale bench ranks`."""
    machine, local, hosts = result["machine"], result.get("local", []), result.get("hosts", [])
    cores = int(machine["cores"])
    lines = [
        "# Ranks, measured",
        "",
        f"Written by `hale bench ranks` from ranks.json beside it. Machine: {machine['cpu']}, "
        f"{cores} cores, torch {machine['torch']}; one thread a rank. The graphs are synthetic, "
        "three random facts an entity.",
        "",
        f"**What this cannot show: {cores} cores do not get faster with more than {cores} ranks.** "
        "All ranks run on this one machine and compute in turns, so times here tell what ranks "
        "cost, not what they gain. Bytes are what they would be anywhere.",
        "",
        "Memory is what a process holds while it trains, Python and torch with it, of the rank "
        "that holds most. Pages that several processes share, such as those of libraries and of "
        "mapped facts, count by their share (PSS).",
        "",
    ]
    if local:
        lines += ["## On this machine, over loopback", "", *_table(local), ""]
        lines += _of_entities(local)
    lines += _beside_process(result.get("process", []), local)
    if hosts:
        line = hosts[0]["line"]
        lines += [
            "## On hosts of their own",
            "",
            "Simulated: each rank in a network namespace of this machine, with a line of "
            f"{line['latency_ms']:g} ms one way and {line['megabits']:,.0f} Mbit/s, made by "
            f"{hosts[0]['hosts']}. The wire's own work takes part of a core.",
            "",
            *_table(hosts),
            "",
            *_foretold(hosts, cores),
        ]
        if picture is not None:
            lines += ["", f"![Measured and foretold times of a step, and bytes sent]({picture})"]
    write_text(page, "\n".join(lines).rstrip() + "\n")


def _table(rows: Sequence[Row]) -> list[str]:
    found = [
        "| ranks | entities | d | block | rows a rank | step, ms | sent by a rank, KB a step | "
        "formula, KB | | memory a rank, MB |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        sent, formula = row["sent_bytes"] / 1e3, row["formula_bytes"] / 1e3
        off = f"{round(100 * (sent / formula - 1), 1) + 0.0:+.1f} %" if formula else ""
        found.append(
            f"| {row['ranks']} | {row['entities']:,} | {row['dim']} | {row['block']} | "
            f"{row['rows']:,} | "
            f"{row['median_ms']:,.1f} | {sent:,.1f} | {formula:,.1f} | {off} | "
            f"{row['memory_mb']:,.0f} |"
        )
    return found


def _beside_process(processes: Sequence[Row], local: Sequence[Row]) -> list[str]:
    """Ranks with a thread each beside one process without ranks, of as many threads."""
    pairs = [
        (one, row)
        for one in processes
        for row in local
        if all(row[key] == one[key] for key in SAME) and row["ranks"] == one["threads"]
    ]
    found = [
        f"| {one['entities']:,} | {one['block']} | {one['median_ms']:,.1f} | "
        f"{row['median_ms']:,.1f} | {row['median_ms'] / one['median_ms']:.2f} | "
        f"{one['memory_mb']:,.0f} | {row['memory_mb']:,.0f} | "
        f"{row['memory_mb'] / one['memory_mb']:.2f} |"
        for one, row in pairs
    ]
    if not found:
        return []
    threads = processes[0]["threads"]
    return [
        f"## {threads} ranks with a thread each, beside one process with {threads}",
        "",
        "The process is `hale train` without ranks: its step is one call of the kernel where a "
        "block is summed over. Ranks map the facts, as a run on ranks does.",
        "",
        "| entities | block | process, ms | ranks, ms | ratio | process, MB | a rank, MB | ratio |",
        "|---|---|---|---|---|---|---|---|",
        *found,
        "",
    ]


def _of_entities(rows: Sequence[Row]) -> list[str]:
    """Whether bytes depend on the number of entities, where several were measured."""
    found = []
    for ranks in sorted({row["ranks"] for row in rows if row["ranks"] > 1}):
        same = [row for row in rows if row["ranks"] == ranks and row["block"] != "all"]
        sizes = sorted({row["entities"] for row in same})
        if len(sizes) > 1:
            sent = [row["sent_bytes"] for row in same]
            found.append(
                f"From {sizes[0]:,} to {sizes[-1]:,} entities, the bytes that {ranks} ranks send "
                f"a step differ by {100 * (max(sent) / min(sent) - 1):.1f} %: draws fall "
                "differently, and nothing else."
            )
    return [*found, ""] if found else []


def _foretold(rows: Sequence[Row], cores: int) -> list[str]:
    costs = costs_of(rows, cores)
    if costs is None:
        return ["Too few numbers of ranks up to eight for a cost model."]
    found = [
        "### A cost model",
        "",
        "    T(P) = C / min(P, cores) + rounds(P) (latency + a + (P - 1) o P / min(P, cores))",
        "           + bytes(P) / bandwidth",
        "",
        f"fitted on up to {FITTED} ranks: C = {1e3 * costs.computing:.2f} ms is computed of a "
        f"step, a = {1e3 * costs.round:.2f} ms is what a round costs beyond its latency, and a "
        f"message costs its rank o = {1e6 * costs.message:.0f} us beyond the wire, the wire's own "
        "work among it; messages are made in turns where cores are few. Rounds and bytes are "
        "counted. The form of the model was chosen with all figures at hand; its three numbers "
        f"know of up to {FITTED} ranks alone.",
        "",
        "| ranks | measured, ms | by the model, ms | | |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        told = 1e3 * costs.step(observed(row, cores))
        off = round(100 * (told / row["median_ms"] - 1))
        kind = "fitted" if row["ranks"] <= FITTED else "foretold"
        numbers = f"{row['median_ms']:,.1f} | {told:,.1f} | {off:+d} %"
        found.append(f"| {row['ranks']} | {numbers} | {kind} |")
    several = [row for row in rows if row["ranks"] > 1]
    return [
        *found,
        "",
        "The same on hosts with a core for each rank, of which there are none here: "
        f"{NEAR.latency_ms:g} ms between them and {NEAR.megabits / 1000:g} Gbit/s, whatever the "
        "number of entities.",
        "",
        _across("ranks", [str(row["ranks"]) for row in several]),
        _across("---", ["---"] * len(several)),
        _across("rounds", [f"{row['rounds']:.0f}" for row in several]),
        _across("a step by the model, ms", [_on_hosts(costs, row) for row in several]),
    ]


def _across(name: str, cells: Sequence[str]) -> str:
    return f"| {' | '.join([name, *cells])} |"


NEAR = Line(0.1, 10_000.0)  # between hosts of a cluster


def _on_hosts(costs: Costs, row: Row) -> str:
    """The milliseconds of a row's step on hosts near each other, a core for each rank."""
    there = {**row, "line": NEAR._asdict()}
    return f"{1e3 * costs.step(observed(there, row['ranks'])):,.1f}"


def plot_ranks(result: Mapping[str, Any], target: Path) -> None:
    """Times of a step on hosts with what the model says, and bytes with the formula."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("Drawing", "plot") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    rows, cores = result["hosts"], int(result["machine"]["cores"])
    ranks, costs = [row["ranks"] for row in rows], costs_of(rows, cores)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    left.loglog(ranks, [row["median_ms"] for row in rows], "o", label="measured")
    if costs is not None:
        told = [1e3 * costs.step(observed(row, cores)) for row in rows]
        left.loglog(ranks, told, "-", color="0.4", label=f"model, fitted up to {FITTED} ranks")
        left.axvline(FITTED * 2**0.5, linestyle=":", color="0.7")
    several = [row for row in rows if row["ranks"] > 1]
    places = [row["ranks"] for row in several]
    right.semilogx(places, [row["sent_bytes"] / 1e3 for row in several], "o", label="counted")
    formula = [row["formula_bytes"] / 1e3 for row in several]
    right.semilogx(places, formula, "-", color="0.4", label="formula")
    right.set_ylim(0, 1.2 * max(formula, default=1.0))
    left.set_ylabel("milliseconds a step")
    right.set_ylabel("KB that a rank sends a step")
    for axes, numbers in ((left, ranks), (right, places)):
        axes.set_xlabel("ranks, each on a simulated host")
        axes.set_xticks(numbers, [str(number) for number in numbers])
        axes.minorticks_off()
        axes.grid(alpha=0.25)
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
    line = rows[0]["line"]
    figure.suptitle(
        f"Hosts in namespaces of one machine with {cores} cores: {line['latency_ms']:g} ms, "
        f"{line['megabits']:,.0f} Mbit/s"
    )
    write_whole(target, lambda path: figure.savefig(path, format="png", dpi=130))
    plt.close(figure)

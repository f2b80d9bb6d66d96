"""Steps of a training on ranks: time, bytes and memory, on this machine or on several hosts.

Ranks begin a run as `hale train --ranks` does: rank 0 lays out the graph, all map it. Memory is
what a process holds while it trains; of pages that several hold, such as those of mapped facts and
of torch's libraries, each counts its share.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, NoReturn

import torch

from hale.data.graph import GraphSize
from hale.engine.group import Group
from hale.engine.memory import held_mb
from hale.engine.shards import SHARDS
from hale.errors import HaleError, InputError
from hale.lab.bench.growth import synthetic
from hale.lab.bench.hosts import Hosts, Line
from hale.lab.bench.traffic import Step, bytes_a_step
from hale.lab.bench.wire import PLACES, enter
from hale.runs.folder import RunFolder
from hale.runs.systems import build_model, complete
from hale.training.ranked_start import begun_on_ranks
from hale.training.ranked_step import RankedStep
from hale.training.trainer import Trainer

PORT = 29511
TIMEOUT = 300.0  # seconds that ranks wait for one that starts slowly
WARM_UP = 3


class Asked(NamedTuple):
    """What is measured."""

    entities: int = 100_000
    dim: int = 32
    batch: int = 1024
    queries: int = 100
    block: str = "4096"
    steps: int = 12


def _given(ask: Asked, threads: int = 1) -> dict[str, Any]:
    """The settings that a run is given."""
    sizes = {"dim": ask.dim, "queries": ask.queries, "block": ask.block, "batch_size": ask.batch}
    return {"recipe": "none", **sizes, "epochs": 1000, "threads": threads}


def measure(folder: str, *asked: Any) -> dict[str, Any]:
    """In one rank of a group: the median time of a step, what is sent, and memory.

    The run is begun in a folder of its own, and ends with the steps that are timed.
    """
    ask = Asked(*asked)
    group = Group.join(TIMEOUT)
    load = partial(synthetic, ask.entities)
    trainer = begun_on_ranks(group, load, _given(ask), folder=RunFolder(Path(folder) / "run"))
    assert trainer is not None
    step = trainer.native_step
    assert isinstance(step, RankedStep)
    for _ in range(WARM_UP):
        trainer._step()
    group.sent.clear()
    group.calls.clear()
    times = _times(trainer, ask.steps)
    sent, calls = dict(group.sent), dict(group.calls)
    names = sorted(calls)
    total = group.all_reduce(torch.tensor([sent[name] for name in names] or [0]))
    memory = float(group.all_reduce(torch.tensor(held_mb()), "max"))  # all are still there
    shape = _shape(trainer, step, ask)
    counted = {name: int(total[i]) / group.size / ask.steps for i, name in enumerate(names)}
    formula = bytes_a_step(shape, group.size)
    each = {name: count / ask.steps for name, count in calls.items()}
    found = {
        "ranks": group.size,
        **ask._asdict(),
        "median_ms": 1e3 * statistics.median(times),
        "best_ms": 1e3 * min(times),
        "sent": counted,
        "formula": formula,
        "sent_bytes": sum(counted.values()),
        "formula_bytes": sum(formula.values()),
        "calls": each,
        "rounds": sum(each.values()) if group.size > 1 else 0.0,
        "rows": len(trainer.model.entities()),
        "memory_mb": memory,
    }
    group.barrier()
    group.leave()
    return found


def measure_process(threads: int, *asked: Any) -> dict[str, Any]:
    """In one process without ranks: the median time of a step, and memory."""
    ask = Asked(*asked)
    graph = synthetic(ask.entities)
    trainer = Trainer(graph, complete(graph, **_given(ask, threads)))
    _times(trainer, WARM_UP)
    times = _times(trainer, ask.steps)
    found = {"threads": threads, **ask._asdict(), "median_ms": 1e3 * statistics.median(times)}
    return found | {"best_ms": 1e3 * min(times), "memory_mb": held_mb()}


def process_row(threads: int, ask: Asked) -> dict[str, Any]:
    """The figures of one process of its own with so many threads."""
    call = f"print(json.dumps(measure_process({threads}, *{tuple(ask)!r})))"
    return _told(f"import json; from hale.lab.bench.rank_step import measure_process; {call}")


def _times(trainer: Trainer, steps: int) -> list[float]:
    """The seconds of each of some steps."""
    found = []
    for _ in range(steps):
        began = time.perf_counter()
        trainer._step()
        found.append(time.perf_counter() - began)
    return found


def _shape(trainer: Trainer, step: RankedStep, ask: Asked) -> Step:
    """The sizes of the trainer's step."""
    shared, row = step.pieces.part_widths, trainer.model.entities().shape[1]
    scales = 3 if trainer.model.similarity == "l2" else 1  # of l2: w, and by distance and scale
    return Step(
        batch=ask.batch,
        row=row,
        queries=ask.queries,
        asked=sum(step.pieces.widths),
        columns=scales + row,
        runs=scales + 1,
        shared=sum(shared),
        tensors=len(shared),
    )


def rank_row(ranks: int, ask: Asked, line: Line | None = None) -> dict[str, Any]:
    """The figures of so many ranks, on hosts of their own where a line between them is given."""
    with (
        TemporaryDirectory(prefix="hale-ranks-") as folder,
        nullcontext() if line is None else Hosts(ranks, line) as hosts,
    ):
        asked = (folder, *ask)
        if hosts is None:
            call = f"start_ranks({ranks}, {asked!r}, {_free_port()})"
        else:
            call = f"fork_ranks({ranks}, {asked!r}, {hosts.address(0)!r}, {hosts.names!r})"
        row = _told(f"from hale.lab.bench import rank_step; rank_step.{call}")
        row["hosts"] = None if hosts is None else hosts.simulated_by
        row["line"] = None if line is None else line._asdict()
    return row


def start_ranks(ranks: int, asked: tuple[Any, ...], port: int) -> None:
    """Start so many ranks on this machine, each a process that shares with others what ranks do.

    The first prints what it measured. Where one fails none is waited for.
    """
    place = "127.0.0.1", port, "lo"
    started = []
    for rank in range(ranks):
        call = f"be_rank({rank}, {ranks}, {asked!r}, {place!r})"
        code = f"from hale.lab.bench.rank_step import be_rank; {call}"
        started.append(subprocess.Popen([sys.executable, "-c", code]))  # noqa: S603
    for _ in range(ranks):
        if os.wait()[1]:
            raise SystemExit(1)


def fork_ranks(ranks: int, asked: tuple[Any, ...], where: str, names: Sequence[str]) -> None:
    """The same, each in its namespace.

    They are forked from one process that has imported all: 64 would be minutes at it.
    """
    for rank in range(ranks):
        if not os.fork():
            be_rank(rank, ranks, asked, (where, PORT, f"hale{rank}"), names[rank])
    for _ in range(ranks):
        if os.wait()[1]:
            raise SystemExit(1)


def be_rank(
    rank: int,
    ranks: int,
    asked: tuple[Any, ...],
    place: tuple[str, int, str],
    name: str | None = None,
) -> NoReturn:
    """Measure as one rank, and end.

    Ranks meet at an address and a port, by an interface, in the namespace of that name.
    """
    status = 1
    try:
        if name is not None:
            enter(PLACES / name)
        where, port, interface = place
        os.environ |= {
            "RANK": str(rank),
            "WORLD_SIZE": str(ranks),
            "MASTER_ADDR": where,
            "MASTER_PORT": str(port),
            "GLOO_SOCKET_IFNAME": interface,
        }
        found = measure(*asked)
        if not rank:
            print(json.dumps(found), flush=True)
        status = 0
    except BaseException:  # told by this rank; the others miss it
        traceback.print_exc()
    os._exit(status)


def _told(code: str) -> dict[str, Any]:
    """What a process of its own printed last; whatever happens, none is left."""
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", code],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        told, fault = process.communicate()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.returncode:
        raise HaleError(f"A rank failed:\n{fault[-2000:]}")
    row: dict[str, Any] = json.loads(told.splitlines()[-1])
    return row


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def rank_rows(
    sizes: Sequence[int],
    ask: Asked,
    line: Line | None = None,
    follow: Callable[[dict[str, Any]], object] | None = None,
) -> list[dict[str, Any]]:
    """A row for each number of ranks."""
    build_model(complete(**_given(ask)), GraphSize(1, 1))  # faults are told before any process
    if not all(1 <= ranks <= SHARDS for ranks in sizes) or ask.entities < 1:
        raise InputError(
            f"There are 1 to {SHARDS} ranks, got {[*sizes]}, and 1 entity or more, got "
            f"{ask.entities:,}."
        )
    rows = []
    for ranks in sizes:
        rows.append(rank_row(ranks, ask, line))
        if follow is not None:
            follow(rows[-1])
    return rows

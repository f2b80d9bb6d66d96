"""hale serve under load: how long one query takes, and how many are answered a second.

    python benchmarks/serve.py --run runs/demo                     the figures, as lines
    python benchmarks/serve.py --run runs/demo --out docs/results  serve.json and serve.md

Three cases, each with a server in a process of its own (`hale serve`, as a user starts it) and the
clients in another, on the same machine:

    demo      10 clients on the run that is given: that of make demo after hale calibrate, so that
              answers have probabilities
    million   10 clients on a made-up run of 10^6 entities, RotL with d = 32 and random vectors
    flood     32 clients on the run that is given, for a minute; memory before and after

A client sends its next query when it has the answer to the last: GET /api/v1/predict with k = 10,
half of them for tails and half for heads, drawn from 10,000 queries of known facts. Connections
are kept. What the clients themselves take of the two cores is told beside: it is the server's loss.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import torch

from hale.data.graph import Graph, Vocabulary
from hale.lab.bench.machine import machine
from hale.runs.folder import RunFolder
from hale.runs.run import load_run
from hale.runs.systems import build_model
from hale.settings import make_settings

TOKEN = "a token for this machine"  # noqa: S105
QUERIES = 10_000
WARM_UP = 3.0  # seconds that are not counted

CASES: dict[str, dict[str, Any]] = {
    "demo": {"clients": 10, "seconds": 20.0, "target": "p99 of 20 ms"},
    "million": {"clients": 10, "seconds": 20.0, "target": "p99 of 150 ms"},
    "flood": {
        "clients": 32,
        "seconds": 60.0,
        "target": "400 a second, no error, memory flat within 5 %",
    },
}


def make_run(folder: Path, num_entities: int = 1_000_000) -> Path:
    """A run of so many entities, 50 relations and three facts an entity, all at random."""
    num_relations, num_facts = 50, 3 * num_entities
    draw = np.random.default_rng(0)
    limits = (num_entities, num_relations, num_entities)
    facts = np.stack([draw.integers(0, limit, num_facts) for limit in limits], axis=1)
    graph = Graph(
        "made up",
        Vocabulary([f"entity {i:07}" for i in range(num_entities)], "entity"),
        Vocabulary([f"relation {i}" for i in range(num_relations)], "relation"),
        facts[2000:],
        facts[:1000],
        facts[1000:2000],
    )
    settings = make_settings(model="rotl", dim=32)
    torch.manual_seed(0)
    RunFolder.create(folder, settings, graph, build_model(settings, graph.size).state_dict())
    return folder


def write_queries(run: Path, target: Path) -> None:
    """Queries of known facts as lines of their parameters."""
    graph = load_run(run, device="cpu").graph
    triples = graph.triples
    draw = np.random.default_rng(1)
    with target.open("w", encoding="utf-8") as file:
        for number, row in enumerate(draw.integers(0, len(triples), QUERIES)):
            head, relation, tail = triples[row].tolist()
            given = ("head", head) if number % 2 else ("tail", tail)
            asked = {given[0]: graph.entities[given[1]], "relation": graph.relations[relation]}
            file.write(urlencode({**asked, "k": 10}) + "\n")


async def one_client(
    port: int, requests: list[bytes], until: float, since: float, notes: dict[str, Any]
) -> None:
    """Ask, wait for the answer, ask again."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while (began := time.perf_counter()) < until:
        writer.write(random.choice(requests))  # noqa: S311
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        body = await reader.readexactly(length)
        if began >= since:
            notes["times"].append(time.perf_counter() - began)
            notes["errors"] += not (head.startswith(b"HTTP/1.1 200") and b'"answers"' in body)
    writer.close()


async def ask(port: int, clients: int, seconds: float, queries: Path) -> dict[str, Any]:
    """All clients at once; times in milliseconds."""
    head = f"HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    lines = queries.read_text(encoding="utf-8").splitlines()
    requests = [f"GET /api/v1/predict?{line} {head}".encode() for line in lines]
    notes: dict[str, Any] = {"times": [], "errors": 0}
    since = time.perf_counter() + WARM_UP
    asking = (one_client(port, requests, since + seconds, since, notes) for _ in range(clients))
    await asyncio.gather(*asking)
    times = np.array(notes["times"]) * 1e3
    used = time.process_time()
    return {
        "requests": len(times),
        "errors": int(notes["errors"]),
        "per_second": len(times) / seconds,
        "p50_ms": float(np.percentile(times, 50)),
        "p99_ms": float(np.percentile(times, 99)),
        "max_ms": float(times.max()),
        "client_cores": used / (seconds + WARM_UP),
    }


def resident_mb(pid: int) -> float:
    """The memory of a process that is its own (Linux)."""
    fields = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(f.split()[1]) / 1024 for f in fields if f.startswith("VmRSS:"))


def cores_used(pid: int) -> float:
    """The seconds of CPU that a process has used so far (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(run: Path, queries: Path, clients: int, seconds: float) -> dict[str, Any]:
    """Start a server, ask it from another process, and end it."""
    command = [sys.executable, "-m", "hale", "serve", str(run), "--port", "0"]
    environment = {**os.environ, "HALE_TOKEN": TOKEN}
    began = time.perf_counter()
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            port = int(server.stdout.readline().split(":")[2].split("/")[0])
            ready = time.perf_counter() - began
            load = [sys.executable, __file__, "--ask", str(port), str(clients)]
            memory, used = [], cores_used(server.pid)
            with subprocess.Popen(
                [*load, str(seconds), str(queries)], stdout=subprocess.PIPE, text=True
            ) as asking:
                while asking.poll() is None:
                    memory.append(resident_mb(server.pid))
                    time.sleep(0.5)
                assert asking.stdout is not None
                told = json.loads(asking.stdout.read())
            used = cores_used(server.pid) - used
        finally:
            server.terminate()
    # without the start: the first tenth of what was noted
    steady = memory[len(memory) // 10 + 1 :]
    return {
        "clients": clients,
        "seconds": seconds,
        "ready_seconds": ready,
        **told,
        "server_cores": used / (seconds + WARM_UP),
        "memory_mb": {"first": steady[0], "last": steady[-1], "most": max(steady)},
        "memory_growth": steady[-1] / steady[0] - 1,
    }


def page(found: dict[str, Any]) -> str:
    """The figures as a page."""
    rows = [
        f"| {name} | {case['clients']} | {case['p50_ms']:.1f} ms | {case['p99_ms']:.1f} ms | "
        f"{case['per_second']:,.0f} | {case['errors']} | {case['memory_mb']['first']:.0f} MB, "
        f"{case['memory_growth']:+.1%} | {case['server_cores']:.2f} + {case['client_cores']:.2f} | "
        f"{case['target']} |"
        for name, case in found["cases"].items()
    ]
    about = found["machine"]
    return "\n".join(
        (
            "# hale serve under load",
            "",
            "Written by `python benchmarks/serve.py --run RUN --out docs/results`, which says what",
            "the cases are. One machine has both sides: "
            f"{about['cpu']}, {about['cores']} cores; Python "
            f"{about['python']}, PyTorch {about['torch']}.",
            "",
            "| case | clients | p50 | p99 | a second | errors | memory, growth | cores: server + "
            "clients | asked for |",
            "|---|---|---|---|---|---|---|---|---|",
            *rows,
            "",
            "Queries that arrive while others are computed share the next pass over the entities "
            "(`serve/gathering.py`),",
            "so more clients cost little more time each.",
            "",
        )
    )


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description="hale serve under load")
    parser.add_argument("--run", type=Path, help="the demo's run")
    parser.add_argument("--million", type=Path, help="a run that an earlier call made")
    parser.add_argument("--out", type=Path, help="folder for serve.json and serve.md")
    parser.add_argument("--ask", nargs=4, help=argparse.SUPPRESS)  # the clients' process
    given = parser.parse_args()
    if given.ask:
        port, clients, seconds, queries = given.ask
        told = asyncio.run(ask(int(port), int(clients), float(seconds), Path(queries)))
        sys.stdout.write(json.dumps(told) + "\n")
        return
    if given.run is None:
        parser.error("--run RUN: the run that make demo trains")
    work = Path(tempfile.mkdtemp())
    try:
        million = given.million or work / "million"
        if not million.exists():
            make_run(million)
        runs = {"demo": given.run, "million": million, "flood": given.run}
        cases = {}
        for name, case in CASES.items():
            queries = work / f"{name}.txt"
            write_queries(runs[name], queries)
            figures = measure(runs[name], queries, case["clients"], case["seconds"])
            cases[name] = {**figures, "target": case["target"]}
            print(name, json.dumps(cases[name]), flush=True)
    finally:
        shutil.rmtree(work)
    if given.out is not None:
        found = {"machine": machine(), "cases": cases}
        (given.out / "serve.json").write_text(json.dumps(found, indent=2) + "\n")
        (given.out / "serve.md").write_text(page(found))


if __name__ == "__main__":
    main()

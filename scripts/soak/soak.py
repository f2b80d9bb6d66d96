"""Long load: memory, file handles and answers of hale serve and of one Python process, over hours.

    python scripts/soak/soak.py --seconds 7200

One process trains, updates, predicts and loads runs in a loop; beside it `hale serve` answers the
same kinds of requests over and over, wrong ones too. After each round memory, file handles and
threads of both are written down; this process collects its garbage before, the server as Python
does by itself. It fails where memory grows by more than GROWTH after the warm-up, where handles
become more, or threads by more than a pool's, or where answers differ from the first. Written to
docs/results/soak.json, with soak.md beside it.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import hashlib
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from soak_page import GROWTH, WARM_UP, judged, page

RESULTS = Path(__file__).parents[2] / "docs/results"
TOKEN = "a token for a long load, nobody else's"  # noqa: S105
REQUESTS = 200  # to the server, a round
SIZE = 400  # entities of the graph
QUICK: dict[str, Any] = {"dim": 16, "batch_size": 256, "queries": 16, "threads": 1}
JSON = {"Content-Type": "application/json"}


def write_graph(folder: Path) -> None:
    """A ring of entities, with `next` and `skip`; some facts held out, some to add."""
    folder.mkdir()
    facts = [
        f"e{i}\t{relation}\te{(i + step) % SIZE}\n"
        for relation, step in (("next", 1), ("skip", 2), ("far", 7))
        for i in range(SIZE)
    ]
    (folder / "valid.tsv").write_text("".join(facts[::20]))
    (folder / "test.tsv").write_text("".join(facts[10::20]))
    (folder / "train.tsv").write_text("".join(f for i, f in enumerate(facts) if i % 10))
    (folder.parent / "new.tsv").write_text("".join(f"n{i}\tnext\te{i}\n" for i in range(20)))


@contextmanager
def serving(run: Path) -> Iterator[tuple[int, int]]:
    """`hale serve` in a process of its own: its id, and the port it listens at."""
    command = [sys.executable, "-m", "hale", "serve", str(run), "--port", "0"]
    known = os.environ | {"HALE_TOKEN": TOKEN}
    server = subprocess.Popen(command, env=known, stdout=subprocess.PIPE, text=True)  # noqa: S603
    assert server.stdout is not None
    try:
        found = re.search(r":(\d+)/", server.stdout.readline())
        assert found is not None, "hale serve did not start"
        yield server.pid, int(found[1])
    finally:
        server.terminate()
        server.wait(20)


def asked() -> list[tuple[str, str, bytes | None, int]]:
    """Requests of all kinds: method, path, body, and the status that is right."""
    query = {"queries": [{"head": f"e{i}", "relation": "next"} for i in range(20)], "k": 5}
    claims = {"triples": [{"head": "e1", "relation": "next", "tail": f"e{i}"} for i in range(5)]}
    good = (
        *("run", "relations", "search?q=e1", "entities/e5", "vectors/e7", "discover?k=5"),
        *("predict?head=e3&relation=skip", "predict?relation=far&tail=e9&known=drop"),
        *("predict?head=e1&tail=e2", "neighbors/e4?k=5", "why?head=e1&relation=next&tail=e2"),
    )
    wrong = (("nothing/here", 404), ("predict?head=none&relation=next", 404), ("search?k=0", 422))
    return [
        *(("GET", path, None, 200) for path in good),
        *(("GET", path, None, status) for path, status in wrong),
        ("POST", "predict", json.dumps(query).encode(), 200),
        ("POST", "classify", json.dumps(claims).encode(), 200),
        ("POST", "predict", b'{"queries": [', 400),
    ]


def load(port: int, count: int) -> str:
    """``count`` requests, some on a connection that is kept, some each on a new one -> a digest."""
    found, requests = hashlib.sha256(), asked()
    headers = {"Authorization": f"Bearer {TOKEN}"}
    kept = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for number in range(count):
        method, path, body, status = requests[number % len(requests)]
        alone = number % 5 == 0
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=60) if alone else kept
        line.request(method, f"/api/v1/{path}", body, headers | (JSON if body else {}))
        answer = line.getresponse()
        text = answer.read()
        if answer.status != status:
            raise AssertionError(f"{method} {path}: {answer.status}, not {status}: {text[:200]!r}")
        found.update(text)
        if alone:
            line.close()
    kept.close()
    return found.hexdigest()


def work(folder: Path) -> str:
    """Train, update, load and predict in this process -> a digest of all answers."""
    import hale

    run = hale.train(folder / "graph", epochs=3, out=folder / "a", overwrite=True, **QUICK)
    hale.evaluate(run, split="test")
    new = hale.update(run, folder / "new.tsv", epochs=2, out=folder / "b", overwrite=True)
    told = []
    for one in (hale.load_run(folder / "a"), hale.load_run(folder / "b"), new):
        told += [repr(hale.predict(one, head=f"e{i}", relation="next", k=5)) for i in range(5)]
        told.append(repr([*hale.neighbors(one, "e1", k=5)]))
        told.append(repr([*hale.discover(one, k=5)]))
    return hashlib.sha256("\n".join(told).encode()).hexdigest()


def sample(process: int) -> dict[str, float]:
    """Memory in MB, handles and threads of a process."""
    status = Path(f"/proc/{process}/status").read_text()
    found = {key: int(number) for key, number in re.findall(r"^(\w+):\s+(\d+)", status, re.M)}
    handles = len(list(Path(f"/proc/{process}/fd").iterdir()))
    return {"mb": found["VmRSS"] / 1024, "handles": handles, "threads": found["Threads"]}


def settle() -> None:
    """Collect this process's garbage, and give back what the allocator holds."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def soak(seconds: float, folder: Path, tell: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """Rounds until the time is up -> samples of both processes, and whether answers differed.

    ``tell`` gets what there is so far, now and then.
    """
    warnings.simplefilter("ignore")
    write_graph(folder / "graph")
    import hale

    served = folder / "served"
    hale.calibrate(hale.train(folder / "graph", epochs=3, out=served, **QUICK))
    began, differed = time.monotonic(), 0
    rows: list[dict[str, Any]] = []
    found: dict[str, Any] = {}
    with serving(served) as (server, port):
        first = work(folder), load(port, REQUESTS)
        while not rows or time.monotonic() - began < seconds:
            differed += (work(folder), load(port, REQUESTS)) != first
            settle()
            row = {"s": round(time.monotonic() - began, 1)}
            for name, process in (("python", os.getpid()), ("serve", server)):
                row |= {f"{name}_{what}": value for what, value in sample(process).items()}
            rows.append(row)
            found = {"seconds": round(row["s"]), "differed": differed, "rows": rows}
            if len(rows) % 20 == 0:
                print(row, flush=True)
                tell(found)
    return found


def keep(found: dict[str, Any], folder: Path) -> list[str]:
    """Write what was found and the page of it -> the faults."""
    from hale.lab.bench.machine import machine

    told = {"machine": machine(), "requests_a_round": REQUESTS, **judged(found), **found}
    told["rows"] = thinned(found["rows"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "soak.json").write_text(json.dumps(told, indent=1) + "\n")
    (folder / "soak.md").write_text(page(told))
    return list(told["faults"])


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=7200)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        found = soak(given.seconds, Path(place), lambda so_far: keep(so_far, given.out))
    faults = keep(found, given.out)
    print("\n".join(faults) or f"flat within {GROWTH:.0%} after {WARM_UP:.0%} of the time")
    sys.exit(bool(faults))


def thinned(rows: list[dict[str, float]], most: int = 60) -> list[dict[str, float]]:
    """Some of the samples, evenly, the last among them."""
    step = -(-len(rows) // most)
    return rows[::-1][::step][::-1] if rows else rows


if __name__ == "__main__":
    main()

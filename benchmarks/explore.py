"""hale explore in a real browser: how long until something is seen, and how smoothly it moves.

    python benchmarks/explore.py --run runs/demo                     the figures, as lines
    python benchmarks/explore.py --run runs/demo --out docs/results  explore.json and explore.md

Three runs: the one that is given (make demo), without its map.parquet, and made-up ones of 10^5 and
10^6 entities (RotL, d = 32, three facts an entity, all at random, as in benchmarks/serve.py). Each
is served by `hale explore`, as a user starts it, and opened in Debian's chromium without a window
and without a graphics card: everything is drawn in software on the same cores.

    command to address   until the address is printed
    command to points    until the first page and its points have been answered, as asked over HTTP
    data to paint        in the browser, from the arrival of the points to their first picture
    whole frame          how long all points take to draw
    panning              frames a second while the map is dragged for three seconds, and one in how
                         many points a frame drew (`web/src/pace.ts`); when all is loaded and no
                         layout is being made
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from tests.browser.conftest import FLAGS  # noqa: E402
from tests.browser.test_explore import PAN  # noqa: E402

from hale.lab.bench.machine import machine  # noqa: E402
from hale.runs.file_names import MAP  # noqa: E402
from hale.serve.map.first_sight import first_sight  # noqa: E402
from hale.serve.map.map_file import Layout, write_map  # noqa: E402
from hale.serve.map.projection import pca  # noqa: E402
from hale.serve.pages.rendering import STATIC  # noqa: E402
from serve import make_run  # noqa: E402

TARGETS = {"demo": (2.0, 1.0), "10^5": (None, 1.0), "10^6": (10.0, 4.0)}  # seconds to see, to paint
SECONDS = 3.0  # of panning


def start(run: Path) -> tuple[subprocess.Popen[str], str, float, float]:
    """The server, its address, and the seconds until that and until the first points."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "hale", "explore", str(run), "--no-browser"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert server.stdout is not None
    address = server.stdout.readline().strip()
    listening = time.perf_counter() - began
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with opener.open(address) as answer:
        answer.read()
    with opener.open(address.partition("/?")[0] + "/map/points") as answer:
        answer.read()
    return server, address, listening, time.perf_counter() - began


def browser() -> Any:
    """Debian's chromium, drawing in software."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = shutil.which("chromium") or "/usr/bin/chromium"
    for flag in (*FLAGS, "--window-size=1360,900"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(60)
    return driver


def asked(driver: Any, script: str, patience: float = 90.0) -> Any:
    """What a script returns, once it returns something."""
    late = time.monotonic() + patience
    while time.monotonic() < late:
        if value := driver.execute_script(f"return {script}"):
            return value
        time.sleep(0.05)
    raise TimeoutError(script)


def measure(run: Path) -> dict[str, Any]:
    """One run, from the command to a map that moves."""
    server, address, listening, points = start(run)
    driver = browser()
    try:
        driver.get(address)
        paint = float(asked(driver, "stage.dataset.painted"))
    finally:
        end(server)
    files = first_sight(run)  # with a layout that is kept, nothing is at work beside
    layout = Layout.of("tsne", pca(files.places), files.graph)
    write_map(run, files.graph, layout, files.weights)
    server, address, _, _ = start(run)
    try:
        driver.get(address)
        driver.get(address.partition("/?")[0] + "/run")  # waits until all is loaded
        driver.get(address.partition("/?")[0])
        whole = float(asked(driver, "stage.dataset.whole"))
        time.sleep(2.0)
        seen = driver.execute_async_script(PAN, SECONDS)
        gaps = np.array(seen["gaps"])
        return {
            "entities": int(asked(driver, "stage.dataset.count")),
            "listening_seconds": listening,
            "points_seconds": points,
            "paint_ms": paint,
            "whole_ms": whole,
            "frames_per_second": 1000 * len(gaps) / float(gaps.sum()),
            "slowest_tenth_ms": float(np.percentile(gaps, 90)),
            "every": float(np.median(seen["every"])),
        }
    finally:
        driver.quit()
        end(server)
        (run / MAP).unlink()


def end(server: subprocess.Popen[str]) -> None:
    """As Ctrl-C does."""
    server.send_signal(signal.SIGINT)
    server.communicate(timeout=60)


def weight() -> dict[str, int]:
    """Bytes of script, as they are and packed."""
    scripts = [path.read_bytes() for path in STATIC.glob("*.js")]
    return {
        "script": sum(map(len, scripts)),
        "packed": sum(len(gzip.compress(script)) for script in scripts),
    }


def page(found: dict[str, Any]) -> str:
    """The figures as a page."""
    rows = []
    for name, case in found["cases"].items():
        see, paint = TARGETS[name]
        points = f"{case['points_seconds']:.1f} s" + (f" (asked for: {see:g})" if see else "")
        rows.append(
            f"| {name} | {case['entities']:,} | {case['listening_seconds']:.1f} s | {points} | "
            f"{case['paint_ms'] / 1000:.2f} s (asked for: {paint:g}) | {case['whole_ms']:.0f} ms | "
            f"{case['frames_per_second']:.0f}, {case['slowest_tenth_ms']:.0f} ms | "
            f"{case['every']:.0f} |"
        )
    about, bytes_ = found["machine"], found["weight"]
    return "\n".join(
        (
            "# hale explore in the browser",
            "",
            "Written by `python benchmarks/explore.py --run RUN --out docs/results`, which says",
            f"how it is measured: {about['cpu']}, {about['cores']} cores, "
            f"Python {about['python']};",
            "chromium without a window",
            "and without a graphics card, so that every point is drawn by the processor.",
            "",
            "| run | entities | command to address | command to points | data to paint | "
            "whole frame | panning: frames a second, nine of ten within | one in |",
            "|---|---|---|---|---|---|---|---|",
            *rows,
            "",
            "While the map moves one in so many points is drawn, as many as keep frames short here "
            "(`web/src/pace.ts`); all of",
            "them when it rests, and always where all take under 20 ms.",
            "",
            f"Scripts of all pages: {bytes_['script'] / 1000:.0f} kB, "
            f"{bytes_['packed'] / 1000:.0f} kB by gzip (asked for: at most 600 and 200).",
            "",
        )
    )


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description="hale explore in the browser")
    parser.add_argument("--run", type=Path, required=True, help="the demo's run")
    parser.add_argument("--million", type=Path, help="a run of 10^6 entities that was made earlier")
    parser.add_argument("--out", type=Path, help="folder for explore.json and explore.md")
    given = parser.parse_args()
    work = Path(tempfile.mkdtemp())
    cases = {}
    try:
        demo = work / "demo"
        shutil.copytree(given.run, demo, ignore=shutil.ignore_patterns("map.parquet"))
        runs = {"demo": demo, "10^5": make_run(work / "many", 100_000)}
        runs["10^6"] = given.million or make_run(work / "million", 1_000_000)
        for name, run in runs.items():
            cases[name] = measure(run)
            print(name, json.dumps(cases[name]), flush=True)
    finally:
        shutil.rmtree(work)
    if given.out is not None:
        found = {"machine": machine(), "weight": weight(), "cases": cases}
        (given.out / "explore.json").write_text(json.dumps(found, indent=2) + "\n")
        (given.out / "explore.md").write_text(page(found))


if __name__ == "__main__":
    main()

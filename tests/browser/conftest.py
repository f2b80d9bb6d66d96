"""A real browser, and servers of real runs that it opens."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hale.data.graph import Graph, Vocabulary
from hale.models import make_model
from hale.runs.folder import RunFolder
from hale.settings import make_settings

FLAGS = (
    *("--headless=new", "--no-sandbox", "--hide-scrollbars", "--no-first-run"),
    *("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
    *("--disable-quic", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--disable-dev-shm-usage"),
)
SCRIPT = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>"
LONG = "long" * 100


class Server:
    """hale explore on a run, as a user starts it."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self.process: subprocess.Popen[str] | None = None
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "hale", "explore", self.run.name, "--no-browser"]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            text=True,
            cwd=self.run.parent,
            env={
                **os.environ,
                "OMP_NUM_THREADS": "1",
                "PYTHONUNBUFFERED": "1",
                "LOGNAME": "ada",
            },
        )
        assert self.process.stdout is not None
        self.opening = self.process.stdout.readline().strip()
        assert self.opening, "hale explore printed no address"
        self.address = self.opening.partition("/?")[0]

    def end(self, how: signal.Signals = signal.SIGINT) -> int:
        """Send a signal, and tell the status that it ends with."""
        assert self.process is not None
        self.process.send_signal(how)
        self.process.communicate(timeout=120)
        return self.process.returncode


@pytest.fixture
def serve() -> Iterator[Callable[[Path], Server]]:
    """Starts servers that end with the test."""
    started: list[Server] = []

    def start(run: Path) -> Server:
        started.append(Server(run))
        return started[-1]

    yield start
    for server in started:
        if server.process is not None and server.process.poll() is None:
            server.end(signal.SIGKILL)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the bundled WordNet: $HALE_DEMO_RUN, or one of twelve seconds."""
    target = tmp_path_factory.mktemp("demo") / "demo"
    if given := os.environ.get("HALE_DEMO_RUN"):
        shutil.copytree(given, target, ignore=shutil.ignore_patterns("review.jsonl", "*.tsv.new"))
    else:
        command = [sys.executable, "-m", "hale", "train", "wordnet", "--budget", "12s"]
        subprocess.run([*command, "--out", str(target)], check=True, capture_output=True)
    return target


@pytest.fixture(scope="session")
def shown(demo: Path) -> Iterator[Server]:
    """A server of the demo, for those who only look."""
    server = Server(demo)
    yield server
    server.end(signal.SIGKILL)


@pytest.fixture
def run(demo: Path, tmp_path: Path) -> Path:
    """The demo in a folder of one's own."""
    return Path(shutil.copytree(demo, tmp_path / "demo"))


@pytest.fixture
def odd_run(tmp_path: Path) -> Path:
    """A run some of whose names are made of markup, and one is very long."""
    names = [f"p{i}" for i in range(30)] + [SCRIPT, "a/b?c#d&e", LONG]
    ids = np.arange(len(names) - 1)
    facts = np.stack([ids, ids * 0, ids + 1], axis=1)
    return save(tmp_path / "odd", names, facts, labels={SCRIPT: "<b>bold</b>"})


def save(path: Path, names: list[str], facts: Any, labels: dict[str, str] | None = None) -> Path:
    """A run that was not trained, its entities at random places in clumps."""
    graph = Graph(
        path.name,
        Vocabulary(names, "entity"),
        Vocabulary(["next <i>"], "relation"),
        train=facts[4:],
        valid=facts[:3],
        test=facts[3:4],
        labels=labels or {},
    )
    model = make_model("transe", graph.size, 8)
    draws = torch.Generator().manual_seed(0)
    with torch.no_grad():
        middles = torch.randn(12, 8, generator=draws)
        clump = torch.arange(len(names)) * 12 // len(names)
        noise = 0.2 * torch.randn(len(names), 8, generator=draws)
        model.entity.weight.copy_(middles[clump] + noise)
    RunFolder.create(path, make_settings(model="transe", dim=8), graph, model.state_dict())
    return path


def many(path: Path, count: int) -> Path:
    """A run of so many entities."""
    ids = np.arange(count - 1)
    facts = np.stack([ids, ids * 0, ids + 1], axis=1)
    return save(path, [f"e{i:08}" for i in range(count)], facts)


@pytest.fixture
def open_browser() -> Iterator[Callable[..., Any]]:
    """Opens browsers of any size, light or dark, that end with the test."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    opened: list[Any] = []
    folders: list[str] = []

    def begin(width: int = 1360, height: int = 900, *, dark: bool = False, scale: int = 1) -> Any:
        options = Options()
        options.binary_location = shutil.which("chromium") or "/usr/bin/chromium"
        folders.append(tempfile.mkdtemp())
        more = [f"--window-size={width},{height}", f"--user-data-dir={folders[-1]}"]
        for flag in (*FLAGS, *more, f"--force-device-scale-factor={scale}"):
            options.add_argument(flag)
        options.add_experimental_option(
            "prefs", {"download.default_directory": folders[-1], "download.prompt_for_download": 0}
        )
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        driver.set_window_size(width, height)
        driver.set_page_load_timeout(120)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        opened.append(driver)
        driver.downloads = Path(folders[-1])  # type: ignore[attr-defined]
        return driver

    yield begin
    for driver in opened:
        driver.quit()
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)

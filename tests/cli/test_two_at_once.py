"""Two processes that want the same: one waits or is refused in one line, and nothing mixes."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from starlette.testclient import TestClient

import hale
from hale.runs.folder import RunFolder
from hale.runs.seal import unsealed
from hale.serve.app import create_app

SMALL = ("--dim", "4", "--batch-size", "8", "--queries", "4", "--threads", "1")
TRAIN = ("train", "graph.tsv", *SMALL)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = [f"e{i}\tr{step}\te{(i + step) % 40}\n" for i in range(40) for step in (1, 3)]
    (tmp_path / "graph.tsv").write_text("".join(rows))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def start(*command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "hale", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_two_trainers_of_one_folder(here: Path) -> None:
    """Of two that begin together one trains; the other is told, and writes nothing."""
    both = [start(*TRAIN, "--epochs", "100", "--seed", seed, "--out", "run") for seed in "12"]
    said = [one.communicate(timeout=120)[1] for one in both]
    won, lost = (0, 1) if both[0].returncode == 0 else (1, 0)
    assert both[won].returncode == 0, said[won]
    assert both[lost].returncode == 2
    assert "Traceback" not in said[lost]
    told = " ".join(said[lost].split())
    assert "error: Another process is writing the run run" in told or "run exists." in told
    run = hale.load_run("run")
    assert run.settings.seed == won + 1
    assert (run.summary.stopped_by, run.summary.epochs) == ("epochs", 100)


def test_whoever_asks_a_run_in_training_gets_one_of_its_states(here: Path) -> None:
    trainer = start(*TRAIN, "--epochs", "1000000", "--validate-every", "1", "--out", "run")
    try:
        late = time.monotonic() + 120
        while not RunFolder("run").has("history.jsonl") and time.monotonic() < late:
            assert trainer.poll() is None, trainer.communicate()[1]
            time.sleep(0.02)
        for _ in range(20):  # while its files are replaced all the time
            run = hale.load_run("run")
            assert hale.evaluate(run).as_dict()["count"] == 2 * len(run.graph.test)
            answers = hale.predict(run, head="e0", relation="r1", k=3)
            assert len(answers) == 3
        evaluated = start("evaluate", "run")
        out, said = evaluated.communicate(timeout=120)
        assert "Traceback" not in said
        if evaluated.returncode:  # it is not kept with a run that another process writes
            assert "Another process is writing the run" in said.replace("\n", " ")
            assert evaluated.returncode == 2
        else:
            assert "MRR" in out
        assert trainer.poll() is None
    finally:
        trainer.kill()
        trainer.communicate()
    found = json.loads(Path("run/settings.json").read_text())
    unsealed(found, must=True)
    hale.load_run("run")


class Slow(BaseHTTPRequestHandler):
    """Sends files in two parts, so that who comes second comes in between."""

    content: ClassVar[dict[str, bytes]] = {}
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        body = self.content[self.path]
        self.asked.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2])
        time.sleep(0.7)
        self.wfile.write(body[len(body) // 2 :])

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    Slow.asked.clear()
    Slow.content = {
        f"/{split}.tsv": "".join(f"a{i}\tr\tb{i}\n" for i in range(count)).encode()
        for split, count in (("train", 20_000), ("valid", 100), ("test", 100))
    }
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_port}"
    httpd.shutdown()
    httpd.server_close()
    thread.join()


FETCH = """
import json, sys
from hale.data.datasets import catalog
from hale.data.datasets.cache import download
from hale.data.datasets.catalog import Dataset, Digest, RemoteFile
told = json.loads(sys.argv[1])
files = {split: RemoteFile(url, Digest("sha256", value)) for split, url, value in told}
print("ready", flush=True)
sys.stdin.readline()
print(download(Dataset("served", "a test", 3, 1, (3, 1, 1), "MIT", files)), flush=True)
"""


def test_two_downloads_of_one_data_set(
    here: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second waits and says so; each file is asked for once."""
    monkeypatch.setenv("HALE_CACHE", str(here / "cache"))
    files = [
        (path[1:-4], server + path, hashlib.sha256(body).hexdigest())
        for path, body in Slow.content.items()
    ]
    both = [
        subprocess.Popen(
            [sys.executable, "-c", FETCH, json.dumps(files)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for one in both:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in both:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    said = [one.communicate(timeout=60)[1] for one in both]
    assert [one.returncode for one in both] == [0, 0], said
    assert sum("another process is downloading served" in text for text in said) == 1
    assert sorted(Slow.asked) == sorted(Slow.content)
    for split, body in ((path[1:-4], body) for path, body in Slow.content.items()):
        assert (here / "cache/served" / f"{split}.txt").read_bytes() == body


def test_an_update_that_takes_the_place_of_a_run_that_is_served(here: Path) -> None:
    """Whoever is answered is answered by the run that was loaded; the folder holds the new one."""
    small = {"dim": 4, "batch_size": 8, "queries": 4}
    hale.train(hale.load("graph.tsv"), epochs=3, **small, out="run")
    (here / "new.tsv").write_text("n0\tr1\te5\n")
    token = {"Authorization": "Bearer of tests"}
    loaded = hale.load_run("run")
    before = loaded.model.entities().clone()
    app = create_app(loaded, token="of tests")
    with TestClient(app, base_url="http://127.0.0.1:8000", headers=token) as client:
        ask = {"head": "e0", "relation": "r1", "k": 3}
        first = client.get("/api/v1/predict", params=ask)
        assert first.status_code == 200
        update = start("update", "run", "new.tsv", "--epochs", "3", "--out", "run", "--overwrite")
        while update.poll() is None:
            assert client.get("/api/v1/predict", params=ask).json() == first.json()
            time.sleep(0.05)
        assert update.returncode == 0, update.communicate()[1]
        update.communicate()
        assert client.get("/api/v1/predict", params=ask).json() == first.json()
    assert torch.equal(loaded.model.entities(), before)
    assert "n0" in hale.load_run("run").graph.entities.names
    with pytest.raises(hale.HaleError, match="was replaced or trained on since it was loaded"):
        loaded.save_metrics("test", {"mrr": 1.0})

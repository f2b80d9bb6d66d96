"""Upgrade: the accepted facts of a review brought into the run, by ``hale update`` in a process."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hale.data.files import free_folder, write_whole
from hale.errors import InputError
from hale.runs.file_names import ACCEPTED
from hale.serve.review import Fact, facts_as_text

LEAST_SECONDS, MOST_SECONDS = 1, 3600


@dataclass(frozen=True)
class State:
    """How an update stands."""

    stage: Literal["idle", "running", "done", "failed"] = "idle"
    began: float = 0.0
    seconds: int = 0  # of training that were asked for
    facts: int = 0
    out: Path | None = None
    result: dict[str, Any] = field(default_factory=dict)  # what hale update --json says
    error: str = ""

    @property
    def share(self) -> float:
        """Roughly how much is done: training is most of it."""
        return min(0.99, (time.monotonic() - self.began) / (self.seconds + 5))


def write_accepted(run: Path, facts: list[Fact]) -> Path:
    """What is brought into the run, as a file in its folder; nobody reads it once that is done."""
    text, path = facts_as_text(facts), run / ACCEPTED
    write_whole(path, lambda waiting: waiting.write_bytes(text))
    return path


class Upgrade:
    """One update of a run at a time; the new run gets a folder beside it."""

    def __init__(self, run: Path) -> None:
        self.run = run.absolute()
        self.state = State()
        self._lock = threading.Lock()

    def begin(self, facts: list[Fact], seconds: int) -> None:
        """Update with these facts in a process of its own."""
        if not facts:
            raise InputError("No fact is accepted yet: accept some, then update.")
        if not LEAST_SECONDS <= seconds <= MOST_SECONDS:
            raise InputError(
                f"An update trains for {LEAST_SECONDS} to {MOST_SECONDS:,} seconds, got {seconds}."
            )
        with self._lock:
            if self.state.stage == "running":
                raise InputError("An update is running already; wait for it to end.")
            accepted = write_accepted(self.run, facts)
            out = free_folder(self.run.parent, f"{self.run.name}-updated")
            self.state = State("running", time.monotonic(), seconds, len(facts), out)
        threading.Thread(target=self._follow, args=(accepted, self.state), daemon=True).start()

    def _follow(self, accepted: Path, state: State) -> None:
        assert state.out is not None
        command = [sys.executable, "-P", "-m", "hale", "update", str(self.run), str(accepted)]
        command += ["--out", str(state.out), "--budget", f"{state.seconds}s", "--json"]
        done = subprocess.run(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            start_new_session=True,  # Ctrl-C ends the server, not what was asked for
        )
        about = (state.began, state.seconds, state.facts, state.out)
        try:
            if done.returncode:
                raise ValueError
            self.state = State("done", *about, json.loads(done.stdout))
        except ValueError:
            said = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
            told = next((line for line in said if line.startswith("error: ")), said[-1])
            self.state = State("failed", *about, error=told.removeprefix("error: "))

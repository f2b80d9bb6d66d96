"""kill -9 at any moment leaves a loadable run."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

from hale.evaluation.evaluator import evaluate
from hale.runs.folder import RunFolder
from hale.runs.run import load_run
from hale.training.trainer import Trainer

KILLS = 20

# Trains and saves after every epoch, for as long as it is let live.
CHILD = """
import sys
sys.path.insert(0, sys.argv[1])
from conftest import ring
from hale.training.start import train
graph = ring(400)
train(ring(8), epochs=1, dim=4)  # what PyTorch does on first use is done before the clock runs
print("ready", flush=True)
train(graph, out=sys.argv[2], resume=sys.argv[3] == "resume", epochs=100_000,
      validate_every="1", dim=16, batch_size=256, queries=16, threads=1)
"""


def test_kill_9_twenty_times(tmp_path: Path) -> None:
    """Each life resumes the last one and is killed after a random while: also within a save."""
    draw = random.Random(0)
    run = tmp_path / "run"
    here = str(Path(__file__).parents[1])
    steps = [0]
    for life in range(KILLS):
        mode = "resume" if life else "begin"
        with subprocess.Popen(
            [sys.executable, "-c", CHILD, here, str(run), mode],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            if life == 0:  # let the first life save something
                while not (run / "history.jsonl").exists() and child.poll() is None:
                    time.sleep(0.01)
            time.sleep(draw.uniform(0.0, 0.4))
            child.kill()
            child.wait()
        loaded = load_run(run)
        assert loaded.summary.stopped_by == "unfinished"
        assert 0 < evaluate(loaded, "test").mrr <= 1
        steps.append(loaded.history[-1].step if loaded.history else 0)
    assert steps == sorted(steps), "a kill lost what had been saved"

    # What the kills left behind goes on from where it stopped.
    folder = RunFolder(run)
    trainer = Trainer(folder.read_graph(), folder.read_settings())
    trainer.resume(folder)
    assert trainer.state.clock.step >= steps[-1]
    assert trainer.state.history[-1].step == trainer.state.clock.step

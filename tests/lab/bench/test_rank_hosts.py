"""Hosts of their own, in network namespaces, train what one process trains."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file

from hale.lab.bench.hosts import Hosts, Line

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "1"]
TRAIN = ["-m", "hale", "train", "wordnet", "--epochs", "1", "--dim", "16", "--threads", "1"]
PORT = "29517"


@pytest.mark.cluster
def test_four_hosts_train_wordnet_to_the_weights_of_one(tmp_path: Path) -> None:
    """A millisecond from each to the others."""
    alone, four = tmp_path / "alone", tmp_path / "four"
    command = [*TORCHRUN, "--standalone", *TRAIN, "--out", str(alone)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    with Hosts(4, Line(1.0, 1000.0)) as hosts:
        place = ["--nnodes", "4", "--master-addr", hosts.address(0), "--master-port", PORT]
        started = [
            hosts.start(
                host,
                [*TORCHRUN, *place, "--node-rank", str(host), *TRAIN, "--out", str(four)],
                {"OMP_NUM_THREADS": "1"},
            )
            for host in range(4)
        ]
        told = [process.communicate() for process in started]
        assert [process.returncode for process in started] == [0] * 4, told[0][1][-3000:]
    one, several = (load_file(folder / "model.safetensors") for folder in (alone, four))
    assert one.keys() == several.keys()
    for name, weights in one.items():
        assert weights.equal(several[name]), name

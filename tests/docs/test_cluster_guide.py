"""The guide to clusters: its commands for one machine, as they stand; ``make cluster-test``."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_guides import DOCS, blocks

pytestmark = pytest.mark.cluster

PROGRAMS = {"hale": ["hale"], "torchrun": ["torch.distributed.run"]}
SHORT = ["--dim", "8", "--epochs", "2"]


def test_the_commands_of_one_machine(tmp_path: Path) -> None:
    """Four processes train, train again under torchrun, evaluate and predict; all end well."""
    cities = ["Rome", "Paris", "Oslo", "Bern"]
    lands = ["Italy", "France", "Norway", "Switzerland"]
    facts = [(city, "capital_of", land) for city, land in zip(cities, lands, strict=True)]
    facts += [(f"p{i}", "lives_in", cities[i % 4]) for i in range(60)]
    (tmp_path / "GRAPH").mkdir()
    for split, part in (("train", facts), ("valid", facts[4:9]), ("test", facts[9:14])):
        text = "".join("\t".join(fact) + "\n" for fact in part)
        (tmp_path / f"GRAPH/{split}.tsv").write_text(text)
    first = blocks((DOCS / "cluster.md").read_text(encoding="utf-8"))[0]
    lines = [shlex.split(line, comments=True) for line in first.text.splitlines()]
    assert [line[0] for line in lines] == ["hale", "torchrun", "hale", "torchrun"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    for number, (program, *words) in enumerate(lines):
        asked = [*words]
        if "train" in words:
            asked += SHORT + (["--overwrite"] if number else [])
        ended = subprocess.run(
            [sys.executable, "-m", *PROGRAMS[program], *asked],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, (words, ended.stderr[-2000:])
    assert json.loads((tmp_path / "RUN/metrics.json").read_text())["training"]["ranks"] == 4

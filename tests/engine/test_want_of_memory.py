"""Memory that the kernel does not get is one error, not an abort, whichever thread asked for it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hale.engine import library as kernel

HERE = Path(__file__).parent

pytestmark = [
    pytest.mark.skipif(not kernel.builds(), reason="no kernel was built here"),
    pytest.mark.skipif(not shutil.which("c++"), reason="no compiler here"),
]


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which requests for memory can be refused."""
    hook = tmp_path_factory.mktemp("hook") / "failing_new.so"
    make = ["c++", "-shared", "-fPIC", "-O1", "-o", str(hook), str(HERE / "failing_new.cpp")]
    subprocess.run(make, check=True)
    return {**os.environ, "LD_PRELOAD": str(hook), "HALE_ENGINE": "native"}


def test_each_refused_request_is_one_error(preloaded: dict[str, str]) -> None:
    command = [sys.executable, "-m", "tests.engine.starved"]
    ended = subprocess.run(
        command, env=preloaded, cwd=HERE.parents[1], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    found: dict[str, dict[str, Any]] = json.loads(ended.stdout)
    for name, told in found.items():
        assert told["wrong"] == "", name
        assert told["refused"] == told["tried"], name
        assert told["requests"] > 0 or name == "hale_score_pairs", "a hook that counts nothing"


COMMAND = """
import ctypes, sys
from hale.engine import library as kernel
hook, call = ctypes.CDLL(None), kernel.call
def refused(name, problem):
    hook.failing_arm(1)
    hook.failing_watch(1)
    try:
        call(name, problem)
    finally:
        hook.failing_watch(0)
kernel.call = refused
sys.argv = ["hale", "train", "facts.tsv", "--epochs", "1", "--dim", "4", "--out", "run"]
from hale.cli import main
main()
"""


def test_a_command_ends_in_one_line(preloaded: dict[str, str], tmp_path: Path) -> None:
    rows = "".join(f"e{i}\tnext\te{(i + 1) % 40}\n" for i in range(40))
    (tmp_path / "facts.tsv").write_text(rows)
    ended = subprocess.run(
        [sys.executable, "-c", COMMAND],
        env=preloaded,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2, ended.stderr
    said = " ".join(ended.stderr.split())
    assert "error: there was not enough memory. What was written before is as it was." in said
    assert "Traceback" not in ended.stderr

"""Broken files: an input that ends its process is kept, and read again until it is mended."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts/fuzz"
sys.path.insert(0, str(SCRIPTS))
inputs: Any = importlib.import_module("inputs")

# A reader that takes what the first letter of its input says; the rest of the script is as it is.
CHILD = """
import os, sys, time
sys.path.insert(0, {scripts!r})
import inputs, readers
from pathlib import Path
from hale.errors import InputError

def read(data):
    if data.startswith(b"hang"):
        time.sleep(60)
    if data.startswith(b"end"):
        os.abort()
    if data.startswith(b"much"):
        return len(bytearray(1 << 30))
    if data.startswith(b"bad"):
        raise InputError("bad")
    if data.startswith(b"wrong"):
        raise KeyError("wrong")

inputs.make_readers = lambda *_: {{"text": readers.Reader("text", ({seed!r},), read)}}
inputs.mutated = lambda draw, seeds: seeds[0]
inputs.KEPT, inputs.SECONDS, inputs.MEMORY_MB = Path({kept!r}), 1, 500
inputs.main()
"""


@pytest.fixture
def answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lets the process of a reader meet one input, many times over -> what it told."""
    monkeypatch.setattr(inputs, "KEPT", tmp_path / "kept")
    real = subprocess.run

    def told(seed: bytes) -> Any:
        code = CHILD.format(scripts=str(SCRIPTS), seed=seed, kept=str(tmp_path / "kept"))
        monkeypatch.setattr(
            inputs.subprocess,
            "run",
            lambda argv, **more: real(
                [sys.executable, "-c", code, *argv[2:]], stderr=subprocess.DEVNULL, **more
            ),
        )
        return inputs._inputs("text", tmp_path, 3, 60.0, 0, led=False)

    return told


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"hang on", "the process ended with -14"),
        (b"end of it", "the process ended with -6"),
        (b"wrong", "KeyError at <string>:18: 'wrong'"),
        (b"much", "MemoryError at <string>:14: "),
    ],
)
def test_what_breaks_is_kept(answered: Any, tmp_path: Path, data: bytes, what: str) -> None:
    told = answered(data)
    (broken,) = told["broken"]
    assert broken["what"] == what
    assert (tmp_path / "kept/text" / broken["input"]).read_bytes() == data
    assert inputs.still_broken("text", tmp_path, [broken]) == [broken]


def test_what_is_mended_is_told_no_more(answered: Any, tmp_path: Path) -> None:
    broken = answered(b"end of it")["broken"]
    missing = {"what": "another", "input": "0.bin"}
    assert answered(b"bad")["broken"] == []
    kept = tmp_path / "kept/text" / broken[0]["input"]
    kept.write_bytes(b"bad")  # as it is once the reader refuses it
    assert inputs.still_broken("text", tmp_path, [*broken, missing]) == [missing]


def test_inputs_add_up() -> None:
    one, two = {"what": "b", "input": "1.bin"}, {"what": "a", "input": "2.bin"}
    before = inputs._added({}, {"inputs": 3, "refused": 1, "broken": [one]}, led=True)
    found = inputs._added(before, {"inputs": 2, "refused": 2, "broken": [one, two]}, led=False)
    assert (found["inputs"], found["led"], found["refused"]) == (5, 3, 3)
    assert found["broken"] == [two, one]

"""hale neighbors as a user meets it."""

from __future__ import annotations

from pathlib import Path

import pytest

import hale as api
from tests.cli.invoke import as_json, assert_refused, hale


def test_neighbors(run: Path) -> None:
    found = as_json(hale("neighbors", run, "the first", "-k", 4, "--metric", "cosine", "--json"))
    expected = api.neighbors(api.load_run(run), "e000", k=4, metric="cosine")
    assert found["entity"] == "e000"
    assert found["neighbors"] == [neighbor.as_dict() for neighbor in expected]
    shown = hale("neighbors", run, "e000", "-k", 100).stdout.splitlines()
    assert shown[0].strip() == "e000 (the first), nearest by l2 distance"
    assert len(shown) == 2 + 23


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["neighbors", "run", "e0033"], "Did you mean 'e003'"),
        (["neighbors", "run", "e003", "--metric", "l1"], "Choose from: l2, cosine"),
        (["neighbors", "run", "e003", "-k", "0"], "at least 1"),
    ],
)
def test_bad_input_is_one_message_and_status_2(
    run: Path, arguments: list[str], message: str
) -> None:
    assert_refused(arguments, message, beside=["run"])


@pytest.mark.parametrize("name", ["settings.json", "model.safetensors", "relations.txt"])
def test_a_damaged_run_names_its_file(run: Path, name: str) -> None:
    (run / name).write_bytes(b"\x80junk")
    result = hale("neighbors", run, "e003")
    assert result.exit_code == 2
    assert name in result.stderr

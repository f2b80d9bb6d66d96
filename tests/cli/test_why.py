"""hale why as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hale as api
from tests.cli.invoke import as_json, assert_refused, hale


def test_why(run: Path) -> None:
    found = as_json(hale("why", run, "e003", "next", "e004", "-k", 2, "--json"))
    assert found["split"] == "train"
    assert len(found["support"]) == 2
    told = api.why(api.load_run(run), "e003", "next", "e004", k=2).as_dict()
    assert found == {"run": "run", **json.loads(json.dumps(told))}
    shown = hale("why", run, "e003", "next", "the first").stdout
    for words in ("e003  next  e000 (the first)", "known", "no", "rank of the tail", "of 24"):
        assert words in shown
    assert "nearest facts of train with next" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["why", "run", "e003", "next", "e0044"], "Did you mean 'e004'"),
        (["why", "run", "e003", "nxt", "e004"], "Did you mean 'next'"),
        (["why", "run", "e003", "next", "twin"], "2 entities are labelled 'twin'"),
    ],
)
def test_bad_input_is_one_message_and_status_2(
    run: Path, arguments: list[str], message: str
) -> None:
    assert_refused(arguments, message, beside=["run"])


@pytest.mark.parametrize("name", ["settings.json", "model.safetensors", "relations.txt"])
def test_a_damaged_run_names_its_file(run: Path, name: str) -> None:
    (run / name).write_bytes(b"\x80junk")
    result = hale("why", run, "e003", "next", "e004")
    assert result.exit_code == 2
    assert name in result.stderr

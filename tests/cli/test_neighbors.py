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


def test_neighbors_of_a_type_or_a_set(typed: Path) -> None:
    def found(*options: object) -> set[str]:
        asked = ("neighbors", typed, "e13", "-k", 100, "--json", *options)
        return {near["entity"] for near in as_json(hale(*asked))["neighbors"]}

    assert found("--type", "town") == {"e12", "e14"}
    Path("some.txt").write_text("e13\ne4\ne14\n")
    assert found("--within", "some.txt") == {"e4", "e14"}
    assert found("--type", "e13", "--type-relation", "lives") == {
        f"e{i}" for i in (0, 1, 3, 4, 6, 7, 9, 10)
    }
    assert_refused(["neighbors", "run", "e13", "--type", "twon"], "Did you mean 'town'")


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

"""hale update as a user meets it."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import hale as api
from hale.training.update.options import UpdateOptions
from tests.cli.invoke import assert_refused, hale
from tests.conftest import ring

NEW = "e023\tnext\tnew\nnew\tnext\te000\nnew\tback\te023\n"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run and files of facts, in a working folder of their own."""
    monkeypatch.chdir(tmp_path)
    options: dict[str, Any] = {"dim": 8, "batch_size": 32, "queries": 8}
    api.train(ring(24), epochs=20, out="runs/x", **options)
    Path("new.tsv").write_text(NEW)
    Path("gone.tsv").write_text("e003\tnext\te004\ne003\tnext\te009\n")
    return Path("runs/x")


@pytest.mark.filterwarnings("default::hale.errors.HaleWarning")
def test_update_tells_what_was_done_and_where(run: Path) -> None:
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    result = hale("update", run, "new.tsv", "--epochs", 2)
    assert result.exit_code == 0, result.output
    assert "added 3 facts (1 new entities, 1 new relations), removed 0" in result.stdout
    assert "old test facts, before" in result.stdout
    assert "old test facts, after" in result.stdout
    assert "run:  runs/x-updated\n" in result.stdout
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before
    assert re.search(r"took \d+\.\d s: load .*, train .*, save .*, place .*, other", result.stderr)
    again = hale("update", "runs/x-updated", "new.tsv", "--epochs", 1)
    assert again.stdout == "run:  runs/x-updated, as it was\n"
    assert "warning: nothing to update: the graph has all these facts" in again.stderr
    assert not Path("runs/x-updated-2").exists()
    copied = hale("update", "runs/x-updated", "new.tsv", "--out", "runs/y")
    assert copied.stdout == "run:  runs/y, as it was\n"
    assert hale("show", "runs/y").exit_code == 0
    assert hale("evaluate", "runs/x-updated").exit_code == 0
    asked = ("--head", "new", "--relation", "back", "-k", 1)
    assert hale("predict", "runs/x-updated", *asked).exit_code == 0


def test_update_json_and_holdout(run: Path) -> None:
    Path("held.tsv").write_text("e022\tskip\tnew\n")
    options = ("--epochs", 1, "--holdout", "held.tsv", "--json", "--out", "runs/y")
    result = hale("update", run, "new.tsv", *options)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["run"] == "runs/y"
    assert found["quality"]["held_out"]["count"] == 2
    assert found["training"]["stopped_by"] == "epochs"
    (stored,) = json.loads(Path("runs/y/origin.json").read_text())
    assert stored["quality"] == found["quality"]


@pytest.mark.filterwarnings("default::hale.errors.HaleWarning")
def test_remove_with_bad_lines(run: Path) -> None:
    refused = hale("update", run, "--remove", "gone.tsv", "--epochs", 1)
    assert refused.exit_code == 2
    assert "e003 next e009: there is no such fact" in refused.stderr
    assert not Path("runs/x-updated").exists()
    done = hale("update", run, "--remove", "gone.tsv", "--epochs", 1, "--skip-bad")
    assert done.exit_code == 0
    assert "removed 1" in done.stdout
    assert "removed facts, after" in done.stdout


@pytest.mark.filterwarnings("default::hale.errors.HaleWarning")
def test_a_header_read_as_a_fact_is_warned_of_before_training(run: Path) -> None:
    Path("headed.tsv").write_text("person\tverb\tthing\n" + NEW)
    result = hale("update", run, "headed.tsv", "--epochs", 1)
    assert result.exit_code == 0
    assert result.stderr.count("('person', 'verb', 'thing') looks like a header") == 1
    assert result.stderr.index("looks like a header") < result.stderr.index("stopped by epochs")
    assert "looks like" not in hale("update", run, "headed.tsv", "--epochs", 1, "--header").stderr


def test_a_headed_file_of_facts_to_remove_says_what_to_do(run: Path) -> None:
    Path("headed.tsv").write_text("person\tverb\tthing\ne003\tnext\te004\n")
    refused = hale("update", run, "--remove", "headed.tsv", "--epochs", 1)
    assert refused.exit_code == 2
    assert "none of its names is known; if it is a header, say --header" in refused.stderr
    options = ("--epochs", 1, "--header", "--columns", "person,verb,thing")
    assert hale("update", run, "--remove", "headed.tsv", *options).exit_code == 0


def test_a_run_is_replaced_only_on_request(run: Path) -> None:
    refused = hale("update", run, "new.tsv", "--epochs", 1, "--out", run)
    assert refused.exit_code == 2
    assert "exists. Choose another" in refused.stderr
    assert hale("update", run, "new.tsv", "--epochs", 1, "--out", run, "--overwrite").exit_code == 0
    assert (run / "origin.json").exists()
    left = sorted(path.name for path in run.parent.glob(".*"))
    assert left == [f".{run.name}.lock", f".{run.name}.review.lock"], "nothing but locks is left"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["update", "runs/x"], "facts to add, facts to remove"),
        (["update", "runs/none", "new.tsv"], "There is no run"),
        (["update", "runs/x", "none.tsv"], "there is no such file"),
        (["update", "runs/x", "new.tsv", "--budget", "soon"], "a time looks like"),
        (["update", "runs/x", "new.tsv", "--anchor", "-1"], "a weight is at least 0"),
        (["update", "runs/x", "new.tsv", "--holdout", "0.7"], "held-out share"),
    ],
)
def test_bad_input_is_one_message_and_status_2(
    run: Path, arguments: list[str], message: str
) -> None:
    assert_refused(arguments, message)


def test_help_names_the_defaults() -> None:
    text = " ".join(hale("update", "--help").output.split())
    for name, value in asdict(UpdateOptions()).items():
        _, _, after = text.partition(f" --{name} ")
        assert f"[default: {value}]" in after.partition(" --")[0], name

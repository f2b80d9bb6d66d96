"""hale train as a user meets it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hale.runs.run import load_run
from hale.settings import BY_SYSTEM, Settings
from hale.training.tracking import TRACKERS
from tests.cli.invoke import FAST, as_json, assert_refused, hale
from tests.training.tracking.test_tracker import Noted


def test_train_prints_metrics_and_where_the_run_is(folder: Path) -> None:
    result = hale("train", folder, "--epochs", 20, *FAST)
    assert result.exit_code == 0
    assert "data, test split, filtered" in result.stdout
    for word in ("MRR", "Hits@1", "Hits@3", "Hits@10", "both directions", "tail", "head"):
        assert word in result.stdout
    assert re.search(
        r"kept: the state of step \d+ of \d+, MRR [01]\.\d{4} on 4 validation", result.stdout
    )
    assert "run:  runs/data-rotl-8" in result.stdout
    assert "valid MRR" in result.stderr
    assert "stopped by epochs" in result.stderr
    again = hale("train", folder, "--epochs", 1, *FAST)
    assert "run:  runs/data-rotl-8-2" in again.stdout


def test_train_json(folder: Path) -> None:
    found = as_json(hale("train", folder, "--epochs", 5, "--out", "runs/x", "--json", *FAST))
    assert {"mrr", "mean_rank", "hits@1", "hits@3", "hits@10"} <= set(found)
    assert found["split"] == "test"
    assert found["run"] == "runs/x"
    assert found["training"]["stopped_by"] == "epochs"
    assert found["best"]["metrics"]["count"] == 8
    assert found["settings"]["dim"] == 8


def test_resume_and_overwrite(folder: Path) -> None:
    options = ["--epochs", 10, "--out", "runs/x", *FAST]
    assert hale("train", folder, *options).exit_code == 0
    refused = hale("train", folder, *options)
    assert refused.exit_code == 2
    assert "exists. Choose another folder" in refused.stderr
    assert hale("train", folder, *options, "--resume").exit_code == 0
    assert hale("train", "--out", "runs/x", "--resume").exit_code == 0
    other = hale("train", "--out", "runs/x", "--resume", "--dim", 16)
    assert other.exit_code == 2
    assert "dim is 8, not 16" in other.stderr
    assert hale("train", folder, *options, "--overwrite").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train"], "Name a graph"),
        (["train", "wordnt"], "Did you mean 'wordnet'"),
        (["train", "nowhere.txt"], "there is no such file or folder"),
        (["train", "data", "--model", "Rote"], "Did you mean 'rote'"),
        (["train", "data", "--model", "rotl", "--dim", "33"], "needs an even dim, got 33"),
        (["train", "data", "--activation", "hannon"], "Did you mean 'hanon'"),
        (["train", "data", "--budget", "soon"], "a time looks like"),
        (["train", "data", "--device", "tpu"], "device"),
        (["train", "data", "--columns", "xyz"], "each once"),
        (["train", "data", "--resume"], "--resume goes with --out"),
        (["train", "data", "--dim", "many"], "'--dim' / '-d'"),
    ],
)
def test_bad_input_is_one_message_and_status_2(
    folder: Path, arguments: list[str], message: str
) -> None:
    assert_refused(arguments, message)


def test_warnings_reach_the_user(folder: Path) -> None:
    with (folder / "test.txt").open("a") as file:
        file.write("stranger\tnext\te000\n")
    result = hale("train", folder, "--epochs", 1, *FAST)
    assert result.exit_code == 0
    assert "warning: test: 1 triple with 1 entity that train lacks" in result.stderr


def test_help_explains_every_setting() -> None:
    text = " ".join(hale("train", "--help", env={"COLUMNS": "300"}).output.split())
    for name, field in Settings.model_fields.items():
        assert field.description is not None
        assert " ".join(field.description.split()) in text, name
    for symbol in ("(β)", "(γ)", "(λ", "(α)", "c_r", "(d)"):
        assert symbol in text
    assert BY_SYSTEM not in text
    for default in ("rotl", "32", "hanon", "3.0", "6", "0.01", "4096", "no limit"):
        assert f"default: {default}" in text


def test_faults_of_settings_come_before_the_graph(folder: Path) -> None:
    result = hale("train", folder, "--model", "rotll")
    assert result.exit_code == 2
    assert "Graph(" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--model", "roth", "--strategy", "hale"], "Take --model rote"),
        (["--model", "rotl", "--strategy", "allneg-square"], "It takes transe"),
        (["--model", "complex", "--activation", "hanon"], "--similarity l2"),
        (["--strategy", "samnegg"], "Did you mean 'samneg'"),
    ],
)
def test_what_cannot_be_combined_is_told_before_anything_is_read(
    arguments: list[str], says: str
) -> None:
    result = hale("train", "no-such-graph", *arguments)
    assert result.exit_code == 2
    assert says in " ".join(result.stderr.split())


def test_a_baseline_by_the_command_line(folder: Path) -> None:
    found = as_json(
        hale(
            *("train", folder, "--model", "roth", "--strategy", "samneg", "--negatives", 5),
            *("--activation", "identity", "--epochs", 2, "--dim", 8, "--out", "runs/y", "--json"),
        )
    )
    assert found["settings"]["strategy"] == "samneg"
    assert found["settings"]["negatives"] == 5
    assert set(found["training"]) >= {"steps", "seconds"}


def test_ctrl_c_in_a_real_process(folder: Path) -> None:
    """Everything is saved, the status says that it was interrupted, and it can go on."""
    command = [sys.executable, "-m", "hale", "train", str(folder), "--epochs", "1000000"]
    with subprocess.Popen(
        [*command, "--validate-every", "5", "--out", "runs/x", "--json", *FAST],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    ) as child:
        deadline = time.monotonic() + 60
        while not Path("runs/x/history.jsonl").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        output, errors = child.communicate(timeout=60)
    assert child.returncode == 130, errors
    assert "go on with: hale train --resume --out runs/x" in errors
    found = json.loads(output)
    assert found["training"]["stopped_by"] == "interrupt"
    assert found["training"]["steps"] > 0
    assert hale("evaluate", "runs/x").exit_code == 0


@pytest.mark.filterwarnings("ignore:.*taken for a header")
def test_columns_and_weights_of_a_strange_file(tmp_path: Path) -> None:
    rows = [f"{i % 3 + 1},e{i % 12},{'rs'[i % 2]},e{(i * 5 + 1) % 12},x" for i in range(40)]
    path = tmp_path / "facts.csv"
    path.write_text("weight,person,verb,thing,note\n" + "\n".join(rows) + "\n")
    how = ["--columns", "person,verb,thing", "--weights", "--epochs", 1, *FAST]
    result = hale("train", path, "--out", tmp_path / "run", "--skip-bad", *how)
    assert result.exit_code == 0, result.stderr
    assert "left out the column 'note'" in " ".join(result.stderr.split())
    weights = load_run(tmp_path / "run").graph.weights
    assert weights is not None
    assert set(weights.tolist()) <= {float(number) for number in range(1, 41)}
    new = tmp_path / "new.csv"
    new.write_text("s,p,o,sure\ne99,r,e1,7\n")
    out = tmp_path / "after"
    more = ["--weights", "sure", "--header", "--epochs", 1, "--out", out]
    result = hale("update", tmp_path / "run", new, *more)
    assert result.exit_code == 0, result.stderr
    after = load_run(out).graph.weights
    assert after is not None
    assert after.tolist() == [*weights.tolist(), 7.0]
    assert_refused(["train", str(path), "--weights", "mass", "--epochs", "1"], "name ('mass')")


def test_types_are_kept_with_the_run(folder: Path) -> None:
    (folder / "types.tsv").write_text("e001\tcorner\ne002\tcorner\n")
    fast = ("--epochs", 1, *FAST)
    assert hale("train", folder, "--out", "runs/own", *fast).exit_code == 0
    assert Path("runs/own/types.tsv").read_text() == "e001\tcorner\ne002\tcorner\n"
    Path("others.csv").write_text("e003,side\n")
    hale("train", folder, "--types", "others.csv", "--out", "runs/other", *fast)
    assert Path("runs/other/types.tsv").read_text() == "e003\tside\n"
    hale("train", folder, "--type-relation", "next", "--out", "runs/next", *fast)
    assert Path("runs/next/types.tsv").read_text().startswith("e001\te002\n")
    wrong = hale("train", folder, "--type-relation", "nxt", "--out", "runs/wrong", *fast)
    assert wrong.exit_code == 2
    assert "Did you mean 'next'" in wrong.stderr


def test_a_tracker_is_told_of_the_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TRACKERS, "noted", Noted)
    monkeypatch.setattr(Noted, "notes", [])
    result = hale("train", folder, "--epochs", 2, "--out", "runs/x", "--track", "noted", *FAST)
    assert result.exit_code == 0, result.stderr
    assert "tracked; see it with: see runs/x" in result.stderr
    assert Noted.notes[0][:2] == ("begin", "x")
    assert Noted.notes[-1] == ("end", "epochs")


def test_a_missing_tracker_is_told_before_anything_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    command = ["train", "nowhere.tsv", "--track", "mlflow"]
    assert_refused(command, "pip install 'hale-kge[mlflow]'", beside=["data"])
    assert_refused(["train", "nowhere.tsv", "--track", "mlfow"], "Did you mean 'mlflow'")

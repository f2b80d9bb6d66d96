"""The command line as a user meets it: output, JSON, exit status, faults."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from hale.cli import app
from hale.settings import Settings
from hale.version import VERSION
from tests.conftest import ring

FAST = ["--dim", "8", "--batch-size", "32", "--queries", "8"]


def hale(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def as_json(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) == 1, "one object, one line"
    found: dict[str, Any] = json.loads(lines[0])
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder in a working folder of its own."""
    monkeypatch.chdir(tmp_path)
    graph = ring(24)
    (tmp_path / "data").mkdir()
    for split in ("train", "valid", "test"):
        lines = [
            f"{graph.entities[h]}\t{graph.relations[r]}\t{graph.entities[t]}\n"
            for h, r, t in graph.split(split).tolist()
        ]
        (tmp_path / "data" / f"{split}.txt").write_text("".join(lines))
    (tmp_path / "data" / "labels.tsv").write_text("e000\tthe first\n")
    return tmp_path / "data"


@pytest.fixture
def run(folder: Path) -> Path:
    result = hale("train", folder, "--epochs", 100, "--out", "runs/x", *FAST)
    assert result.exit_code == 0, result.stderr
    return Path("runs/x")


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


def test_evaluate(run: Path) -> None:
    found = as_json(hale("evaluate", run, "--split", "test", "--json"))
    assert 0 < found["mrr"] <= 1
    assert set(found["by_direction"]) == {"tail", "head"}
    assert set(found["by_relation"]) == {"skip"}
    shown = hale("evaluate", run, "--split", "valid", "--by-relation")
    assert shown.exit_code == 0
    assert "next" in shown.stdout
    optimistic = as_json(hale("evaluate", run, "--ties", "optimistic", "--json"))
    assert optimistic["mrr"] >= found["mrr"]
    stored = json.loads((run / "metrics.json").read_text())
    assert set(stored) == {"training", "test", "valid"}
    assert stored["test"]["ties"] == "mean"


def test_predict(run: Path) -> None:
    found = as_json(hale("predict", run, "--head", "e003", "--relation", "next", "-k", 3, "--json"))
    assert found["head"] == "e003"
    assert len(found["answers"]) == 3
    assert set(found["answers"][0]) == {"rank", "entity", "label", "score", "known"}
    assert [answer["rank"] for answer in found["answers"]] == [1, 2, 3]
    known = [a["entity"] for a in found["answers"] if a["known"]]
    assert set(known) <= {"e004"}
    table = hale("predict", run, "--relation", "next", "--tail", "the first", "-k", 24)
    assert table.exit_code == 0
    assert "?  next  e000 (the first)" in table.stdout
    assert len(table.stdout.splitlines()) == 26


def test_show_and_plot(run: Path, tmp_path: Path) -> None:
    found = as_json(hale("show", run, "--json"))
    assert found["settings"]["epochs"] == 100
    assert len(found["history"]) == 10
    assert found["metrics"]["test"]["mrr"] > 0
    # 24 entities of 8, 4 relations of 8 twice, a factor and a scale each
    assert found["parameters"] == 24 * 8 + 4 * (8 + 8 + 1 + 1)
    shown = hale("show", run, "--plot", tmp_path / "curve.png")
    assert shown.exit_code == 0
    assert "stopped_by" in shown.stdout
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert hale("show", run, "--plot", tmp_path / "curve.xyz").exit_code == 2


def test_datasets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HALE_DATA", raising=False)
    monkeypatch.setenv("HALE_CACHE", str(tmp_path))
    found = as_json(hale("datasets", "--json"))["datasets"]
    by_name = {row["name"]: row for row in found}
    assert set(by_name) == {"wordnet", "wn18rr", "fb15k-237", "codex-s", "codex-m", "codex-l"}
    assert by_name["wordnet"]["present"]
    assert not by_name["wn18rr"]["present"]
    assert by_name["wn18rr"]["train"] == 86_835
    shown = hale("datasets").stdout
    assert "bundled" in shown
    assert "download" in shown
    assert hale("datasets", "--fetch", "wn18").exit_code == 2


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
        (["evaluate", "data"], "is not a run"),
        (["evaluate", "runs/none"], "There is no run"),
        (["evaluate", "runs/x", "--split", "tset"], "Did you mean 'test'"),
        (["evaluate", "runs/x", "--ties", "worst"], "rule for ties"),
        (["predict", "runs/x", "--head", "e003x", "--relation", "next"], "Did you mean 'e003'"),
        (["predict", "runs/x", "--head", "e003", "--relation", "nex"], "Did you mean 'next'"),
        (["predict", "runs/x", "--head", "e003"], "either a head or a tail"),
        (["frobnicate"], "frobnicate"),
    ],
)
def test_bad_input_is_one_message_and_status_2(
    run: Path, arguments: list[str], message: str
) -> None:
    result = hale(*arguments)
    assert result.exit_code == 2, result.output
    assert message in result.stderr.replace("\n", " ")
    assert "Traceback" not in result.output
    assert result.stdout == ""


def test_warnings_reach_the_user(folder: Path) -> None:
    with (folder / "test.txt").open("a") as file:
        file.write("stranger\tnext\te000\n")
    result = hale("train", folder, "--epochs", 1, *FAST)
    assert result.exit_code == 0
    assert "warning: test: 1 triple with 1 entity that train lacks" in result.stderr


def test_help_explains_every_setting() -> None:
    text = " ".join(
        CliRunner().invoke(app, ["train", "--help"], env={"COLUMNS": "300"}).output.split()
    )
    for name, field in Settings.model_fields.items():
        assert field.description is not None
        assert " ".join(field.description.split()) in text, name
    for symbol in ("(β)", "(γ)", "(λ", "(α)", "c_r", "(d)"):
        assert symbol in text
    for default in ("rotl", "32", "hanon", "3.0", "6", "0.01", "4096"):
        assert f"default: {default}" in text


def test_names_are_printed_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Brackets and colons in names are neither markup nor emoji codes."""
    monkeypatch.chdir(tmp_path)
    names = ["[/y]", "e1:dog:x", "[red]", "d"]
    rows = [f"{a}\t[/rel]\t{b}\n" for a in names for b in names]
    Path("odd.tsv").write_text("".join(rows))
    trained = hale("train", "odd.tsv", "--epochs", 2, "--out", "[bold]", "--holdout", 0.2, *FAST)
    assert trained.exit_code == 0, trained.output
    assert "run:  [bold]" in trained.stdout
    shown = hale("predict", "[bold]", "--head", "[/y]", "--relation", "[/rel]")
    assert shown.exit_code == 0
    for name in names:
        assert name in shown.stdout
    assert "[/rel]" in hale("evaluate", "[bold]", "--by-relation").stdout
    assert (
        "'e1:dog:x'" in hale("predict", "[bold]", "--head", "e1:dog", "--relation", "[/rel]").stderr
    )


def test_faults_of_settings_come_before_the_graph(folder: Path) -> None:
    result = hale("train", folder, "--model", "rotll")
    assert result.exit_code == 2
    assert "Graph(" not in result.stderr


def test_a_run_that_cannot_be_written_is_evaluated_all_the_same(run: Path) -> None:
    (run / "metrics.json").unlink()
    (run / "metrics.json").mkdir()
    (run / "metrics.json" / "in the way").touch()
    result = hale("evaluate", run)
    assert result.exit_code == 0
    assert "both directions" in result.stdout
    assert "warning: not kept with the run" in result.stderr


def test_the_engine_is_told(run: Path) -> None:
    shown = hale("show", "--engine")
    assert shown.exit_code == 0
    assert re.match(
        r"engine: native \(the \w+ build suits this processor\), \d+ threads", shown.stdout
    )
    assert as_json(hale("show", "--engine", "--json"))["engine"] == "native"
    assert hale("show").exit_code == 2


def test_version() -> None:
    assert hale("--version").stdout.strip() == f"hale {VERSION}"


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

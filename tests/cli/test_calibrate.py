"""hale calibrate as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hale.errors import InputError
from hale.evaluation.calibration import calibrate
from hale.runs.seal import unsealed
from tests.cli.invoke import as_json, assert_refused, hale, save_line


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save_line(Path("run"))
    Path("false.tsv").write_text("p0\tnext\tp9\np3\ttwice\tp19\n")
    Path("labelled.tsv").write_text("p0\tnext\tp1\t1\np0\tnext\tp9\t0\np3\ttwice\tp5\t0\n")
    return Path("run")


def test_calibrate(run: Path) -> None:
    found = as_json(hale("calibrate", run, "--json"))
    assert found["kind"] == "questions"
    assert found["meaning"].startswith("p: of answers like this one, the share that are held-out")
    stored = json.loads((run / "calibration.json").read_text())
    assert {"run": "run", "version": 2, **found} == {"run": "run", **unsealed(stored, must=True)}
    shown = hale("calibrate", run)
    assert shown.exit_code == 0, shown.stderr
    said = " ".join(shown.stdout.split())
    assert "questions that lack a fact and" in said
    assert "0.9 and more" in said
    assert "expected calibration error: 0." in said
    assert "counts as false, though it may be true" in said
    shown = hale("calibrate", run, "--method", "platt", "--negatives", "false.tsv")
    assert shown.exit_code == 0, shown.stderr
    assert "of validation triples and the negatives given" in " ".join(shown.stdout.split())
    assert "platt against given negatives, on line" in shown.stdout
    assert "all together, for 1 with few" in shown.stdout
    stored = json.loads((run / "calibration.json").read_text())
    assert stored["overall"]["negatives"] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["calibrate", "run", "--method", "plat"], "Did you mean 'platt'"),
        (["calibrate", "run", "--method", "platt"], "give negatives, or no method"),
        (["calibrate", "run", "--negatives", "labelled.tsv"], "three columns, no labels"),
        (["calibrate", "run", "--negatives", "none.tsv"], "no such file"),
    ],
)
def test_bad_input_is_one_message_and_status_2(
    run: Path, arguments: list[str], message: str
) -> None:
    assert_refused(arguments, message)


def test_a_seed_is_not_negative(run: Path) -> None:
    assert_refused(["calibrate", "run", "--seed=-1"], "--seed")
    with pytest.raises(InputError, match="A seed is 0 or more, got -1"):
        calibrate(run, seed=-1)

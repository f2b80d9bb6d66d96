"""hale compress as a user meets it."""

from __future__ import annotations

from pathlib import Path

from hale.runs.run import load_run
from tests.cli.invoke import as_json, assert_refused, hale

SHORT = ["--epochs", "1", "--teacher-queries", "40", "--threads", "1"]


def test_a_smaller_run_that_learnt_from_the_larger(trained: Path) -> None:
    found = as_json(hale("compress", trained, "--dim", "4", *SHORT, "--out", "small", "--json"))
    small = load_run("small")
    assert small.settings.dim == 4
    assert small.settings.teacher == (str(trained),)
    assert small.settings.model == load_run(trained).settings.model
    assert {"teacher, d = 8", "student, d = 4"} <= found.keys()
    shown = hale("compress", trained, "--dim", "4", *SHORT)
    assert shown.exit_code == 0, shown.stderr
    assert "student, d = 4" in shown.stdout
    assert (trained.parent / f"{trained.name}-4").is_dir()


def test_train_takes_teachers(trained: Path, folder: Path) -> None:
    options = ["--dim", "4", *SHORT, "--teacher", trained, "--teacher", trained, "--out", "both"]
    assert hale("train", folder, *options).exit_code == 0
    assert load_run("both").settings.teacher == (str(trained), str(trained))


def test_what_is_no_run_is_refused(trained: Path) -> None:
    assert_refused(["compress", "nothing"], "There is no run nothing")
    assert_refused(["compress", str(trained), "--teacher", "nothing"], "There is no run nothing")

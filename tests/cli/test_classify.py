"""hale classify as a user meets it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.cli.invoke import as_json, assert_refused, hale, save_line


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save_line(Path("run"))
    Path("true.tsv").write_text("p0\tnext\tp1\np3\ttwice\tp5\n")
    Path("false.tsv").write_text("p0\tnext\tp9\np3\ttwice\tp19\n")
    Path("labelled.tsv").write_text("p0\tnext\tp1\t1\np0\tnext\tp9\t0\np3\ttwice\tp5\t0\n")
    Path("bad.tsv").write_text("p0\tnext\tp1\nP0\tnext\tp1\np0\tnext\n")
    return Path("run")


def test_classify(run: Path) -> None:
    shown = hale("classify", run, "true.tsv")
    assert shown.exit_code == 0, shown.stderr
    assert "hale calibrate run would keep it" in " ".join(shown.stderr.split())
    assert "p1 (one)" in shown.stdout
    assert "accuracy" not in shown.stdout
    assert "p: of answers like this one" in shown.stdout
    as_if = "A fact that train holds is judged as if it were hidden."
    assert as_if in " ".join(shown.stdout.split()), "(p3, twice, p5) is one"
    assert as_if not in " ".join(hale("classify", run, "false.tsv").stdout.split())
    again = as_json(hale("classify", run, "true.tsv", "--json"))
    assert [row["known"] for row in again["triples"]] == ["valid", "train"]
    assert [row["verdict"] for row in again["triples"]] == [
        row["known"] == "train" or row["probability"] >= 0.5 for row in again["triples"]
    ]
    assert set(again) == {"run", "triples"}


def test_classify_with_labels(run: Path) -> None:
    assert hale("calibrate", run, "--negatives", "false.tsv").exit_code == 0
    found = as_json(hale("classify", run, "labelled.tsv", "--json"))
    assert [row["label"] for row in found["triples"]] == [True, False, False]
    assert [row["verdict"] for row in found["triples"]] == [True, False, True]
    assert found["quality"]["accuracy"] == pytest.approx(2 / 3)
    options = ["--negatives", "false.tsv", "--plot", "r.png", "--rows", 1]
    shown = hale("classify", run, "true.tsv", *options)
    assert shown.exit_code == 0, shown.stderr
    assert "1 of 4 triples shown" in shown.stderr
    assert "calibration error" in shown.stdout
    assert "1.0000" in shown.stdout
    assert Path("r.png").read_bytes().startswith(b"\x89PNG")


def test_written_to_a_file(run: Path) -> None:
    assert hale("calibrate", run, "--negatives", "false.tsv").exit_code == 0
    assert hale("classify", run, "labelled.tsv", "--out", "v.csv").exit_code == 0
    assert hale("classify", run, "labelled.tsv", "--out", "v.parquet").exit_code == 0
    frames = [pl.read_csv("v.csv"), pl.read_parquet("v.parquet")]
    for frame in frames:
        assert frame["label"].to_list() == [True, False, False]
        assert frame["verdict"].to_list() == [True, False, True]
    assert frames[0].columns == frames[1].columns
    assert [path.name for path in Path().glob(".*")] == [".run.lock"], "of the calibration"
    assert hale("classify", run, "labelled.tsv", "--out", "new/v.tsv").exit_code == 0
    assert pl.read_csv("new/v.tsv", separator="\t").equals(frames[0])
    Path("file").touch()
    assert hale("classify", run, "true.tsv", "--out", "file/v.csv").exit_code == 2


def test_bad_lines(run: Path) -> None:
    refused = hale("classify", run, "bad.tsv")
    assert refused.exit_code == 2
    assert "line 2: Unknown entity 'P0'" in refused.stderr
    assert "line 3: expected 3" in refused.stderr
    assert refused.stdout == ""
    done = hale("classify", run, "bad.tsv", "--skip-bad", "--json")
    assert len(as_json(done)["triples"]) == 1
    assert "left out line 2" in done.stderr
    assert "left out line 3" in done.stderr


def test_asking_changes_no_run(run: Path) -> None:
    def content() -> dict[str, tuple[bytes, int]]:
        return {
            str(path): (path.read_bytes(), path.stat().st_mtime_ns)
            for path in run.rglob("*")
            if path.is_file()
        }

    before = content()
    asked = [as_json(hale("classify", run, "true.tsv", "--json")) for _ in range(2)]
    assert asked[0] == asked[1]
    assert content() == before
    kept = hale("calibrate", run)
    assert kept.exit_code == 0
    after = hale("classify", run, "true.tsv", "--json")
    assert as_json(after) == asked[0], "the same that would be kept"
    assert "calibrate" not in after.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["classify", "run", "labelled.tsv", "--negatives", "false.tsv"], "would contradict"),
        (["classify", "run", "true.tsv", "--plot", "r.png"], "--plot needs labels"),
        (["classify", "run", "true.tsv", "--out", "v.xlsx"], ".csv, .tsv, .parquet"),
        (["classify", "nowhere", "true.tsv"], "There is no run"),
    ],
)
def test_bad_input_is_one_message_and_status_2(
    run: Path, arguments: list[str], message: str
) -> None:
    assert_refused(arguments, message)

"""hale export as a user meets it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hale.settings import MOST_THREADS
from tests.cli.invoke import as_json, hale, save_line


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save_line(Path("run"))
    return Path("run")


def test_export(run: Path) -> None:
    shown = hale("export", run)
    assert shown.exit_code == 0, shown.stderr
    assert "run-npy/entities.npy" in shown.stdout
    found = as_json(hale("export", run, "--format", "index", "--out", "x", "--json"))
    assert found["index"]["metric"] == "l2sq"
    assert Path("x/entities.usearch").is_file()
    refused = hale("export", run, "--format", "csv", "--out", "x")
    assert refused.exit_code == 2
    assert "x exists" in refused.stderr
    assert hale("export", run, "--format", "csv", "--out", "x", "--overwrite").exit_code == 0
    many = hale("export", run, "--threads", 10**40)
    assert many.exit_code == 2
    assert f"less than or equal to {MOST_THREADS}" in many.stderr
    unknown = hale("export", run, "--format", "parket")
    assert unknown.exit_code == 2
    assert "Did you mean 'parquet'" in unknown.stderr
    assert hale("export", run, "--out", "run", "--overwrite").exit_code == 2
    assert (run / "settings.json").exists()


@pytest.mark.parametrize(("here", "given"), [("run", "."), ("run/deeper", "..")])
def test_the_folder_one_stands_in(
    run: Path, here: str, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """. and .. have no name of their own: the export lies beside the run all the same."""
    beside = run.resolve().with_name("run-npy")
    Path(here).mkdir(exist_ok=True)
    monkeypatch.chdir(here)
    shown = hale("export", given)
    assert shown.exit_code == 0, shown.stderr
    assert (beside / "entities.npy").is_file()


@pytest.mark.parametrize("given", ["", "/"])
def test_a_folder_without_a_name(run: Path, given: str) -> None:
    refused = hale("export", given)
    assert refused.exit_code == 2
    assert "settings.json" in refused.stderr or "run" in refused.stderr
    assert [path.name for path in Path().iterdir()] == ["run"]

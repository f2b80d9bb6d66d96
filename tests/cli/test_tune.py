"""hale tune as a user meets it."""

from __future__ import annotations

from pathlib import Path

from tests.cli.invoke import as_json, hale


def test_tune_writes_a_recipe_and_refuses_nonsense(folder: Path) -> None:
    found = as_json(
        hale(
            "tune", folder, "--dim", 4, "--budget", "1s", "--trial", "0.3s", "--out", "t", "--json"
        )
    )
    assert 0 < found["mrr"] <= 1
    assert "[hale.rotl]" in Path(found["recipe"]).read_text()
    result = hale("tune", folder, "--budget", "soon")
    assert result.exit_code == 2
    assert "a time looks like" in result.stderr

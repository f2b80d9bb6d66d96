"""hale reproduce as a user meets it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.invoke import as_json, hale


def test_reproduce_lists_renders_and_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    listed = hale("reproduce", "table3", "--dataset", "wn18rr", "--model", "rotl", "--list")
    assert "wn18rr-hale-rotl-32-s0-x1" in listed.stdout
    assert "2 cells" in listed.stdout
    row = hale(
        "reproduce", "table5", "--dataset", "wn18rr", "--system", "hale-rotl-square", "--list"
    )
    assert "1 cells" in row.stdout
    page = as_json(hale("reproduce", "--render", "--out", "results", "--json"))["page"]
    assert "not run yet" in Path(page).read_text()
    for arguments, says in (
        (["table9"], "Did you mean"),
        ([], "Name a table or figure"),
        (["table3", "--dataset", "codex-s"], "No cell of table3"),
        (["table3", "--system", "hale-rotl-no-squares"], "Did you mean"),
        (["table3", "--recipe", "mine"], "Unknown recipe"),
    ):
        result = hale("reproduce", *arguments)
        assert result.exit_code == 2
        assert says in result.stderr

"""What all commands share, as a user meets it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hale.version import VERSION
from tests.cli.invoke import FAST, hale


def test_version() -> None:
    assert hale("--version").stdout.strip() == f"hale {VERSION}"


def test_an_unknown_command_is_one_message_and_status_2() -> None:
    result = hale("frobnicate")
    assert result.exit_code == 2
    assert "frobnicate" in result.stderr
    assert result.stdout == ""
    assert "Did you mean 'predict'" in hale("predit").stderr


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

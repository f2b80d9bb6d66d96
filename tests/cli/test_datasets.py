"""hale datasets as a user meets it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.invoke import as_json, hale


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

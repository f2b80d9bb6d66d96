"""The commit that cells tell."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import hale.lab.paper.commit as module


def test_what_searches_write_is_no_change_of_the_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*arguments: str) -> None:
        asked = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run([*asked, *arguments], check=True, capture_output=True)

    package = tmp_path / "src/hale"
    code, found = package / "lab/paper/commit.py", package / "lab/paper/searched/wn18rr.toml"
    for path in (code, found):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a = 1\n")
    (tmp_path / "native").mkdir()
    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "all")
    monkeypatch.setattr(module, "__file__", str(code))
    commit_of_code = module.commit_of_code.__wrapped__
    name = commit_of_code()
    assert len(name) == 10
    found.write_text("a = 2\n")
    (found.parent / "codex-s.toml").write_text("a = 2\n")
    assert commit_of_code() == name
    (package / "new.py").write_text("a = 2\n")
    assert commit_of_code() == f"{name}+"

"""The site: its reference has every command, option and name, and its menu every page."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import hale
from hale.cli.app import COMMANDS, load_command

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
site_pages = importlib.import_module("site_pages")


def test_every_command_and_option_is_there() -> None:
    page = site_pages.commands_page()
    assert sorted(re.findall(r"^### hale (\w+)$", page, re.M)) == sorted(COMMANDS)
    train = page[page.index("### hale train") : page.index("### hale update")]
    for parameter in load_command("train").params:
        for flag in (*parameter.opts, *parameter.secondary_opts):
            if flag.startswith("-"):
                assert f"`{flag}`" in train, flag
    assert "#### hale bench step" in page


def test_examples_keep_their_lines_and_nothing_is_markup() -> None:
    said = site_pages.prose("One\ntwo *a* <b>.\n\n\b\n  hale x\n  hale y")
    assert said == "One two \\*a\\* \\<b\\>.\n\n    hale x\n    hale y"
    assert site_pages.cell("a | b\n  [c]") == "a \\| b \\[c\\]"


def test_every_public_name_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    page = site_pages.python_page()
    named = re.findall(r"^::: (\S+)\.(\w+)$", page, re.M)
    assert sorted(name for _, name in named) == sorted(hale._HOMES)
    for module, name in named:
        assert getattr(importlib.import_module(module), name) is getattr(hale, name)
    monkeypatch.setitem(hale._HOMES, "fly", "hale.errors")
    with pytest.raises(SystemExit, match="'fly'"):
        site_pages.python_page()


def test_links_to_the_root_lead_to_pages() -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="results/engine.md"))
    text = "[a](../../README.md#install) [b](../limits.md)"
    led = site_pages.on_page_markdown(text, page)
    assert led == "[a](../readme.md#install) [b](../limits.md)"
    inside = site_pages.inside("[a](docs/start.md) [b](SECURITY.md) [c](CITATION.cff) [d](#x)")
    assert inside == "[a](start.md) [b](security-policy.md) `c` [d](#x)"


def test_every_page_is_in_the_menu() -> None:
    menu = (
        (ROOT / "mkdocs.yml")
        .read_text(encoding="utf-8")
        .partition("\nnav:")[2]
        .partition("\ntheme:")[0]
    )
    listed = re.findall(r": ([\w/-]+\.md)$", menu, re.M)
    there = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    made = {*site_pages.FROM_ROOT.values(), "reference/commands.md", "reference/python.md"}
    assert sorted(listed) == sorted(there | made)

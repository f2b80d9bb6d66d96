"""One glossary: the page, and the help, have its words."""

from __future__ import annotations

from pathlib import Path

from hale.settings.glossary import GLOSSARY, glossary_page
from tests.cli.invoke import hale

PAGE = Path(__file__).parents[2] / "docs" / "glossary.md"


def test_the_page_is_made_from_it() -> None:
    assert PAGE.read_text(encoding="utf-8") == glossary_page(), (
        "stale: python -c 'from hale.settings.glossary import *; print(glossary_page(), end=\"\")'"
    )


def test_the_help_has_the_words_that_its_options_use() -> None:
    shown = " ".join(hale("train", "--help").stdout.split())
    for word in ("heights", "near", "two-way", "loops"):
        assert " ".join(GLOSSARY[word].split()) in shown, word

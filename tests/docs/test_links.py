"""Relative links of README.md and the pages lead to files that are there, and to their headings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
AT_THE_ROOT = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
PAGES = [*(ROOT / name for name in AT_THE_ROOT), *sorted((ROOT / "docs").rglob("*.md"))]


def prose(text: str) -> str:
    """A page without its code: fenced, indented, in backticks."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    text = re.sub(r"^ {4}.*$", "", text, flags=re.M)
    return re.sub(r"`[^`\n]*`", "", text)


def links(text: str) -> list[str]:
    """What its links and pictures lead to, other sites left out."""
    found: list[str] = re.findall(r"\]\(([^)\s]+)\)", prose(text))
    return [one for one in found if not re.match(r"[a-z]+:", one)]


def anchors(text: str) -> set[str]:
    """What a link to a heading is called: lower case, spaces as hyphens, other signs left out."""
    plain = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    titles = re.findall(r"^#+ (.*)$", plain, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken(page: Path) -> list[str]:
    """Links of a page that lead nowhere."""
    faults = []
    for link in links(page.read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (
            anchor and anchor not in anchors(target.read_text(encoding="utf-8"))
        ):
            faults.append(link)
    return faults


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_every_page_is_in_the_index() -> None:
    index = ROOT / "docs" / "index.md"
    listed = {(index.parent / link).resolve() for link in links(index.read_text(encoding="utf-8"))}
    there = set((ROOT / "docs").rglob("*.md")) - {index}
    assert sorted(there - listed) == [], "list it in docs/index.md, under what it is for"


def test_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# One `code` two\n\n```\n# no heading\n```\n")
    page = tmp_path / "page.md"
    page.write_text(
        "# Here\n[a](there.md) [b](there.md#one-code-two) [c](#here) [d](https://example.org)\n"
        "[e](gone.md) [f](there.md#gone) [g](there.md#no-heading) `[h](code.md)`\n\n"
        "    [i](indented.md)\n"
    )
    assert broken(page) == ["gone.md", "there.md#gone", "there.md#no-heading"]

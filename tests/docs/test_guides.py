"""The guides, as they stand: every command and every Python block runs, on graphs made for them.

Indented lines that begin with `hale` and fenced Python are run from the top of a page to its end,
in one folder, as a reader would; indented lines with tabs are the file that the text before them
names. Only three things are changed: a budget becomes a few epochs, vectors are short, and a run
without a folder of its own replaces the one before. What cannot run here stands after a paragraph
that says so ("Not run ...").
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cli.invoke import hale as call

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("start", "answers", "probabilities", "data", "runs", "update", "coming-from")
# Tests of their own run python, export, serve and explore, and what the guide to clusters has for
# one machine. The tour's compare its commands and files with those of scripts/tour.py, which runs
# them and writes the page: no test runs it.
ELSEWHERE = {"python", "export", "tour", "serve", "explore", "cluster"}


class Block(NamedTuple):
    """A piece of code of a page, and the paragraph before it."""

    language: str
    text: str
    before: str


def blocks(page: str) -> list[Block]:
    """The code of a page, in its order."""
    found = []
    before = ""
    for part in re.split(r"(^```.*?^```$|(?:^ {4}[^\n]*\n|^\n(?= {4}))+)", page, flags=re.M | re.S):
        if part.startswith("```"):
            language, _, text = part.strip("`").partition("\n")
            found.append(Block(language.strip(), text, before))
        elif part.startswith(("    ", "\n    ")):
            pieces = re.split(r"\n{2,}", re.sub(r"^ {4}", "", part, flags=re.M).strip("\n"))
            found += [Block("", piece, before) for piece in pieces]
        elif part.strip():
            before = part.strip().split("\n\n")[-1]
    return found


def absent(before: str) -> bool:
    """Whether a paragraph says that what follows is not run."""
    return bool(re.search(r"\bnot run\b|has not been run", " ".join(before.split()), re.I))


def commands(text: str) -> list[list[str]]:
    """The commands of a shell block as lists of words, their remarks left out."""
    joined = re.sub(r"\\\n\s*", " ", text)
    lines = [line for line in joined.splitlines() if line.startswith("hale ")]
    return [shlex.split(line, comments=True)[1:] for line in lines]


def shorter(words: list[str]) -> list[str]:
    """The same command with a few epochs in the place of a budget, and short vectors."""
    epochs = "--epochs 3" if "--resume" in words else "--epochs 2"
    text = re.sub(r"--budget \S+", epochs, shlex.join(words))
    if words[0] == "train" and "--resume" not in words:
        text += "" if "--dim" in words else " --dim 8"
        text += "" if "--budget" in words else " --epochs 2"
        text += "" if "--out" in words else " --overwrite"
    return shlex.split(text)


def prepare(folder: Path) -> None:
    """What a reader has at hand: facts, queries, claims, under the names that the pages use."""
    people = ["Marie Curie", *(f"person {i}" for i in range(30))]
    cities = ["Paris", "Warsaw", "Rome", "Oslo"]
    facts = [(person, "works_in", cities[i % 4]) for i, person in enumerate(people)]
    facts += [(person, "knows", people[i - 1]) for i, person in enumerate(people)]
    facts += [(person, "field", ("chemistry", "physics")[i % 2]) for i, person in enumerate(people)]
    facts += [(city, "located_in", "Poland") for city in cities]
    facts += [("vlc", "section", "video"), ("mpv", "section", "video"), ("gimp", "section", "arts")]

    def table(name: str, rows: list[tuple[str, ...]], by: str = "\t") -> None:
        (folder / name).write_text("".join(by.join(row) + "\n" for row in rows), encoding="utf-8")

    table("facts.tsv", facts)
    table("new.tsv", [("Irene", "works_in", "Paris"), ("Irene", "knows", "Marie Curie")])
    table("gone.tsv", facts[1:3])
    table("ask.tsv", [("Marie Curie", "works_in", "?"), ("?", "works_in", "Paris")])
    table("claims.tsv", facts[:4])
    table("false.tsv", [(person, "works_in", "physics") for person in people[:12]])
    weighed = [("person", "verb", "thing", "weight", "confidence")]
    weighed += [(*fact, "1.5", "0.5") for fact in facts]
    table("facts.csv", weighed, ",")
    table("weighed.csv", [("head", "relation", "tail", *weighed[0][3:]), *weighed[1:]], ",")
    table("facts.txt", [(head, relation, "x", tail) for head, relation, tail in facts])
    table("edges.txt", [(head, tail, relation) for head, relation, tail in facts])
    (folder / "graph").mkdir()
    table("graph/train.tsv", facts)
    for split in ("valid", "test"):
        table(
            f"graph/{split}.tsv",
            [(person, "knows", people[i - 3]) for i, person in enumerate(people)],
        )


@pytest.mark.parametrize("page_name", PAGES)
def test_every_block_of_a_guide_runs(
    page_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    ran = 0
    scope: dict[str, Any] = {}
    if page_name == "probabilities":  # begins with a run that is there
        assert (
            call("train", "facts.tsv", "--epochs", 2, "--dim", 8, "--out", "runs/mine").exit_code
            == 0
        )
    for block in blocks((DOCS / f"{page_name}.md").read_text(encoding="utf-8")):
        if absent(block.before):
            continue
        assert block.language in ("", "sh", "python"), "what is it, and who runs it?"
        if block.language == "python":
            code = re.sub(r'budget="\w+"', "epochs=1", block.text)
            exec(compile(code, f"{page_name}.md", "exec"), scope)
            ran += 1
        elif "\t" in block.text:
            (name,) = re.findall(r"`([\w.]+)`", block.before)[-1:] or ["shown.tsv"]
            (tmp_path / name).write_text(block.text + "\n", encoding="utf-8")
        for words in commands(block.text) if block.language in ("", "sh") else []:
            done = call(*shorter(words))
            assert done.exit_code == 0, (words, done.output)
            ran += 1
    assert ran >= 1


def test_a_guide_is_run_here_or_elsewhere() -> None:
    site = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    guides = re.search(r"- Guides:\n((?: {6}- .*\n)+)", site)[1]
    named = {*re.findall(r": ([\w-]+)\.md$", guides, re.M), "start"} - {"datasets"}
    assert named == {*PAGES} | ELSEWHERE


def test_blocks_are_found_in_their_order() -> None:
    page = """# A

`new.tsv` has:

    a\tb\tc

    hale x new.tsv --budget 5m  # so
    hale y \\
        --z "a b"

Not run here:

```sh
hale w
```

```python
1
```
"""
    table, shell, unrun, python = blocks(page)
    assert (table.text, table.before) == ("a\tb\tc", "`new.tsv` has:")
    assert commands(shell.text) == [["x", "new.tsv", "--budget", "5m"], ["y", "--z", "a b"]]
    assert shorter(["x", "--budget", "5m"]) == ["x", "--epochs", "2"]
    assert shlex.join(shorter(["train", "f", "--out", "g"])) == "train f --out g --dim 8 --epochs 2"
    assert [absent(block.before) for block in (table, unrun, python)] == [False, True, True]
    assert (unrun.language, python.language, python.text) == ("sh", "python", "1\n")


def test_a_command_that_fails_fails_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call("predict", "runs/none", "--head", "a", "--relation", "b").exit_code == 2

"""The code of docs/export.md, as it stands there, against hale's own answers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hale
from hale.data.graph import Graph, Vocabulary
from hale.export import FORMATS
from hale.export.vectors import tables_of
from hale.models import MODELS
from hale.runs.folder import RunFolder
from hale.runs.run import Run
from tests.line_run import line_run

PAGE = Path(__file__).parents[2] / "docs" / "export.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """People and places at random, in runs/mine of a working folder."""
    monkeypatch.chdir(tmp_path)
    names = ["Marie Curie", "Paris", "Warsaw", *(f"place {i}" for i in range(40))]
    ids = np.array([[0, 0, 1], [0, 0, 2]])
    graph = Graph(
        "people",
        Vocabulary(names, "entity"),
        Vocabulary(["works_in"], "relation"),
        train=ids,
        valid=ids[:0],
        test=ids[:0],
    )
    made = hale.train(graph, model="rotl", dim=6, epochs=2)
    Path("runs").mkdir()
    RunFolder.create("runs/mine", made.settings, made.graph, made.model.state_dict())
    return hale.load_run("runs/mine")


def test_the_vector_database_gives_the_answers_of_predict(run: Run) -> None:
    (code,) = (block for block in blocks("python") if "sqlite_vec" in block)
    scope: dict[str, Any] = {}
    exec(code, scope)
    scope["database"].close()
    # an index holds all entities, and so the head itself
    found = [(name, distance) for name, distance in scope["answers"] if name != "Marie Curie"]
    exact = hale.predict(run, head="Marie Curie", relation="works_in", k=len(found), anything=True)
    assert len(found) >= 4
    assert [name for name, _ in found] == [answer.entity for answer in exact]
    scores = [-(distance**2) for _, distance in found]
    np.testing.assert_allclose(scores, [answer.score for answer in exact], atol=1e-5)


def test_the_queries_and_the_index_of_the_page(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    hale.export_run(run, "vectors-index", form="index")
    query, search, _ = blocks("python")
    scope: dict[str, Any] = {}
    exec(query + search, scope)
    assert scope["heads"].shape == (2, 6)
    exact = hale.predict(run, head="Marie Curie", relation="works_in", k=10, anything=True)
    printed = [line.rsplit(" ", 1)[0] for line in capsys.readouterr().out.splitlines()]
    others = [name for name in printed if name != "Marie Curie"]
    assert len(others) >= 9
    assert others == [answer.entity for answer in exact][: len(others)]


def test_the_page_tells_of_every_format_and_every_model() -> None:
    text = PAGE.read_text()
    for form in FORMATS:
        assert f"| `{form}` |" in text
    for name in MODELS:
        assert f"| `{name}` |" in text


def test_the_postgres_is_said_to_be_untested() -> None:
    before = PAGE.read_text().split("```sql")[0]
    assert before.rstrip().endswith("**It has not been run\nhere.**")


def test_a_line_run_answers_by_hand() -> None:
    """The table of the page for transe: q = e_h + r."""
    run = line_run()
    tables = tables_of(run)
    by_hand = tables.entities[3] + tables.relations["shift"][1]
    np.testing.assert_array_equal(hale.query_vectors(run, head="p3", relation="twice")[0], by_hand)

"""What a person says of who may answer, by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hale.data.graph import Graph, Ids, Vocabulary
from hale.data.types import Types
from hale.errors import InputError, SourceError, UnknownNameError
from hale.evaluation.candidates import Candidates
from hale.evaluation.limits import candidates_of, entities_among, refuse_nobody, types_of
from tests.answers.test_discovery import homes


@pytest.fixture
def graph() -> Graph:
    """Persons 0 to 11 live in 12, 13 and 14; those are towns, and 12 a port as well."""
    pairs = np.array([(12, 1), (13, 1), (14, 1), (12, 0), (0, 2), (1, 2)])
    types = Types(Vocabulary(["port", "town", "writer"], "type"), pairs[:, 0], pairs[:, 1])
    return replace(homes(), types=types, labels={"e12": "harbour", "e1": "twin", "e2": "twin"})


def told(ids: Ids | None) -> list[int] | None:
    return None if ids is None else ids.tolist()


def test_types_and_sets(graph: Graph, tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("e13\n\n  e0 \nharbour\ne13\n")
    assert entities_among(graph) is None
    assert told(entities_among(graph, types="town")) == [12, 13, 14]
    assert told(entities_among(graph, types=["port", "writer"])) == [0, 1, 12]
    assert told(entities_among(graph, within=["e3", "harbour", "e3"])) == [3, 12]
    for path in (names, str(names)):
        assert told(entities_among(graph, within=path)) == [0, 12, 13]
    assert told(entities_among(graph, types="town", within=names)) == [12, 13]


def test_types_that_a_relation_gives(graph: Graph) -> None:
    """Who lives in e12: 0, 2, 3, 5, 6, 8, 9 and 11."""
    at_home = entities_among(graph, types="e12", type_relation="lives")
    assert told(at_home) == [0, 2, 3, 5, 6, 8, 9, 11]
    bare = replace(graph, types=None)
    assert told(entities_among(bare, types="e12", type_relation="lives")) == told(at_home)


def test_limits_make_candidates(graph: Graph) -> None:
    assert told(candidates_of(graph, types="port").of(0)) == [12]
    assert told(candidates_of(graph, within=["e15", "e3"]).of(0)) == []
    assert told(candidates_of(graph, within=["e15", "e3"], anything=True).of(0)) == [3, 15]
    assert candidates_of(graph, anything=True).of(0) is None


def test_faults(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Unknown type 'twon'. Did you mean 'town'"):
        entities_among(graph, types="twon")
    with pytest.raises(UnknownNameError, match="Did you mean 'lives'"):
        entities_among(graph, types="town", type_relation="livs")
    with pytest.raises(InputError, match="goes with a type"):
        entities_among(graph, type_relation="lives")
    with pytest.raises(InputError, match="has no types. Name a relation"):
        types_of(replace(graph, types=None))
    with pytest.raises(InputError, match="No entity is of that type and within that set"):
        entities_among(graph, types="town", within=["e3"])
    missing, wrong, empty = (tmp_path / name for name in ("missing", "wrong", "empty"))
    wrong.write_text("e3\nE12\ntwin\n")
    empty.write_text("\n \n")
    with pytest.raises(SourceError, match="missing: there is no such file"):
        entities_among(graph, within=missing)
    with pytest.raises(SourceError, match="empty: names no entity"):
        entities_among(graph, within=empty)
    with pytest.raises(SourceError) as caught:
        entities_among(graph, within=wrong)
    assert "line 2: Unknown entity 'E12'. Did you mean 'e12'" in str(caught.value)
    assert "line 3: 2 entities are labelled 'twin'" in str(caught.value)
    with pytest.raises(SourceError, match="cannot be read"):
        entities_among(graph, within=tmp_path)
    wrong.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(SourceError, match="not UTF-8"):
        entities_among(graph, within=wrong)
    with pytest.raises(SourceError, match="within: names no entity"):
        entities_among(graph, within=[])
    wrong.write_text("".join(f"x{i}\n" for i in range(30)))
    with pytest.raises(SourceError, match="and 10 more"):
        entities_among(graph, within=wrong)


def test_nobody_left_to_answer(graph: Graph) -> None:
    persons = candidates_of(graph, types="writer")
    with pytest.raises(InputError, match="None of the 2 entities .* was seen as a tail of 'lives'"):
        refuse_nobody(graph, persons, [0])
    with pytest.raises(InputError, match="seen as a head of 'lives'"):
        refuse_nobody(graph, candidates_of(graph, types="town"), [2])
    refuse_nobody(graph, persons, [0, 2])  # some may answer the other
    refuse_nobody(graph, persons, [])
    refuse_nobody(graph, Candidates(graph), [0])
    refuse_nobody(graph, candidates_of(graph, types="writer", anything=True), [0])

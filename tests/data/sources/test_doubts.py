"""Files that do not mean what they were read as are doubted aloud, and others are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hale.data.sources import read_graph, read_triples

HEADED = "person,verb,thing\nanna,likes,bob\nbob,likes,carl\ncarl,hates,anna\nanna,hates,dora\n"


def notes(tmp_path: Path, text: str, **options: object) -> tuple[str, ...]:
    (tmp_path / "x.csv").write_text(text)
    return read_triples(tmp_path / "x.csv", **options).notes  # type: ignore[arg-type]


def test_a_header_of_unknown_words_is_kept_and_doubted(tmp_path: Path) -> None:
    (note,) = notes(tmp_path, HEADED)
    assert "('person', 'verb', 'thing') looks like a header" in note
    assert "read as a fact" in note
    assert "--header" in note
    assert read_triples(tmp_path / "x.csv").rows.row(0) == ("person", "verb", "thing")
    assert any("looks like a header" in one for one in read_graph(tmp_path / "x.csv").notes)


def test_a_header_is_believed_when_the_user_says_so(tmp_path: Path) -> None:
    (note,) = notes(tmp_path, HEADED, header=True)
    assert "read by their place as head, relation, tail" in note
    assert len(read_triples(tmp_path / "x.csv", header=True).rows) == 4
    assert notes(tmp_path, HEADED, header=False) == ()
    assert notes(tmp_path, HEADED, columns="person,verb,thing") == ()
    turned = read_triples(tmp_path / "x.csv", columns="thing,verb,person")
    assert turned.rows.row(0) == ("bob", "likes", "anna")


@pytest.mark.parametrize(
    "text",
    [
        "zeus,rules,olympus\nanna,likes,bob\nbob,rules,carl\n",  # its relation occurs again
        "anna,met,bob\nbob,likes,carl\ncarl,likes,dora\n",  # its tail does
        "a,met,b\nc,saw,d\ne,likes,f\ng,likes,h\n",  # another line is as lonely
        "a,r,b\nc,s,d\n",  # too few to tell
        "a,r,b\nc,s,d\ne,t,f\ng,u,h\n",  # nothing repeats
    ],
)
def test_first_facts_that_are_no_headers(tmp_path: Path, text: str) -> None:
    assert notes(tmp_path, text) == ()


def test_swapped_columns_are_named(tmp_path: Path) -> None:
    """Issue: targets became relations, 75 in place of 3."""
    draws = np.random.default_rng(0).integers(0, 80, (300, 2))
    rows = [f"e{a},e{b},r{a % 3}\n" for a, b in draws.tolist()]
    (note,) = notes(tmp_path, "".join(rows))
    assert "column of relations (2)" in note
    assert "the column 3 has 3" in note
    assert note.endswith("--columns 1,3,2")
    right = read_triples(tmp_path / "x.csv", columns="1,3,2")
    assert right.notes == ()
    assert right.rows["relation"].n_unique() == 3
    (_, note) = notes(tmp_path, "head,relation,tail\n" + "".join(rows))
    assert note.endswith("--columns head,tail,relation")
    right = read_triples(tmp_path / "x.csv", columns="head,tail,relation")
    assert right.rows["relation"].n_unique() == 3


def test_graphs_of_many_relations_are_left_alone(tmp_path: Path) -> None:
    draws = np.random.default_rng(0).integers(0, 14, (400, 2))
    rows = [f"nation{a},treaty{(7 * a + b) % 40},nation{b}\n" for a, b in draws.tolist()]
    assert notes(tmp_path, "".join(rows)) == ()
    facts = [f"anna,fact{i},thing{i}\n" for i in range(9)]  # all of one entity
    assert notes(tmp_path, "".join(facts)) == ()

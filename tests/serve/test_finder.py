"""Search: names and labels, ranked as hale find ranks them."""

from __future__ import annotations

import numpy as np
import pytest

from hale.data.find import find
from hale.data.graph import Graph, Vocabulary
from hale.errors import InputError
from hale.serve.finder import Finder

NAMES = ["hotdog", "Dog", "dogma", "x1", "dog.n.01", "cat", "x2", "(a+b)*"]
LABELS = {"x1": "dog", "cat": "a dog's foe", "x2": "Doge", "dog.n.01": "dog", "gone": "dog"}


@pytest.fixture
def finder() -> Finder:
    nothing = np.empty((0, 3), dtype=np.int64)
    entities, relations = Vocabulary(NAMES, "entity"), Vocabulary(["r"], "relation")
    return Finder(Graph("pets", entities, relations, nothing, nothing, nothing, LABELS))


def test_the_text_itself_then_its_words_then_its_letters(finder: Finder) -> None:
    found = [NAMES[number] for number in finder.find("dog", 10)]
    assert found == ["x1", "Dog", "dog.n.01", "cat", "x2", "dogma", "hotdog"]


@pytest.mark.parametrize("text", ["dog", "DÖG", "hotdgo", "x", "a dog"])
def test_the_ranking_is_that_of_hale_find(finder: Finder, text: str) -> None:
    told = [one.name for one in find(finder.graph, text, k=10) if one.kind == "entity"]
    assert [NAMES[number] for number in finder.find(text, 10)] == told != []


def test_a_slip_and_an_accent_are_forgiven(finder: Finder) -> None:
    assert finder.find("hotdgo", 1) == finder.find("hótdog", 1) == [0]


def test_capitals_and_blanks_around_do_not_count(finder: Finder) -> None:
    assert finder.find("  DOG ", 10) == finder.find("dog", 10)


def test_no_more_than_asked_for_and_each_once(finder: Finder) -> None:
    assert finder.find("dog", 3) == finder.find("dog", 10)[:3]
    assert len(set(finder.find("dog", 10))) == 7


def test_a_text_is_no_pattern(finder: Finder) -> None:
    assert finder.find("(a+b)*", 5) == [7]
    assert finder.find(".*", 5) == []


@pytest.mark.parametrize("text", ["", "  ", "\t"])
def test_nothing_to_search_for(finder: Finder, text: str) -> None:
    with pytest.raises(InputError, match="Nothing to search for"):
        finder.find(text, 5)


def test_a_text_that_no_name_can_hold_is_not_found(finder: Finder) -> None:
    assert finder.find("\ud800", 5) == []

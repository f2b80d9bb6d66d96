"""Names: the way to ids and back, and what is refused at the door."""

from __future__ import annotations

import pytest

from hale.data.vocabulary import Vocabulary
from hale.errors import InputError, UnknownNameError


def test_names_and_ids() -> None:
    names = Vocabulary(["b", "a", "ab"], "entity")
    assert [names.id(name) for name in ("b", "a", "ab")] == [0, 1, 2]
    assert names.ids(["ab", "c", "b"]).tolist() == [2, -1, 0]
    assert names.ids([]).tolist() == []
    with pytest.raises(UnknownNameError, match="Unknown entity 'abc'. Did you mean 'ab'"):
        names.id("abc")


@pytest.mark.parametrize("break_", ["\n", "\r", "\t", "\x85", "\u2028", "\u2029", "\0", "\ud800"])
def test_a_name_stands_on_one_line(break_: str) -> None:
    with pytest.raises(InputError, match="The entity .* holds a tab, a line break"):
        Vocabulary(["fine", f"not{break_}fine"], "entity")


def test_names_tell_apart() -> None:
    with pytest.raises(InputError, match="The relation 'a' is named twice"):
        Vocabulary(["a", "b", "a"], "relation")
    with pytest.raises(InputError, match="The name of entity 1 is blank"):
        Vocabulary(["a", ""], "entity")

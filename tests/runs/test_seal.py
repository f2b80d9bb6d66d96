"""Checksums in JSON: of what it says, not of how it is laid out."""

from __future__ import annotations

import hashlib
import json

import pytest

from hale.runs.seal import sealed, unsealed


def test_the_checksum_is_the_beginning_of_a_sha256() -> None:
    text = b'{"a":[1,2.5],"b":"\\u03b2"}'
    assert sealed({"b": "β", "a": (1, 2.5)}) == {
        "b": "β",
        "a": (1, 2.5),
        "checksum": hashlib.sha256(text).hexdigest()[:16],
    }


def test_what_was_sealed_comes_back_however_it_is_laid_out() -> None:
    value = {"b": [1, {"c": None}], "a": 0.1, 3: "a number's name"}
    for indent in (None, 2):
        text = json.dumps(sealed(value), indent=indent, sort_keys=indent is None and False)
        assert unsealed(json.loads(text), must=True) == json.loads(json.dumps(value))
    assert unsealed(sealed([{"a": 1}, {"b": 2}]), must=True) == [{"a": 1}, {"b": 2}]
    assert sealed(sealed({"a": 1})) == sealed({"a": 1})
    assert unsealed(5, must=True) == 5


@pytest.mark.parametrize(
    "change", [{"a": 2}, {"a": 1.0}, {"a": "1"}, {"more": 1}, {"checksum": "0" * 16}]
)
def test_another_value_is_refused(change: dict[str, object]) -> None:
    changed = sealed({"a": 1}) | change
    for value in (changed, [sealed({"a": 1}), changed]):
        for must in (True, False):
            with pytest.raises(ValueError, match="the checksum differs"):
                unsealed(value, must=must)


def test_one_without_a_checksum_is_of_an_earlier_version_or_damaged() -> None:
    assert unsealed({"a": 1}, must=False) == {"a": 1}
    with pytest.raises(ValueError, match="the checksum differs"):
        unsealed({"a": 1}, must=True)

"""What a process of its own answers."""

from __future__ import annotations

import pytest

from hale.data.datasets import load
from hale.errors import HaleError
from hale.lab.bench.apart import apart
from hale.settings import parse_duration


def test_a_value_comes_back() -> None:
    assert apart(parse_duration, "2m") == 120.0


def test_an_error_of_hale_is_told_in_one_piece() -> None:
    with pytest.raises(HaleError) as told:
        apart(load, "there-is-no-such-graph")
    assert "there-is-no-such-graph" in str(told.value)
    assert "Traceback" not in str(told.value)


def test_another_error_shows_where_it_was() -> None:
    with pytest.raises(HaleError, match=r"parse_duration failed apart:\n(.|\n)*ValueError"):
        apart(parse_duration, "soon")

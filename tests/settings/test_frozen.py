"""What holds for settings of any fields."""

from __future__ import annotations

from typing import ClassVar

import pytest
from pydantic import ValidationError

from hale.settings.frozen import Frozen


class Three(Frozen):
    shown: ClassVar[tuple[str, ...]] = ("first", "second")

    first: int = 1
    second: int | None = None
    third: float = 0.5


def test_none_is_the_default_and_not_given() -> None:
    made = Three.model_validate({"first": None, "third": 2.0})

    assert made.first == 1
    assert made.model_fields_set == {"third"}


def test_its_text_names_what_is_shown_and_counts_the_others() -> None:
    assert str(Three()) == "Three(first=1)"
    assert repr(Three(second=4, third=2.0)) == (
        "Three(first=1, second=4; 1 others not as they come: see model_dump())"
    )


def test_it_cannot_change_and_knows_no_other_name() -> None:
    with pytest.raises(ValidationError):
        Three().first = 2  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Three.model_validate({"fourth": 1})

from __future__ import annotations

import pytest

from hale import errors


def test_the_drawn_tree_is_the_real_one() -> None:
    classes = {
        name: value
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.HaleError)
    }
    drawn = {
        line.strip(" |`-").split()[0]
        for line in (errors.__doc__ or "").splitlines()
        if "Error  " in line
    }
    assert drawn == set(classes)
    assert {value.exit_status for value in classes.values()} == {2}


def test_unknown_name_suggests_regardless_of_case() -> None:
    error = errors.UnknownNameError("model", "Rote", ["rotl", "rote", "transe"])
    assert str(error).startswith("Unknown model 'Rote'. Did you mean 'rote'")


def test_unknown_name_far_from_all_lists_a_short_choice() -> None:
    error = errors.UnknownNameError("model", "xyz", ["rotl", "transe"])
    assert str(error) == "Unknown model 'xyz'. Choose from: rotl, transe."


def test_unknown_name_far_from_many_says_how_to_look() -> None:
    error = errors.UnknownNameError("entity", "xyz", [], meant={})
    assert str(error).startswith("Unknown entity 'xyz'. No name or label is like it; hale find RUN")


@pytest.mark.parametrize(("line", "place"), [(3, "a.txt, line 3: bad"), (None, "a.txt: bad")])
def test_source_error_names_the_place(line: int | None, place: str) -> None:
    assert str(errors.SourceError("bad", source="a.txt", line=line)) == place

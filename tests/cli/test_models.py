"""hale models as a user meets it."""

from __future__ import annotations

from hale.models import MODELS
from tests.cli.invoke import as_json, hale


def test_models_are_listed_with_their_parameters() -> None:
    listed = as_json(hale("models", "-n", 100, "-r", 5, "-d", 8, "--json"))["models"]
    assert [row["name"] for row in listed] == [*MODELS]
    parameters = {row["name"]: row["parameters"] for row in listed}
    assert parameters["transe"] == 100 * 8 + 10 * 8 + 10  # entities, shifts, scales
    assert parameters["rescal"] == 100 * 8 + 10 * 64 + 10
    for huge in (2**31 + 1, 10**40):
        assert hale("models", "-n", huge).exit_code == 2
    uncounted = as_json(hale("models", "-n", 2**31, "-r", 2**31, "-d", 2**16, "--json"))["models"]
    assert {row["name"]: row["parameters"] for row in uncounted}["rescal"] is None
    text = hale("models").stdout
    assert all(name in text for name in MODELS)

"""Other words for settings, and what is said of words that are none."""

from __future__ import annotations

import pytest

from hale.errors import SettingsError
from hale.runs.systems import complete
from hale.settings import Settings, by_name, make_settings
from hale.settings.making import aliases


def test_the_words_of_the_command_line() -> None:
    assert aliases() == {"lr": "learning_rate", "lambda": "weight", "d": "dim"}
    assert by_name({"lr": 0.1, "lambda_": 2, "beta": 1}) == {
        "learning_rate": 0.1,
        "weight": 2,
        "beta": 1,
    }
    made = make_settings(lr=0.1, lambda_=2.0, d=8)
    assert (made.learning_rate, made.weight, made.dim) == (0.1, 2.0, 8)
    completed = complete(lr=0.5, lambda_=3.0)
    assert (completed.learning_rate, completed.weight) == (0.5, 3.0)
    assert completed.model_fields_set == {"learning_rate", "weight"}


def test_not_given_is_not_given_twice() -> None:
    assert by_name({"lr": None, "learning_rate": 0.1}) == {"learning_rate": 0.1}
    assert by_name({"learning_rate": 0.1, "lr": None}) == {"learning_rate": 0.1}
    with pytest.raises(SettingsError, match="learning_rate: given twice, also as lr"):
        make_settings(learning_rate=0.1, lr=0.2)


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("learnin_rate", "did you mean learning_rate"),
        ("keep_known", "give leave_out_known=False"),
        ("no_square", "give square=False"),
        ("zzzzzz", "there are recipe, model, dim"),
    ],
)
def test_a_word_that_is_no_setting_names_the_right_one(word: str, told: str) -> None:
    with pytest.raises(SettingsError, match=f"{word}: there is no such setting; {told}"):
        make_settings(**{word: 1})


def test_one_line() -> None:
    assert (
        repr(make_settings(epochs=3)) == "Settings(model='rotl', dim=32, strategy='hale', epochs=3)"
    )
    told = repr(make_settings(beta=1.0, gamma=2.0))
    assert told.endswith("budget=120.0; 2 others not as they come: see model_dump())")
    assert str(Settings(seed=1)) == repr(Settings(seed=1))

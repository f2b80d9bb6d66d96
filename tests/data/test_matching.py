"""What a text may mean among the texts of a column, and in which order."""

from __future__ import annotations

import tracemalloc
from difflib import SequenceMatcher

import polars as pl
import pytest

from hale.data import matching
from hale.data.matching import beginning_with, best_matches, fold, fold_text


def found(names: list[str], text: str, k: int = 10) -> list[tuple[str, str]]:
    return [(names[match.place], match.how) for match in best_matches(pl.Series(names), text, k)]


def test_kinds_of_matches_come_in_their_order() -> None:
    names = ["underdog", "hot-dogger", "dogma.n.01", "hot_dog.n.01", "dog.n.01", "Dog", "cat"]
    assert found(names, "dog") == [
        ("Dog", "exact"),
        ("dog.n.01", "begin"),
        ("hot_dog.n.01", "word"),
        ("dogma.n.01", "start"),
        ("hot-dogger", "inner"),
        ("underdog", "part"),
    ]
    assert found(names, "dog", 2) == [("Dog", "exact"), ("dog.n.01", "begin")]


def test_a_word_goes_before_what_is_spelt_alike() -> None:
    assert found(["snimpy", "python3-numpy"], "numpy")[0] == ("python3-numpy", "word")
    assert found(["snimpy", "python3-numpy"], "numpi") == [("python3-numpy", "near")]


def test_of_one_kind_the_shorter_comes_first_and_then_the_earlier() -> None:
    names = ["dog.n.03xx", "dog.n.02", "dog.n.01"]
    assert [name for name, _ in found(names, "dog")] == ["dog.n.02", "dog.n.01", "dog.n.03xx"]


def test_case_accents_and_underscores_do_not_count() -> None:
    column = pl.Series(
        ["Łódź", "São_Paulo", "STRASSE", "Straße", "Œuvre", "plain", "e\u0301t\u00e9"]
    )
    assert fold(column).to_list() == [
        *("lodz", "sao paulo", "strasse", "strasse", "oeuvre", "plain", "ete")
    ]
    assert fold_text("  SÃO_paulo ") == "sao paulo"
    assert found(["Lodz", "Łódź"], "łodz") == [("Lodz", "exact"), ("Łódź", "exact")]
    assert found(["São_Paulo"], "sao paulo") == [("São_Paulo", "exact")]


def test_letters_that_mean_something_to_a_pattern_are_letters() -> None:
    assert found(["c++ (lang)", "ccc"], "C++") == [("c++ (lang)", "begin")]
    assert found(["a.b", "axb"], "a.b")[0] == ("a.b", "exact")


@pytest.mark.parametrize("text", ["", "  ", "\ud800"])
def test_no_letters_find_nothing(text: str) -> None:
    assert found(["a", "b"], text) == []


def test_near_spellings_are_only_for_what_is_no_word_of_any_name() -> None:
    names = ["python3-numpy", "python3-numba"]
    assert found(names, "python3-numpy") == [("python3-numpy", "exact")]
    near = found(names, "pyhton3-numpy")
    assert near[0] == ("python3-numpy", "near")
    assert found(["paris", "london"], "xyzzy") == []


def test_likeness_is_that_of_the_whole_or_of_a_word() -> None:
    """2 M / (a + b): 'londom' and 'london' have 5 letters of 6 in common, 0.83."""
    (whole,) = best_matches(pl.Series(["london"]), "londom", 3)
    assert whole.order[1] == pytest.approx(1 - 10 / 12)
    (word,) = best_matches(pl.Series(["london bridge"]), "londom", 3)
    assert word.order[1] == pytest.approx(1 - 0.95 * 10 / 12)


def test_of_very_many_those_with_a_piece_left_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MOST_COMPARED", 2)
    names = ["paris", "london", "rome"]
    assert found(names, "londom") == [("london", "near")]
    assert found(names, "xyz") == []


def test_only_the_most_alike_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MOST_ALIKE", 1)
    assert found(["lxndzm", "lonxom", "london"], "londom") == [("london", "near")]


def test_parts_of_a_column_are_one_column(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"n{i:03}x" for i in range(50)] + ["near miss", "b7", "ab7"]
    texts = ["b7", "n01", "7", "n013y", "near mist", "x"]
    whole = [found(names, text, 5) for text in texts]
    monkeypatch.setattr(matching, "PART", 7)
    assert [found(names, text, 5) for text in texts] == whole
    assert whole[0] == [("b7", "exact"), ("ab7", "part")]


def test_finding_makes_few_strings() -> None:
    column = pl.select(pl.int_range(300_000).cast(pl.String)).to_series() + "_entity"
    tracemalloc.start()
    near = best_matches(column, "12345_entitx", 3)
    within = best_matches(column, "entity", 3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert column[near[0].place] == "12345_entity"
    assert [match.how for match in within] == ["word"] * 3
    assert peak < 8_000_000  # 300,000 strings of Python are 18 MB


def test_what_begins_with_letters_as_they_are() -> None:
    column = pl.Series(["dogma", "Dog", "dog.n.01", "dog", "hot dog"])
    assert [column[i] for i in beginning_with(column, "dog", 2)] == ["dog", "dogma"]
    assert beginning_with(column, "x", 2) == []


def test_a_text_that_nobody_types_is_compared_with_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """64 kB against names as long took minutes."""
    compared: list[str] = []
    likeness = matching._likeness

    def counted(matcher: SequenceMatcher[str], text: str) -> float:
        compared.append(text)
        return likeness(matcher, text)

    monkeypatch.setattr(matching, "_likeness", counted)
    names = ["é" * 32_766 + f"{i:02}" for i in range(20)]
    assert found(names, "é" * 32_768) == []
    assert compared == []
    assert found(["london"], "londom") == [("london", "near")]
    assert compared != []  # what is counted is what compares
    assert len(found(names, "é" * matching.LONGEST)) == 10


def test_more_matches_than_there_are_texts_are_all() -> None:
    """Of any size: a library counts rows in 64 bits."""
    assert len(found(["dog", "hot dog", "cat"], "dog", 10**40)) == 2
    assert found(["snimpy", "cat"], "numpi", 10**40) == found(["snimpy", "cat"], "numpi", 2)

"""What training needs, worked out by hand; and what is said where it does not fit."""

from __future__ import annotations

import re

import pytest

from hale.data.graph import GraphSize
from hale.errors import SettingsError
from hale.settings import Settings
from hale.training import needs
from hale.training.needs import check_fits, needed

SIZE = GraphSize(1_000_000, 10)
TRANSE = Settings(model="transe", strategy="hale", dim=32, queries=100, block=4096)


def test_tables_moments_gradient_and_pairs() -> None:
    # a translation and a scale for each of 20 directed relations
    weights = 4 * (32 * 1_000_000 + 20 * 32 + 20)
    assert needed(TRANSE, SIZE) == 3 * weights + 4 * 100 * 4096
    whole = TRANSE.model_copy(update={"block": "all"})
    assert needed(whole, SIZE) == 4 * weights + 4 * 100 * 1_000_000
    adagrad = TRANSE.model_copy(update={"optimizer": "adagrad"})
    assert needed(adagrad, SIZE) == 2 * weights + 4 * 100 * 4096
    samneg = TRANSE.model_copy(update={"strategy": "samneg"})
    rows = 2 * 4 * samneg.batch_size * samneg.negatives * 32
    assert needed(samneg, SIZE) < 3 * weights + rows + 4 * 3 * 1_000_001  # no sum over entities
    double = TRANSE.model_copy(update={"precision": "float64"})
    assert needed(double, SIZE) == 2 * needed(TRANSE, SIZE)


def test_negatives_of_a_batch_and_their_gradients() -> None:
    asked = {"strategy": "samneg", "batch_size": 1024, "negatives": 256}
    negative = TRANSE.model_copy(update=asked)
    one = TRANSE.model_copy(update=asked | {"negatives": 0})
    rows = 1024 * 256 * 32
    assert needed(negative, SIZE) - needed(one, SIZE) == 4 * 2 * rows
    adversarial = negative.model_copy(update={"strategy": "advneg"})
    assert needed(adversarial, SIZE) == needed(negative, SIZE)
    # HaLE draws queries, not negatives
    assert needed(TRANSE.model_copy(update={"negatives": 9999}), SIZE) == needed(TRANSE, SIZE)


def test_each_layer_of_an_encoder_has_a_row_for_each_entity() -> None:
    layers = [
        needed(
            Settings(model="compgcn", strategy="allneg", dim=32, block=4096, encoder_layers=count),
            SIZE,
        )
        for count in (1, 2)
    ]
    rows = 4 * 32 * 1_000_000
    assert rows < layers[1] - layers[0] < 1.01 * rows  # and the few weights of a layer


def test_what_teachers_tell_and_what_is_known_of_facts() -> None:
    taught = TRANSE.model_copy(
        update={"teacher": ("a", "b"), "teacher_queries": 1000, "teacher_top": 16}
    )
    assert needed(taught, SIZE) - needed(TRANSE, SIZE) == 1000 * 16 * (8 + 2 * 4)
    few = GraphSize(10, 2)  # which has 40 queries of 10 answers
    assert needed(taught, few) - needed(TRANSE, few) == 40 * 10 * 16
    assert needed(TRANSE, SIZE, 5_000_000) - needed(TRANSE, SIZE) == 16 * 5_000_000


@pytest.mark.parametrize(
    ("changed", "free", "advice"),
    [
        ({"block": "all"}, 500 << 20, "take --block 4096"),
        ({}, 200 << 20, "take --dim 16"),
        ({"block": "all"}, 120 << 20, "take --block 4096 and --dim 8"),
        ({}, 1 << 20, "take a machine with more"),
        (
            {"strategy": "samneg", "batch_size": 1 << 20, "negatives": 256},
            8 << 30,
            "take --batch-size 65536",  # 4 GB of negatives; twice as many are 8 beside the tables
        ),
        (
            {"teacher": ("a",), "teacher_queries": 1 << 24, "teacher_top": 64},
            4 << 30,
            "take --teacher-queries 4194304",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_what_would(
    monkeypatch: pytest.MonkeyPatch, changed: dict[str, object], free: int, advice: str
) -> None:
    monkeypatch.setattr(needs, "available", lambda: free)
    with pytest.raises(SettingsError, match=f"GB are free here: {advice}") as caught:
        check_fits(TRANSE.model_copy(update=changed), SIZE)
    assert "1,000,000 entities at --dim 32" in str(caught.value)
    if "--" in advice:  # what it says will do, does
        flags = dict(part.split(" ") for part in re.findall(r"--(\S+ \d+)", advice))
        taken = {name.replace("-", "_"): int(value) for name, value in flags.items()}
        check_fits(TRANSE.model_copy(update=changed | taken), SIZE)


def test_what_fits_or_cannot_be_known_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    for free in (1 << 40, None):
        monkeypatch.setattr(needs, "available", lambda free=free: free)
        check_fits(TRANSE, SIZE)
    monkeypatch.setattr(needs, "available", lambda: 1)
    check_fits(TRANSE.model_copy(update={"device": "cuda"}), SIZE)  # its memory is another

"""What training needs, worked out by hand; and what is said where it does not fit."""

from __future__ import annotations

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
    assert needed(samneg, SIZE) < 3 * weights + 4 * 3 * 1_000_001  # no sum over entities
    double = TRANSE.model_copy(update={"precision": "float64"})
    assert needed(double, SIZE) == 2 * needed(TRANSE, SIZE)


@pytest.mark.parametrize(
    ("changed", "free", "advice"),
    [
        ({"block": "all"}, 500 << 20, "take --block 4096"),
        ({}, 200 << 20, "take --dim 16"),
        ({"block": "all"}, 120 << 20, "take --dim 8"),
        ({}, 1 << 20, "take a machine with more"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_would(
    monkeypatch: pytest.MonkeyPatch, changed: dict[str, object], free: int, advice: str
) -> None:
    monkeypatch.setattr(needs, "available", lambda: free)
    with pytest.raises(SettingsError, match=f"GB are free here: {advice}") as caught:
        check_fits(TRANSE.model_copy(update=changed), SIZE)
    assert "1,000,000 entities at --dim 32" in str(caught.value)


def test_what_fits_or_cannot_be_known_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    for free in (1 << 40, None):
        monkeypatch.setattr(needs, "available", lambda free=free: free)
        check_fits(TRANSE, SIZE)
    monkeypatch.setattr(needs, "available", lambda: 1)
    check_fits(TRANSE.model_copy(update={"device": "cuda"}), SIZE)  # its memory is another

"""The order in which missing facts are judged."""

from __future__ import annotations

from typing import Any

import pytest

from hale.answers.discovery import discover
from hale.runs.run import Run
from hale.serve.pages.review_queue import ReviewQueue


@pytest.mark.parametrize("told", [True, False])
def test_the_likeliest_come_first(run: Run, told: bool) -> None:
    """Whatever their scores; without probabilities in the order in which they are found."""
    asked: list[int] = []

    def sure(facts: list[dict[str, Any]]) -> list[dict[str, Any]]:
        asked.append(len(facts))
        if not told:
            return facts
        return [{**fact, "probability": fact["rank"] / 1000} for fact in facts]

    search = ReviewQueue(run, sure).search("next")
    assert search.done.wait(60)
    assert search.facts is not None
    ranks = [fact["rank"] for fact in search.facts]
    found = [fact.rank for fact in discover(run, ["next"], k=200)]
    assert len(found) > 2
    assert ranks == (found[::-1] if told else found)
    assert asked == [len(found)]

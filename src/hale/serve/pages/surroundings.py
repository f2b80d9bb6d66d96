"""Surroundings: the small graph around an entity, as places and lines for a drawing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

KNOWN, PREDICTED = 10, 4  # facts that are drawn
WIDTH, HEIGHT = 560, 360
LETTERS = 18  # of a name that are shown


@dataclass(frozen=True)
class Spoke:
    """An entity beside the one in the middle: where it stands, and the fact that joins them."""

    name: str
    text: str
    relation: str
    x: float
    y: float
    anchor: str
    predicted: bool
    outward: bool  # whether the one in the middle is the head


def spokes(
    entity: str, known: Sequence[dict[str, Any]], predicted: Sequence[dict[str, Any]] = ()
) -> list[Spoke]:
    """Some facts of an entity as spokes of a wheel, evenly spread, relations taking turns."""
    chosen = [(fact, False) for fact in _in_turns(known)[:KNOWN]]
    chosen += [(fact, True) for fact in predicted[:PREDICTED]]
    chosen = [(fact, new) for fact, new in chosen if fact["head"] != fact["tail"]]
    found = []
    for number, (fact, new) in enumerate(chosen):
        angle = 2 * math.pi * (number + 0.5) / len(chosen) - math.pi / 2
        outward = fact["head"] == entity
        place = "tail" if outward else "head"
        across = math.cos(angle)
        found.append(
            Spoke(
                name=fact[place],
                text=_short(fact.get(f"{place}_label") or fact[place]),
                relation=_short(fact["relation"], 2 * LETTERS),
                x=round(WIDTH / 2 + 0.25 * WIDTH * across, 1),
                y=round(HEIGHT / 2 + 0.4 * HEIGHT * math.sin(angle), 1),
                anchor="start" if across > 0.15 else "end" if across < -0.15 else "middle",
                predicted=new,
                outward=outward,
            )
        )
    return found


def _in_turns(facts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One fact of each relation, then a second of each, and so on."""
    seen: dict[str, int] = {}
    turns = []
    for fact in facts:
        seen[fact["relation"]] = turn = seen.get(fact["relation"], -1) + 1
        turns.append(turn)
    return [fact for _, fact in sorted(zip(turns, facts, strict=True), key=lambda one: one[0])]


def _short(text: str, most: int = LETTERS) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"

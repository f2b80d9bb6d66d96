"""Paths: rules that lead from a fact's head to its tail, and how often they hold in train.

    r(x, y)  <-  p1(x, z1), p2(z1, z2), p3(z2, y)          up to three steps, either way

A rule's confidence is the share of pairs (x, y) that its path joins of which train holds the fact
(Galárraga et al., WWW 2013). It is counted from the facts, no vector has a say.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hale.data.graph import Graph
from hale.data.keys import Ids, pair_keys, pairs_of
from hale.data.known_answers import KnownAnswers

LENGTH = 3
NEAR = 500  # facts of an entity that are followed
RULES = 48  # that are counted for one fact, the shortest first, then those with most paths
HEADS = 200  # from which the paths of a rule are followed, drawn evenly
ENDS = 1 << 15  # of these paths; from fewer heads where they are more
DOUBT = 5  # pairs that are supposed not to hold: a rule seen once is no rule


@dataclass(frozen=True)
class PathRule:
    """A path from head to tail, as a rule: ``facts`` of the ``cases`` that it joins hold in train.

    ``through`` are the entities of one such path, between head and tail. Relations that are
    walked from tail to head end with ^-1.
    """

    relations: tuple[str, ...]
    through: tuple[str, ...]
    cases: int
    facts: int

    @property
    def confidence(self) -> float:
        """The share of cases that hold."""
        return self.facts / self.cases if self.cases else 0.0


def path_rules(
    graph: Graph, fact: tuple[int, int, int], *, k: int = 5, seed: int = 0
) -> list[PathRule]:
    """The k most trustworthy rules whose paths lead from head to tail, by facts / (cases + 5).

    Paths are simple (no entity twice) and never take the fact itself, nor does it count as a case.
    """
    train = graph.known("train")
    found = _paths(train, len(graph.relations), fact)
    ordered = sorted(found, key=lambda steps: (len(steps), -found[steps][1]))[:RULES]
    rules = []
    for steps in ordered:
        cases, facts = count_rule(graph, steps, fact[1], without=(fact[0], fact[2]), seed=seed)
        if facts:
            names = tuple(_named(graph, step) for step in steps)
            through = tuple(graph.entities[entity] for entity in found[steps][0])
            rules.append(PathRule(names, through, cases, facts))
    rules.sort(key=lambda rule: (-rule.facts / (rule.cases + DOUBT), rule.relations))
    return rules[:k]


def count_rule(
    graph: Graph,
    steps: tuple[int, ...],
    relation: int,
    *,
    without: tuple[int, int] | None = None,
    seed: int = 0,
) -> tuple[int, int]:
    """The pairs that a path of steps below 2R joins, and those of them that hold: cases, facts.

    From at most HEADS heads, and so many fewer that no more than ENDS paths are followed.
    """
    train = graph.known("train")
    heads = graph.sides.given(steps[0])
    draws = np.random.default_rng(seed)
    if len(heads) > HEADS:
        heads = np.sort(draws.choice(heads, HEADS, replace=False))
    while len(heads):
        ends = _walk(train, heads, steps)
        if ends is not None:
            break
        heads = heads[::2] if len(heads) > 1 else heads[:0]
    else:
        return 0, 0
    rows, tails = ends
    sizes = (len(graph.entities), len(graph.entities))
    givens, answers = pairs_of(np.unique(pair_keys(heads[rows], tails, sizes)), sizes[1])
    if without is not None:
        other = (givens != without[0]) | (answers != without[1])
        givens, answers = givens[other], answers[other]
    holds = train.holds(givens, np.full(len(givens), relation), answers)
    return len(givens), int(holds.sum())


def _walk(train: KnownAnswers, heads: Ids, steps: tuple[int, ...]) -> tuple[Ids, Ids] | None:
    """The ends of simple paths from heads (n,): rows and entities; None where they are too many."""
    visited = heads[:, None]
    rows = np.arange(len(heads))
    for step in steps:
        here = visited[:, -1]
        asked = np.full(len(here), step)
        if int(train.counts(here, asked).sum()) > ENDS:
            return None
        at, there = train.of(here, asked)
        visited = np.column_stack([visited[at], there])
        rows = rows[at]
        fresh = (visited[:, :-1] != visited[:, -1:]).all(axis=1)
        visited, rows = visited[fresh], rows[fresh]
    return rows, visited[:, -1]


Found = dict[tuple[int, ...], tuple[tuple[int, ...], int]]  # steps: an example, and how many


def _paths(train: KnownAnswers, half: int, fact: tuple[int, int, int]) -> Found:
    """The kinds of simple paths of up to LENGTH steps from head to tail, without the fact."""
    head, relation, tail = fact
    found: Found = {}

    def add(steps: tuple[int, ...], through: tuple[int, ...]) -> None:
        if len({head, *through, tail}) == len(through) + 2 and steps != (relation,):
            example, count = found.get(steps, (through, 0))
            found[steps] = example, count + 1

    def turned(step: int) -> int:
        return (step + half) % (2 * half)

    first, last = _edges(train, half, head), _edges(train, half, tail)
    for step, entity in first:
        if entity == tail:
            add((step,), ())
    into: dict[int, list[int]] = {}  # of each entity, the steps from it to the tail
    for step, entity in last:
        into.setdefault(entity, []).append(turned(step))
    for step, entity in first:
        for end in into.get(entity, ()):
            add((step, end), (entity,))
    for step, entity in first:
        if entity in (head, tail):
            continue
        for middle, other in _edges(train, half, entity):
            for end in into.get(other, ()):
                add((step, middle, end), (entity, other))
    return found


def _edges(train: KnownAnswers, half: int, entity: int) -> list[tuple[int, int]]:
    """The facts of an entity as steps below 2R and where they lead; at most NEAR of them."""
    index = train.index
    assert index is not None  # one split has one index
    width = 2 * half
    start, end = np.searchsorted(index.keys, (entity * width, (entity + 1) * width))
    bounds: NDArray[np.int64] = index.offsets[start : end + 1].astype(np.int64)
    if len(bounds) < 2:
        return []
    steps = np.repeat(index.keys[start:end] % width, np.diff(bounds))
    there = index.answers[bounds[0] : bounds[-1]]
    return list(zip(steps[:NEAR].tolist(), there[:NEAR].tolist(), strict=True))


def _named(graph: Graph, step: int) -> str:
    half = len(graph.relations)
    return graph.relations[step % half] + ("^-1" if step >= half else "")


def in_words(rule: PathRule, head: str, tail: str) -> str:
    """'a -r-> b -s^-1-> c: holds in 87 % of 1,204 cases'."""
    stops = (head, *rule.through, tail)
    joined = "".join(
        f"{one} -{step}-> " for (one, _), step in zip(pairwise(stops), rule.relations, strict=True)
    )
    return f"{joined}{tail}: holds in {rule.confidence:.0%} of {rule.cases:,} cases"

"""Path rules: which paths of train lead to the answers of a relation, and how often."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hale.data.graph import Graph
from hale.data.keys import Ids
from hale.data.walks import AT_ONCE, Walks

Floats = NDArray[np.float64]

ENDS = 1 << 26  # of paths that are looked at in all; a relation has its share of them
LEAST_ENDS = 1 << 16  # of a relation
DOUBT = 5  # cases that are supposed not to hold: a rule seen once is no rule
LEAST_FACTS = 2
LEAST_CONFIDENCE = 0.005


class Evidence(NamedTuple):
    """Answers that rules speak for: which query, which entity, the highest confidence."""

    rows: Ids
    entities: Ids
    confidence: Floats


class PathRules:
    """Rules  r(x, y) <- p1(x, z1), p2(z1, z2), p3(z2, y)  of up to three steps, either way.

    A rule's confidence is  facts / (cases + 5):  of the pairs (x, y) that its path joins, those
    that train holds the fact of, for x among entities that answer for r at all (the closed world
    of AMIE, Galarraga et al., WWW 2013, with AnyBURL's supposed cases, Meilicke et al., IJCAI
    2019). Nothing but train is read. ``codes`` are those of ``Walks``, sorted within a relation.
    """

    def __init__(self, graph: Graph, keys: Ids, confidence: Floats, facts: Ids, cases: Ids) -> None:
        """From keys (m,), ascending, of a directed relation and a path: relation B^3 + code."""
        self.walks, self._width = Walks(graph), Walks(graph).base ** 3
        self.keys, self.confidence, self.facts, self.cases = keys, confidence, facts, cases

    def __len__(self) -> int:
        return len(self.keys)

    def evidence(self, heads: Ids, relations: Ids) -> Evidence:
        """Who answers queries (n,), (n,) by the rules; the best rule of an answer counts."""
        parts = []
        for start in range(0, len(heads), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            ends = self.walks.from_entities(heads[part])
            asked = relations[part][ends.rows] * self._width + ends.codes
            places = np.searchsorted(self.keys, asked)
            places[places == len(self.keys)] = 0
            held = np.flatnonzero(self.keys[places] == asked) if len(self.keys) else places[:0]
            rows, entities = ends.rows[held] + start, ends.entities[held]
            confidence = self.confidence[places[held]]
            order = np.lexsort((confidence, entities, rows))
            rows, entities, confidence = rows[order], entities[order], confidence[order]
            last = np.ones(len(rows), dtype=bool)
            last[:-1] = (rows[1:] != rows[:-1]) | (entities[1:] != entities[:-1])
            parts.append(Evidence(rows[last], entities[last], confidence[last]))
        if not parts:
            none = np.empty(0, dtype=np.int64)
            return Evidence(none, none, np.empty(0))
        return Evidence(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def as_dict(self) -> dict[str, list[Any]]:
        """Ready for JSON; of the names a graph gives its relations it says nothing."""
        return {
            "keys": self.keys.tolist(),
            "facts": self.facts.tolist(),
            "cases": self.cases.tolist(),
        }

    @classmethod
    def of_dict(cls, graph: Graph, values: Mapping[str, list[int]]) -> PathRules:
        """The way back."""
        keys, facts, cases = (
            np.array(values[name], dtype=np.int64) for name in ("keys", "facts", "cases")
        )
        if not len(keys) == len(facts) == len(cases) or (keys[1:] <= keys[:-1]).any():
            raise ValueError("path rules are sorted and each has facts and cases")
        return cls(graph, keys, facts / (cases + DOUBT), facts, cases)


def mine(graph: Graph, *, seed: int = 0) -> PathRules:
    """The rules of a graph's train facts, from heads drawn by ``seed`` where there are many."""
    walks, known = Walks(graph), graph.known("train")
    draws = np.random.default_rng(seed)
    directed = 2 * len(graph.relations)
    most = max(LEAST_ENDS, ENDS // max(1, directed))
    found: list[tuple[Ids, Ids, Ids]] = []
    for relation in range(directed):
        heads = draws.permutation(graph.sides.given(relation))
        codes, facts, cases = _counted(walks, known.holds, heads, relation, most)
        kept = (facts >= LEAST_FACTS) & (facts / (cases + DOUBT) >= LEAST_CONFIDENCE)
        keys = relation * walks.base**3 + codes[kept]
        found.append((keys, facts[kept], cases[kept]))
    keys, facts, cases = (np.concatenate(column) for column in zip(*found, strict=True))
    return PathRules(graph, keys, facts / (cases + DOUBT), facts, cases)


def _counted(
    walks: Walks, holds: Any, heads: Ids, relation: int, most: int
) -> tuple[Ids, Ids, Ids]:
    """The paths from heads, till ``most`` ends were seen: codes, facts and cases of each."""
    parts: list[tuple[Ids, NDArray[np.bool_]]] = []
    seen = 0
    for start in range(0, len(heads), AT_ONCE):
        asked = heads[start : start + AT_ONCE]
        ends = walks.once(walks.from_entities(asked))
        other = ends.codes != relation + 1  # the fact is no reason for itself
        rows, codes, entities = ends.rows[other], ends.codes[other], ends.entities[other]
        there = holds(asked[rows], np.full(len(rows), relation), entities)
        parts.append((codes, there))
        seen += len(codes)
        if seen >= most:
            break
    if not parts:
        none = np.empty(0, dtype=np.int64)
        return none, none, none
    codes, there = (np.concatenate(column) for column in zip(*parts, strict=True))
    found, which = np.unique(codes, return_inverse=True)
    cases = np.bincount(which, minlength=len(found))
    facts = np.bincount(which, weights=there, minlength=len(found)).astype(np.int64)
    return found, facts, cases

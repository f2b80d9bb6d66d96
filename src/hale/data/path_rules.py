"""Path rules: which paths of train lead to the answers of a relation, and how often."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hale.data.graph import Graph
from hale.data.keys import Ids
from hale.data.known_answers import KnownAnswers
from hale.data.walks import AT_ONCE, Ends, Walks

Floats = NDArray[np.float64]

ENDS = 1 << 26  # of paths that are looked at in all; a relation has its share of them
LEAST_ENDS, MOST_ENDS = 1 << 16, 1 << 22  # of a relation
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
    that train holds the fact of, for x that have a fact of r at all (the partial completeness of
    AMIE, Galarraga et al., WWW 2013), with supposed cases as AnyBURL has them (Meilicke et al.,
    IJCAI 2019). Nothing but train is read.
    """

    def __init__(self, walks: Walks, keys: Ids, facts: Ids, cases: Ids) -> None:
        """From keys (m,), ascending, of a directed relation and a path: relation * width + code."""
        self.walks, self.width = walks, width_of(walks)
        self.keys, self.facts, self.cases = keys, facts, cases
        self.confidence: Floats = facts / (cases + DOUBT)

    def __len__(self) -> int:
        return len(self.keys)

    def evidence(self, heads: Ids, relations: Ids) -> Evidence:
        """Who answers queries (n,), (n,) by the rules; the best rule of an answer counts."""
        parts = []
        asked, which = np.unique(heads, return_inverse=True)
        order = np.argsort(which, kind="stable")  # the queries by their heads
        for start in range(0, len(asked), AT_ONCE):
            ends = self.walks.from_entities(asked[start : start + AT_ONCE])
            by_head = np.argsort(ends.rows, kind="stable")
            first, last = (
                np.searchsorted(ends.rows[by_head], np.arange(AT_ONCE), side=side)
                for side in ("left", "right")
            )
            bounds = np.searchsorted(which[order], (start, start + AT_ONCE))
            for query in order[slice(*bounds)].tolist():
                head = which[query] - start
                mine = by_head[first[head] : last[head]]
                found = self._spoken_for(int(relations[query]), ends, mine)
                parts.append((query, *found))
        parts.sort(key=lambda part: part[0])
        if not parts:
            none = np.empty(0, dtype=np.int64)
            return Evidence(none, none, np.empty(0))
        rows = np.repeat([query for query, _, _ in parts], [len(ids) for _, ids, _ in parts])
        entities, confidence = (
            np.concatenate(column) for column in list(zip(*parts, strict=True))[1:]
        )
        return Evidence(rows, entities, confidence)

    def _spoken_for(self, relation: int, ends: Ends, mine: Ids) -> tuple[Ids, Floats]:
        """The entities that some of the ends lead to by a rule of a relation; the best rule's."""
        keys = relation * self.width + ends.codes[mine]
        places = np.searchsorted(self.keys, keys)
        places[places == len(self.keys)] = 0
        held = np.flatnonzero(self.keys[places] == keys) if len(self.keys) else places[:0]
        entities, confidence = ends.entities[mine[held]], self.confidence[places[held]]
        order = np.lexsort((confidence, entities))
        entities, confidence = entities[order], confidence[order]
        last = np.ones(len(entities), dtype=bool)
        last[:-1] = entities[1:] != entities[:-1]
        return entities[last], confidence[last]

    def as_dict(self) -> dict[str, list[int]]:
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
        return cls(Walks(graph), keys, facts, cases)


def width_of(walks: Walks) -> int:
    """One more than the largest code of a path."""
    width: int = walks.base**walks.length
    return width


def mine(graph: Graph, *, seed: int = 0) -> PathRules:
    """The rules of a graph's train facts, from heads drawn by ``seed`` where there are many."""
    walks, known = Walks(graph), graph.known("train")
    draws = np.random.default_rng(seed)
    directed = 2 * len(graph.relations)
    most = min(MOST_ENDS, max(LEAST_ENDS, ENDS // max(1, directed)))
    found: list[tuple[Ids, Ids, Ids]] = []
    for relation in range(directed):
        heads = draws.permutation(graph.sides.given(relation))
        codes, facts, cases = _counted(walks, known, heads, relation, most)
        kept = (facts >= LEAST_FACTS) & (facts / (cases + DOUBT) >= LEAST_CONFIDENCE)
        keys = relation * width_of(walks) + codes[kept]
        found.append((keys, facts[kept], cases[kept]))
    keys, facts, cases = (np.concatenate(column) for column in zip(*found, strict=True))
    return PathRules(walks, keys, facts, cases)


def _counted(
    walks: Walks, known: KnownAnswers, heads: Ids, relation: int, most: int
) -> tuple[Ids, Ids, Ids]:
    """The paths from heads, till ``most`` ends were seen: codes, facts and cases of each."""
    parts: list[tuple[Ids, NDArray[np.bool_]]] = []
    seen = 0
    for start in range(0, len(heads), AT_ONCE):
        asked = heads[start : start + AT_ONCE]
        ends = walks.once(walks.from_entities(asked))
        other = ends.codes != relation + 1  # the fact is no reason for itself
        rows, codes, entities = ends.rows[other], ends.codes[other], ends.entities[other]
        there = known.holds(asked[rows], np.full(len(rows), relation), entities)
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

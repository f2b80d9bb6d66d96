"""Known answers: which entities answer a query in a set of triples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hale.data.keys import LIMIT, Ids, pair_keys, pairs_of, places_in

# Facts that are looked at together where all are.
PART = 1 << 20


class Index(NamedTuple):
    """Answers by query (CSR): those of ``keys[i]`` are ``answers[offsets[i] : offsets[i + 1]]``.

    Keys are ascending, and so are the answers of each. Offsets and answers are int32 where they
    fit, which is half the memory.
    """

    keys: Ids  # (Q,)
    offsets: NDArray[Any]  # (Q + 1,)
    answers: NDArray[Any]  # (n,)

    def spans(self, keys: Ids) -> tuple[Ids, Ids]:
        """Where the answers of queries start, and how many there are: (B,) -> (B,), (B,)."""
        place = places_in(self.keys, keys)
        starts = self.offsets[place]  # of a query that does not occur, whatever is last
        counts = np.where(place >= 0, self.offsets[place + 1] - starts, 0)
        return starts, counts

    def of(self, keys: Ids) -> tuple[Ids, Ids]:
        """The answers of queries (B,) as pairs (row, entity), by row and then by entity."""
        starts, counts = self.spans(keys)
        rows = np.repeat(np.arange(len(keys), dtype=np.int64), counts)
        # whole slices: a place for every pair would cost ten times as much where answers are many
        spans = zip(starts.tolist(), (starts + counts).tolist(), strict=True)
        slices = [self.answers[start:end] for start, end in spans]
        return rows, np.concatenate(slices).astype(np.int64) if slices else rows

    def facts(self) -> Iterator[tuple[Ids, Ids]]:
        """All facts as key and answer, in their order, part by part."""
        for start in range(0, len(self.answers), PART):
            end = min(start + PART, len(self.answers))
            first, last = np.searchsorted(self.offsets, (start, end - 1), side="right") - 1
            bounds = np.clip(self.offsets[first : last + 2], start, end)
            keys = np.repeat(self.keys[first : last + 1], np.diff(bounds))
            yield keys, self.answers[start:end].astype(np.int64)

    def holds(self, keys: Ids, answers: Ids) -> NDArray[np.bool_]:
        """Which of these are facts: (n,), (n,) -> (n,)."""
        low, counts = (part.astype(np.int64) for part in self.spans(keys))
        high = low + counts
        found = np.zeros(len(keys), dtype=bool)
        open_ = np.flatnonzero(counts)  # whose answer may still lie in [low, high)
        while len(open_):
            middle = (low[open_] + high[open_]) // 2
            there, wanted = self.answers[middle], answers[open_]
            found[open_[there == wanted]] = True
            low[open_[there < wanted]] = middle[there < wanted] + 1
            high[open_[there >= wanted]] = middle[there >= wanted]
            open_ = open_[(low[open_] < high[open_]) & (there != wanted)]
        return found


def index_of(
    parts: Sequence[Ids],
    num_relations: int,
    *,
    turned: bool = False,
    within: range | None = None,
) -> Index:
    """Index triples (n, 3) by query, those of all parts together; with ``turned`` both ways.

    Answers are those ``within`` some entities, all unless told; no triple is copied but for PART
    at a time. The key of a query is ``head * 2R + relation``. Query and answer are one number, so
    that one array is sorted in place; where such numbers would not fit, the two are sorted by
    together.
    """
    width = 2 * num_relations
    ends = 1 + max((int(p[:, c].max(initial=0)) for p in parts for c in (0, 2)), default=0)
    ways = [(0, 2, 0), (2, 0, num_relations)] if turned else [(0, 2, 0)]
    chunks = [
        (part[start : start + PART], *way)
        for way in ways
        for part in parts
        for start in range(0, len(part), PART)
    ]
    keys = np.empty(
        sum(_count(chunk[:, tail], within) for chunk, _, tail, _ in chunks), dtype=np.int64
    )
    answers = np.empty(len(keys), dtype=_narrow(ends))
    end = 0
    for chunk, head, tail, shift in chunks:
        if within is not None:
            chunk = chunk[_lie(chunk[:, tail], within)]
        start, end = end, end + len(chunk)
        keys[start:end] = pair_keys(chunk[:, head], chunk[:, 1] + shift, (ends, width))
        answers[start:end] = chunk[:, tail]
    if math.prod((ends, width, ends)) < LIMIT:
        keys *= ends
        keys += answers
        keys.sort()
        for start in range(0, len(keys), PART):
            part = keys[start : start + PART]
            part[:], answers[start : start + PART] = np.divmod(part, ends)
    else:
        order = np.lexsort((answers, keys))
        keys, answers = keys[order], answers[order]
    return _compressed(keys, answers)


def _lie(ids: Ids, within: range) -> NDArray[np.bool_]:
    """Which of some ids (n,) lie there: (n,)."""
    found: NDArray[np.bool_] = (ids >= within.start) & (ids < within.stop)
    return found


def _count(ids: Ids, within: range | None) -> int:
    return len(ids) if within is None else int(np.count_nonzero(_lie(ids, within)))


def _compressed(keys: Ids, answers: NDArray[Any]) -> Index:
    """Sorted pairs, perhaps repeated -> each query once, each answer of it once."""
    fresh = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=fresh[1:])
    new = fresh.copy()  # queries
    fresh[1:] |= answers[1:] != answers[:-1]
    if not fresh.all():
        keys, answers, new = keys[fresh], answers[fresh], new[fresh]
    offsets = np.append(np.flatnonzero(new), len(keys)).astype(_narrow(len(keys) + 1))
    return Index(keys[new], offsets, answers)


def _narrow(limit: int) -> type[np.signedinteger[Any]]:
    """The type for numbers below a limit."""
    return np.int32 if limit <= 2**31 else np.int64


class KnownAnswers:
    """The answers of every query in a set of triples, as sorted arrays (CSR).

    A query (head, relation) has the key ``head * 2R + relation``, where the
    reciprocal of relation r is r + R, so one table serves both directions.
    """

    def __init__(self, triples: Ids, num_relations: int) -> None:
        """Index ``triples`` (n, 3), which hold both directions."""
        self._width = 2 * num_relations
        self._parts: tuple[Index, ...] = (index_of([triples], num_relations),)

    @classmethod
    def both_ways(
        cls, splits: Sequence[Ids], num_relations: int, *, beside: KnownAnswers | None = None
    ) -> KnownAnswers:
        """The answers in both directions of triples that hold one, none of them copied.

        With those ``beside``, which stay where they are.
        """
        made = cls.__new__(cls)
        made._width = 2 * num_relations
        before = () if beside is None else beside._parts
        made._parts = (*before, index_of(splits, num_relations, turned=True))
        return made

    @property
    def index(self) -> Index | None:
        """The answers of all queries in one index; None where there are several."""
        return self._parts[0] if len(self._parts) == 1 else None

    def _key(self, heads: Ids, relations: Ids) -> Ids:
        """The keys of queries: (B,), (B,) -> (B,)."""
        return pair_keys(heads, relations, (1 + int(heads.max(initial=-1)), self._width))

    def _facts(self) -> Iterator[tuple[Ids, Ids]]:
        """All facts as key and answer, part by part; one that several indexes hold comes once."""
        for number, index in enumerate(self._parts):
            for keys, answers in index.facts():
                new = np.ones(len(keys), dtype=bool)
                for earlier in self._parts[:number]:
                    new &= ~earlier.holds(keys, answers)
                yield keys[new], answers[new]

    @cached_property
    def two_way(self) -> NDArray[np.bool_]:
        """Which relations (2R,) mostly run both ways.

        Those of whose facts (h, r, t) at least half have (t, r, h) beside them, such as a
        marriage or a likeness; a relation without facts does not.
        """
        met, count = np.zeros((2, self._width), dtype=np.int64)
        half = self._width // 2
        for keys, answers in self._facts():
            _, relations = pairs_of(keys, self._width)
            # (t, r, h) is there if its reciprocal (h, r + R, t) is, which lies near (h, r, t)
            back = keys + np.where(relations < half, half, -half)
            turned = np.zeros(len(keys), dtype=bool)
            for index in self._parts:
                turned |= index.holds(back, answers)
            met += np.bincount(relations[turned], minlength=self._width)
            count += np.bincount(relations, minlength=self._width)
        met, count = self._of_all(met), self._of_all(count)
        return (count > 0) & (2 * met >= count)

    @cached_property
    def loops(self) -> NDArray[np.bool_]:
        """Which relations (2R,) may join an entity to itself.

        Those of whose facts (h, r, t) at least one in a hundred does (h = t), and those without
        facts, of which nothing is known.
        """
        met, count = np.zeros((2, self._width), dtype=np.int64)
        for keys, answers in self._facts():
            heads, relations = pairs_of(keys, self._width)
            met += np.bincount(relations[heads == answers], minlength=self._width)
            count += np.bincount(relations, minlength=self._width)
        return 100 * self._of_all(met) >= self._of_all(count)

    def _of_all(self, counts: Ids) -> Ids:
        """Counts over all facts, where others hold some of them; here are all."""
        return counts

    def __len__(self) -> int:
        """Facts, both directions counted."""
        if len(self._parts) == 1:
            return len(self._parts[0].answers)
        return sum(len(keys) for keys, _ in self._facts())

    def counts(self, heads: Ids, relations: Ids) -> Ids:
        """How many answers each query has: (B,), (B,) -> (B,)."""
        keys = self._key(heads, relations)
        counts = self._parts[0].spans(keys)[1].astype(np.int64)
        for number, index in enumerate(self._parts[1:], start=1):
            asked = np.flatnonzero(index.spans(keys)[1])  # few, as this index is small
            rows, answers = index.of(keys[asked])
            new = np.ones(len(rows), dtype=bool)
            for earlier in self._parts[:number]:
                new &= ~earlier.holds(keys[asked][rows], answers)
            counts[asked] += np.bincount(rows[new], minlength=len(asked))
        return counts

    def holds(self, heads: Ids, relations: Ids, answers: Ids) -> NDArray[np.bool_]:
        """Which of these are facts: (n,), (n,), (n,) -> (n,)."""
        keys = self._key(heads, relations)
        found = np.zeros(len(keys), dtype=bool)
        for index in self._parts:
            found |= index.holds(keys, answers)
        return found

    def of(self, heads: Ids, relations: Ids) -> tuple[Ids, Ids]:
        """Known answers of queries (B,), (B,) as pairs (row, entity), by row.

        Row i of the pairs speaks of query i; a query without answers has none.
        """
        keys = self._key(heads, relations)
        rows, answers = self._parts[0].of(keys)
        for index in self._parts[1:]:
            rows, answers = _merged((rows, answers), index.of(keys))
        return rows, answers


def _merged(one: tuple[Ids, Ids], other: tuple[Ids, Ids]) -> tuple[Ids, Ids]:
    """The pairs of both in order, each once; those of the ``other`` are few."""
    if not len(other[0]):
        return one
    width = 1 + max(int(pairs[1].max(initial=0)) for pairs in (one, other))
    sizes = (1 + int(max(pairs[0].max(initial=0) for pairs in (one, other))), width)
    ours, theirs = (pair_keys(*pairs, sizes) for pairs in (one, other))
    more = places_in(ours, theirs) < 0
    places = np.searchsorted(ours, theirs[more])
    rows, answers = (
        np.insert(mine, places, added[more]) for mine, added in zip(one, other, strict=True)
    )
    return rows, answers

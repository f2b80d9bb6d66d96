"""Facts: which split holds a triple."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Codes = NDArray[np.int8]


class Facts:
    """The triples of some splits as one sorted array of keys.

    A triple has the key ``(head * R + relation) * N + tail``. One that several
    splits hold counts as the first one's.
    """

    def __init__(self, splits: Sequence[Ids], num_entities: int, num_relations: int) -> None:
        """Index ``splits``, each (n, 3); their order gives the codes 0, 1, 2, ..."""
        self._sizes = (num_relations, num_entities)
        keys = np.concatenate([self._key(triples) for triples in splits])
        codes = np.repeat(np.arange(len(splits), dtype=np.int8), [len(part) for part in splits])
        self._keys, first = np.unique(keys, return_index=True)  # the first of equal keys
        self._codes: Codes = codes[first]

    def _key(self, triples: Ids) -> Ids:
        num_relations, num_entities = self._sizes
        keys: Ids = (triples[:, 0] * num_relations + triples[:, 1]) * num_entities + triples[:, 2]
        return keys

    def split_codes(self, triples: Ids) -> Codes:
        """The place in ``splits`` that holds each triple, -1 for none: (n, 3) -> (n,)."""
        if not len(self._keys):
            return np.full(len(triples), -1, dtype=np.int8)
        keys = self._key(triples)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        found: Codes = np.where(self._keys[place] == keys, self._codes[place], np.int8(-1))
        return found

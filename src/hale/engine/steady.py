"""Products whose entries are the same bits however their table is cut.

A matrix product takes another way where it has few rows or few columns, which adds up in another
order. So the best answers to one query would depend in their last bit on how many entities were
scored at once, and with it on the number of ranks that share them. Filled up with zeros to a size
at which there is one way alone, an entry depends on its own row and column. Hyperbolic distances
have functions that are computed for several entries at once and otherwise for what is left at the
end: they are filled up so that nothing is left. With several threads there is an end to each one's
part, and no promise.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

# Measured with MKL 2024.2 on AVX-512: entries of products of 1 to 3 rows, or of up to 17 columns,
# depended on the shape; from 7 rows and 100 columns on none did.
ROWS, COLUMNS = 16, 128
AT_ONCE = 64  # entries of functions, at least

Compare = Callable[[Tensor, Tensor, Tensor | None], Tensor]


def steady(compare: Compare, queries: Tensor, entities: Tensor, beside: Tensor | None) -> Tensor:
    """``compare`` of queries (B, d) and entities (K, d), made of no fewer than so many: -> (B, K).

    ``beside`` (B, k) is what a comparison takes of relations, if anything. Gradients go through it
    as they would without.
    """
    more_rows = max(0, ROWS - len(queries))
    more_columns = max(0, COLUMNS - len(entities))
    if beside is not None:
        more_columns = max(more_columns, -len(entities) % AT_ONCE)
    if not more_rows and not more_columns:
        return compare(queries, entities, beside)
    rows = functional.pad(queries, (0, 0, 0, more_rows))
    columns = entities  # filling up by nothing would copy them
    if more_columns:
        columns = functional.pad(entities, (0, 0, 0, more_columns))
    if beside is not None and more_rows:
        beside = torch.cat((beside, beside.new_ones(more_rows, *beside.shape[1:])))
    scores = compare(rows, columns, beside)
    return scores[: len(queries), : len(entities)].contiguous()

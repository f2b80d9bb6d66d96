"""Log-sums over entities that are spread over the ranks of a group, with their gradients.

    log Z_i,   Z_i = ratio sum_j exp(s_ij) + base_i [+ exp(o_i)]        (see engine.estimate)

Each shard of the entities is summed by itself, in an order that the problem decides; the sums of
shards meet as whole numbers (engine.exact). So neither the number of ranks nor that of threads
changes a bit of the value or of any gradient. What travels is the largest score of each query,
where scores have no bound, and the sums (m, k): nothing that grows with the entities.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from hale.engine.estimate import Estimate
from hale.engine.exact import exact_sum
from hale.engine.group import Group


class Sweep(Protocol):
    """The entities of this rank, shard by shard, as m queries see them."""

    @property
    def widths(self) -> Sequence[int]:
        """The columns of the sums, in runs of one size each; the first is exp(s - peak)."""

    def peaks(self) -> Tensor | None:
        """The largest score of each query here (m,), float64; None where scores are bounded."""

    def sums(self, peaks: Tensor) -> Tensor:
        """Of each shard, sums over its entities of w = exp(s - peak), and of w ds/drow: (c, m, k).

        The peaks (m,) are those of all ranks, zero where scores are bounded.
        """

    def by_rows(self, sums: Tensor, shares: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients by what queries have, from sums (m, k) of all ranks; shares (m,) of each w."""

    def by_tables(self, shares: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients by what the entities of this rank have."""


class LogSums(NamedTuple):
    """log Z (m,), float64, and gradients of sum_i share_i log Z_i."""

    logs: Tensor
    by_rows: tuple[Tensor | None, ...]
    by_tables: tuple[Tensor | None, ...]
    by_others: Tensor | None


@torch.no_grad()
def log_sums(
    group: Group,
    sweep: Sweep,
    shares: Tensor,
    estimate: Estimate,
    others: Tensor | None = None,
) -> LogSums:
    """The log-sums of m queries over the entities of all ranks; ``shares`` (m,), float64."""
    here = sweep.peaks()
    peaks = torch.zeros_like(shares) if here is None else group.all_reduce(here, "max")
    # a query that has no entity at all
    peaks = torch.where(peaks == -torch.inf, 0.0, peaks)
    sums, _ = exact_sum(group, sweep.sums(peaks), sweep.widths)
    totals = estimate.totals(sums[:, 0], -peaks)
    logs = totals.log() + peaks
    part = torch.ones_like(logs)  # of Z, without the other term
    by_others = None
    if others is not None:
        both = torch.logaddexp(logs, others.double())
        part, by_others = (logs - both).exp(), shares * (others.double() - both).exp()
        logs = both
    # nothing where a block has nothing for the query
    weights = torch.where(totals == 0, 0.0, shares * part * estimate.ratio / totals)
    return LogSums(logs, sweep.by_rows(sums, weights), sweep.by_tables(weights), by_others)

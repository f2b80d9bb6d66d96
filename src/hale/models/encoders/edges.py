"""Edges: the facts that messages run along, as sums of rows."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from hale.data.graph import GraphSize
from hale.engine.segments import Incidence, sums


class Edges(NamedTuple):
    """Facts (a, r, b) that tell b of a, gathered by their pairs (b, r), of which there are P.

    What an encoder does with a message depends on its relation, not on who sends it. So senders
    are summed up by pair first (``gather``), then the pairs of an entity (``scatter``): two
    products with matrices of ones, and everything that is trained acts on P rows or fewer. No
    vector per fact is made.
    """

    senders: Incidence  # (P, N)
    receivers: Incidence  # (N, P)
    relation: Tensor  # (P,)
    sent: Tensor  # (N, 1) how many facts tell of an entity
    received: Tensor  # (N, 1) how many facts tell it something

    @classmethod
    def of(cls, facts: Tensor, size: GraphSize) -> Edges:
        """From facts (n, 3) that run one way; relations may be reciprocals."""
        count, width = size.num_entities, max(1, 2 * size.num_relations)
        sender, relation, receiver = facts.unbind(dim=1)
        pairs, place = torch.unique(receiver * width + relation, return_inverse=True)
        owner = pairs // width
        return cls(
            Incidence.of(place, sender, (len(pairs), count)),
            Incidence.of(owner, torch.arange(len(pairs), device=facts.device), (count, len(pairs))),
            pairs % width,
            torch.bincount(sender, minlength=count).unsqueeze(1),
            torch.bincount(receiver, minlength=count).unsqueeze(1),
        )

    def to(self, device: torch.device) -> Edges:
        """The same on a device."""
        return Edges(
            self.senders.to(device),
            self.receivers.to(device),
            self.relation.to(device),
            self.sent.to(device),
            self.received.to(device),
        )

    def gather(self, vectors: Tensor) -> Tensor:
        """The sum of the senders' vectors by pair: (N, d) -> (P, d)."""
        return sums(self.senders, vectors)

    def scatter(self, messages: Tensor) -> Tensor:
        """The sum of its pairs' messages by entity: (P, d) -> (N, d)."""
        return sums(self.receivers, messages)


Ways = tuple[Edges, Edges]  # from heads to tails, and from tails to heads


def both_ways(facts: Tensor, size: GraphSize) -> Ways:
    """The edges of facts (n, 3) from head to tail, and those of their reciprocals."""
    head, relation, tail = facts.unbind(dim=1)
    back = torch.stack((tail, relation + size.num_relations, head), dim=1)
    return Edges.of(facts, size), Edges.of(back, size)

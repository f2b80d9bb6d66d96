"""Evidence: where the rows of new entities and relations start, by the facts that name them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from hale.data.graph import GraphSize
from hale.data.keys import Ids
from hale.data.revision import Revision
from hale.models.base import Model
from hale.models.tables import RelationTable
from hale.training.update.grow import known_relation_rows

# What a relation is judged by: so many of its facts, each against so many entities.
JUDGED_FACTS = 128
JUDGED_AGAINST = 128
# An entity that lost one of so many facts is placed anew.
LOST = 50
CHUNK = 1 << 16
MANY = 1 << 20


@torch.no_grad()
def start_new_rows(model: Model, old: GraphSize, facts: Tensor, generator: torch.Generator) -> None:
    """Start the rows of a grown model that ``old`` lacks from facts (n, 3), both ways.

    A new entity starts at the mean of the answers to the queries that ask for it,

        e_t = sum c_r a(q(h, r)) / sum c_r   over facts (h, r, t) with h and r placed,

    where a(q) is q itself by L2 distance (at the usual height, where entities have one),
    log_0(q) on the ball, and by inner product q's direction at the mean length of the known
    rows. A new relation starts as a copy of the known one, or the reciprocal, that ranks its
    facts best (``closest_relation``). Both go on in rounds, so that entities which touch only
    new ones find a place as soon as those have one.
    What no fact ties to anything known stays as it was initialised.
    """
    was_training = model.training
    model.eval()
    size, device = model.size, model.entities().device
    facts = facts.to(device)
    entity_placed = torch.arange(size.num_entities, device=device) < old.num_entities
    known = known_relation_rows(old, size).to(device)
    relation_placed = torch.zeros(2 * size.num_relations, dtype=torch.bool, device=device)
    relation_placed[known] = True
    for bias in (model.head_bias, model.tail_bias):
        if bias is not None:
            bias.weight[old.num_entities :] = bias.weight[: old.num_entities].mean()
    length = torch.linalg.vector_norm(model.entities()[: old.num_entities], dim=1).mean()
    height = usual_height(model, old.num_entities)

    while True:
        head, relation, tail = facts.unbind(dim=1)
        usable = relation_placed[relation] & entity_placed[head] & ~entity_placed[tail]
        if usable.any():
            rows, means = _mean_answers(model, facts[usable], length, height)
            model.entities()[rows] = means
            entity_placed[rows] = True
            continue
        usable = ~relation_placed[relation] & entity_placed[head] & entity_placed[tail]
        if not usable.any():
            break
        for new in torch.unique(relation[usable]):
            mine = facts[usable & (relation == new)]
            best = closest_relation(model, mine, known, old.num_entities, generator)
            for table in model.modules():
                if isinstance(table, RelationTable):
                    table.weight[new] = table.weight[best]
            relation_placed[new] = True
    model.train(was_training)


def closest_relation(
    model: Model, facts: Tensor, known: Tensor, num_known: int, generator: torch.Generator
) -> int:
    """The relation among ``known`` (K,) whose queries rank the facts (n, 3) best.

    By the share of entities, sampled from the first ``num_known``, that score lower than a
    fact's own tail: it has the same meaning for distances and inner products.
    """
    device = facts.device
    chosen = torch.randperm(len(facts), generator=generator)[:JUDGED_FACTS].to(device)
    others = _some(num_known, JUDGED_AGAINST, generator).to(device)
    head, tail = facts[chosen, 0], facts[chosen, 2]
    tails, rivals = model.entity(tail).unsqueeze(1), model.entities()[others]
    shares = []
    for relation in known:
        asked = relation.expand(len(head))
        queries, beside = model.query(head, asked), model.comparing(asked)
        target = model.compare(queries, tails, beside)  # (n, 1)
        shares.append((target > model.compare_all(queries, rivals, beside)).float().mean())
    return int(known[torch.stack(shares).argmax()])


def _some(count: int, most: int, generator: torch.Generator) -> Tensor:
    """At most so many numbers below ``count``; of very many, one may come twice."""
    if count > MANY:  # a permutation of them all would take longer than what it is for
        return torch.randint(count, (most,), generator=generator)
    return torch.randperm(count, generator=generator)[:most]


def displaced(revision: Revision) -> Ids:
    """The entities that lost a fiftieth of their training facts or more: (k,), in order."""
    count = len(revision.after.entities)
    lost, left = (
        np.bincount(triples[:, [0, 2]].ravel(), minlength=count)
        for triples in (revision.removed, revision.after.train)
    )
    return np.flatnonzero(LOST * lost >= np.maximum(1, lost + left))


@torch.no_grad()
def place_anew(model: Model, rows: Tensor, left: Tensor, generator: torch.Generator) -> None:
    """Start known entities ``rows`` (k,), in order, again from the facts (n, 3) left, both ways.

    Each goes to the mean of the answers to the queries that still ask for it, as a new entity
    does: nothing stays of what lost facts had put into its place. One that nothing asks for any
    more gets a freshly drawn vector.
    """
    was_training = model.training
    model.eval()
    table = model.entities()
    rows, left = rows.to(table.device), left.to(table.device)
    length = torch.linalg.vector_norm(table, dim=1).mean()
    height = usual_height(model, len(table))
    drawn = torch.randn(table[rows].shape, generator=generator, dtype=table.dtype)
    places = model.init_scale * drawn.to(table.device)
    if model.heights:
        places[:, -1] = height
    asked = left[torch.isin(left[:, 2], rows)]
    if len(asked):
        found, means = _mean_answers(model, asked, length, height)
        places[torch.searchsorted(rows, found)] = means
    table[rows] = places
    model.train(was_training)


def usual_height(model: Model, count: int) -> Tensor:
    """The root mean square of the heights of the first ``count`` entities; 0 without heights."""
    table = model.entities()[:count]
    return table[:, -1].square().mean().sqrt() if model.heights else table.new_zeros(())


def _mean_answers(
    model: Model, facts: Tensor, length: Tensor, height: Tensor
) -> tuple[Tensor, Tensor]:
    """The tails of facts (n, 3), each once, and the mean of the answers to the queries for each.

    Queries have no height, so theirs is the usual one.
    """
    table = model.entities()
    rows, owner = torch.unique(facts[:, 2], return_inverse=True)
    sums, weights = table.new_zeros(len(rows), table.shape[1]), table.new_zeros(len(rows))
    for part, place in zip(torch.split(facts, CHUNK), torch.split(owner, CHUNK), strict=True):
        head, relation, _ = part.unbind(dim=1)
        scale = model.scale(relation)
        answers = model.answer_of(model.query(head, relation), relation)
        sums.index_add_(0, place, scale.unsqueeze(1) * answers)
        weights.index_add_(0, place, scale)
    means = sums / weights.unsqueeze(1)
    if model.heights:
        means[:, -1] = height
    if model.similarity == "dot":
        size = torch.linalg.vector_norm(means, dim=1, keepdim=True).clamp_min(1e-12)
        means = means * (length / size)
    return rows, means

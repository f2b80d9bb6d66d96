"""The cardinality rule: who answers a relation for another head already stands back as an answer.

It is no property of the vectors, so whoever ranks takes it or leaves it (``rule_of``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hale.data.graph import Graph
from hale.data.keys import Ids, places_in
from hale.engine.activations import Halin, Hanon
from hale.errors import SettingsError
from hale.evaluation.spans import by_vectors_alone
from hale.models import Model
from hale.models.base import LAST
from hale.objectives.scoring import scoring_of
from hale.runs.run import Run
from hale.runs.score_kind import not_in_nats
from hale.settings import Settings

Marks = NDArray[np.bool_]

FARTHEST = 1e20  # the largest distance that an activation is asked for


class Levels(NamedTuple):
    """What a rival must score to be above the target of each query: (n,), (n,).

    ``free`` is that of entities that answer the relation for nobody else, ``taken`` that of those
    that do. The level of the target's own kind is its score.
    """

    free: Tensor
    taken: Tensor


class CardinalityRule:
    """Ranks by  a(q, e) + delta_r [e answers r for another head in train],  a in nats.

    a = -f, the activated distance as training saw it (``Scoring``), with the bound of its relation;
    delta_r by ``RelationProfiles``. Among entities of one kind, taken or free, the order is that
    of the model's scores, also where a bound makes their f the same number; between the kinds it
    is that of f - delta. All is learned from train.
    """

    def __init__(self, graph: Graph, model: Model, settings: Settings) -> None:
        fault = not_in_nats(settings, model.similarity)
        if fault is not None:
            raise SettingsError([f"cardinality: {fault}; leave it off"])
        self.known, self.sides = graph.known("train"), graph.sides
        self.deltas = graph.profiles.deltas
        self.model, self.num_relations = model, len(graph.relations)
        self._scoring = scoring_of(settings)
        activation = self._scoring.activation
        self._linear = self._scoring.is_own(model)
        self._above_zero = not by_vectors_alone(model)  # more than distances
        self._bounds: Tensor | None = None
        if settings.gamma_two_way is not None and isinstance(activation, Hanon | Halin):
            bounds = np.where(self.known.two_way, settings.gamma_two_way, activation.gamma)
            self._bounds = torch.from_numpy(bounds).to(model.entities().device)

    def back(self, relations: Ids) -> Ids:
        """The relations that ask the other way: (n,) -> (n,)."""
        turned: Ids = (relations + self.num_relations) % (2 * self.num_relations)
        return turned

    def acts(self, relations: Ids) -> Marks:
        """For which relations anybody stands back: (n,) -> (n,)."""
        found: Marks = self.deltas[relations] > 0
        return found

    def acting(self, relations: Ids) -> Ids:
        """The relations that it acts on, -1 in place of the others: (n,) -> (n,)."""
        return np.where(self.acts(relations), relations, -1)

    def taken(self, heads: Ids, relations: Ids, entities: Ids) -> Marks:
        """Who answers the relation of a query for another head: (n,), (n,), (n,) -> (n,).

        Only of relations that the rule acts on; of the others nobody is looked at.
        """
        found = np.zeros(len(entities), dtype=bool)
        asked = np.flatnonzero(self.acts(relations))
        answered = self.known.counts(entities[asked], self.back(relations[asked]))
        found[asked] = answered > 0
        once = asked[answered == 1]
        found[once] = ~self.known.holds(heads[once], relations[once], entities[once])
        return found

    def nats(self, heads: Ids, relations: Ids, entities: Ids) -> NDArray[np.float64]:
        """What is taken off the trained score of answers: (n,), (n,), (n,) -> (n,)."""
        return np.where(self.taken(heads, relations, entities), self.deltas[relations], 0.0)

    def answering(self, relation: int, entities: Ids) -> Marks:
        """Which of some entities, ascending, answer a relation for anybody: (K,) -> (K,)."""
        found = np.zeros(len(entities), dtype=bool)
        if len(entities):
            places = places_in(entities, self.sides.answers(relation))
            found[places[places >= 0]] = True
        return found

    def exceptions(self, heads: Ids, relations: Ids) -> tuple[Ids, Ids]:
        """Pairs of a query and an entity that answers its relation for its own head alone."""
        asked = np.flatnonzero(self.acts(relations))
        rows, answers = self.known.of(heads[asked], relations[asked])
        rows = asked[rows]
        alone = self.known.counts(answers, self.back(relations[rows])) == 1
        return rows[alone], answers[alone]

    def marks(self, heads: Ids, relations: Ids, entities: Ids) -> Tensor | None:
        """Who of some entities (K,), ascending, is taken for queries (b,), (b,): -> (b, K).

        None where nobody stands back anyway; marks of queries that the rule does not act on are
        off.
        """
        if not self.acts(relations).any():
            return None
        found = np.zeros((len(heads), len(entities)), dtype=bool)
        for relation in np.unique(relations[self.acts(relations)]).tolist():
            found[relations == relation] = self.answering(relation, entities)
        rows, answers = self.exceptions(heads, relations)
        if len(entities):
            places = places_in(entities, answers)
            found[rows[places >= 0], places[places >= 0]] = False
        return torch.from_numpy(found).to(self.model.entities().device)

    def levels(self, triples: Ids, targets: Tensor) -> Levels:
        """The levels of triples (n, 3) whose tails score ``targets`` (n,)."""
        heads, relations, tails = triples.T
        taken = torch.from_numpy(self.taken(heads, relations, tails)).to(targets.device)
        return Levels(
            free=torch.where(taken, self.lowered(targets, relations), targets),
            taken=torch.where(taken, targets, self.raised(targets, relations)),
        )

    def limits(self, levels: Levels, heads: Ids, relations: Ids, entities: Ids) -> Tensor:
        """What each of some entities (K,), ascending, is compared with: -> (b, K) or (b, 1)."""
        marks = self.marks(heads, relations, entities)
        if marks is None:
            return levels.free[:, None]
        return torch.where(marks, levels.taken[:, None], levels.free[:, None])

    def lowered(self, scores: Tensor, relations: Ids, nats: Ids | None = None) -> Tensor:
        """The scores of free entities that stand where taken ones of these scores do: (n,).

        Delta nats below, or as many as are given (n,). Beyond the bound of an activation there is
        no such score, and below all others they keep their order. Scores above zero, which a second
        opinion gives, are as far above that of zero as they were, if it has one.
        """
        off = self._off(relations, nats)
        if self._linear:
            moved = (scores.double() - off).to(scores.dtype)
        else:
            x = (-scores).clamp_min(0.0)
            reached = self._reach(self._activated(x, relations) + off, relations, scores.dtype)
            above = scores.clamp_min(0.0)
            far = -FARTHEST * (1 + x) / (1 + above)
            moved = torch.where(torch.isinf(reached), far, above - reached)
        keep = (off == 0) | (scores <= LAST / 2)
        return torch.where(keep, scores, moved)

    def raised(self, scores: Tensor, relations: Ids) -> Tensor:
        """The scores that a taken entity must pass to stand above free ones of these: (n,)."""
        off = self._off(relations, None)
        if self._linear:
            moved = (scores.double() + off).to(scores.dtype)
        else:
            x = (-scores).clamp_min(0.0)
            reached = self._reach(self._activated(x, relations) - off, relations, scores.dtype)
            # rounding takes a score of next to nothing above zero: nobody is nearer than at all
            beyond = torch.full_like(scores, torch.inf)
            if self._above_zero:
                beyond = scores - self.lowered(torch.zeros_like(scores), relations)
            moved = torch.where(reached > 0, -reached, beyond)
        keep = (off == 0) | (scores <= LAST / 2)
        return torch.where(keep, scores, moved)

    def _off(self, relations: Ids, nats: Ids | None) -> Tensor:
        off = self.deltas[relations] if nats is None else np.asarray(nats, dtype=np.float64)
        return torch.from_numpy(off).to(self.model.entities().device)

    @torch.inference_mode()
    def _activated(self, x: Tensor, relations: Ids) -> Tensor:
        """A of distances x (n,), in float64."""
        x = x.double().clamp_max(FARTHEST)
        asked = torch.from_numpy(relations).to(x.device)
        if self._scoring.relation_scale:
            x = x * self.model.scale(asked).double()
        gamma = None if self._bounds is None else self._bounds[asked]
        value, _ = self._scoring.activation.value_and_slope(x, gamma)
        return value

    def _reach(self, levels: Tensor, relations: Ids, dtype: torch.dtype) -> Tensor:
        """The least numbers x >= 0 of a dtype with a(x) >= level, infinite where none has: (n,).

        Numbers from 0 on lie as their bits do, so halving the bits finds the very number from
        which on an entity of that distance stands behind: for any activation that does not fall.
        """
        bits = torch.int64 if dtype == torch.float64 else torch.int32
        farthest = levels.new_tensor(FARTHEST).to(dtype).view(bits).item()
        low = torch.zeros(len(levels), dtype=torch.int64, device=levels.device)
        high = torch.full_like(low, int(farthest) + 1)
        for _ in range(int(farthest).bit_length() + 1):
            middle = (low + high) // 2
            x = middle.to(bits).view(dtype)
            enough = self._activated(x, relations) >= levels
            high = torch.where(enough, middle, high)
            low = torch.where(enough | (low >= high), low, middle + 1)
        found = high.to(bits).view(dtype)
        return torch.where(high > farthest, torch.inf, found)


def rule_of(run: Run, *, cardinality: bool | None = None) -> CardinalityRule | None:
    """The rule that a run's answers are ranked by: as its settings say, or as is asked for."""
    wanted = run.settings.cardinality if cardinality is None else cardinality
    return CardinalityRule(run.graph, run.model, run.settings) if wanted else None

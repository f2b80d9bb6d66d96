"""Align: which entities of two graphs are the same, from some pairs that are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hale.answers.counterparts import Spaces, mutual
from hale.data.graph import Graph
from hale.data.keys import Ids, places_in
from hale.data.results import Results
from hale.data.sources.pairs import read_pairs
from hale.errors import InputError
from hale.evaluation.calibration.platt import Platt
from hale.runs.run import Run, RunSource, open_run
from hale.runs.systems import complete
from hale.settings import Settings, parse_duration
from hale.training.joint import joined, train_joint
from hale.training.observer import Observer

APART = 0.1  # share of the known pairs by which a match is judged, never trained on
LEAST_APART = 10
SURE = 0.9  # share of right pairs from which on a round's matches are taken for granted
DEFAULT_SECONDS = 120.0
ROUNDS = 4
FIRST = 0.5  # of the time, for the first of several rounds


@dataclass(frozen=True)
class Match:
    """Two entities that are found to be the same, and how sure that is."""

    left: str
    right: str
    confidence: float  # share of matches like it that were right, among known pairs kept apart
    margin: float  # by which CSLS puts it above the next best of either
    left_label: str | None = None
    right_label: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Alignment:
    """Both graphs in one space after training, and the pairs that were used.

    ``settled`` are the pairs that share a vector: the known ones but those kept ``apart``, and
    what earlier rounds were sure of. ``spaces`` compare the others, whose ids are ``left`` and
    ``right``.
    """

    left_graph: Graph
    right_graph: Graph
    settled: Ids  # (n, 2)
    apart: Ids  # (m, 2)
    left: Ids  # (n,) ids of the left graph that have no counterpart yet
    right: Ids
    spaces: Spaces
    curve: Platt
    found: tuple[Ids, Ids, NDArray[np.float64]]  # mutual nearest: places in left and right, margin
    added: Ids  # (k, 2) of ``settled`` those that a round found
    added_confidence: float  # of these

    def hits_apart(self) -> float:
        """The share of the known pairs kept apart that are each other's nearest."""
        pairs = {tuple(pair) for pair in self._ids().tolist()}
        pairs |= {tuple(pair) for pair in self.added.tolist()}
        return float(np.mean([tuple(pair) in pairs for pair in self.apart.tolist()]))

    def ranks(self, pairs: Ids, *, of_right: bool = False) -> NDArray[np.float64]:
        """The rank of the true counterpart of each pair (n, 2): -> (n,).

        Among the entities that have no counterpart yet. One that was settled right has rank 1, one
        that was settled wrong, or whose counterpart was, has an infinite one.
        """
        own, other = (1, 0) if of_right else (0, 1)
        ids = (self.right, self.left) if of_right else (self.left, self.right)
        ranks = np.full(len(pairs), np.inf)
        taken = dict(self.settled[:, [own, other]].tolist())
        given = np.array([taken.get(entity, -1) for entity in pairs[:, own].tolist()])
        ranks[given == pairs[:, other]] = 1.0
        rows, targets = places_in(ids[0], pairs[:, own]), places_in(ids[1], pairs[:, other])
        free = (rows >= 0) & (targets >= 0)
        ranks[free] = self.spaces.ranks(rows[free], targets[free], of_right=of_right)
        return ranks

    def _ids(self) -> Ids:
        ours, theirs, _ = self.found
        return np.stack([self.left[ours], self.right[theirs]], axis=1)

    def matches(self) -> Results[Match]:
        """All pairs that were found, the surest first; known ones are not among them."""
        known = {tuple(pair) for pair in self.apart.tolist()}
        rows = [
            (*pair, self.added_confidence, float("inf"))
            for pair in self.added.tolist()
            if tuple(pair) not in known
        ]
        confidences = self.curve.probability(self.found[2])
        rows += [
            (*pair, confidence, margin)
            for pair, confidence, margin in zip(
                self._ids().tolist(), confidences.tolist(), self.found[2].tolist(), strict=True
            )
            if tuple(pair) not in known
        ]
        rows.sort(key=lambda row: (-row[2], -row[3], row[0]))
        return Results(Match, [self._match(*row) for row in rows])

    def _match(self, left: int, right: int, confidence: float, margin: float) -> Match:
        one, other = self.left_graph.entities[left], self.right_graph.entities[right]
        return Match(
            left=one,
            right=other,
            confidence=confidence,
            margin=margin,
            left_label=self.left_graph.label(one),
            right_label=self.right_graph.label(other),
        )


def align(
    left: RunSource,
    right: RunSource,
    seeds: object,
    *,
    budget: float | str = DEFAULT_SECONDS,
    rounds: int = ROUNDS,
    same_relations: bool = False,
    skip_bad: bool = False,
    observer: Observer | None = None,
    **settings: object,
) -> Results[Match]:
    """Find the entities of two runs' graphs that are the same, from ``seeds``, some known pairs.

    ``seeds`` is a file or table of two columns, an entity of the left graph and one of the right.
    Both graphs are trained in one space, in which the entities of a pair share a vector; the
    others are matched where each is the other's nearest by CSLS. Matches that are sure join the
    pairs of the next round. A tenth of the pairs is kept apart from all this, and tells how often
    a match is right: that is its ``confidence``.

    The model is that of the left run, unless ``settings`` say otherwise; ``budget`` is the training
    time of all rounds. With ``same_relations`` relations of one name are one relation.
    """
    try:
        seconds = parse_duration(budget)
    except ValueError as error:
        raise InputError(f"budget: {error}.") from None
    one, other = open_run(left), open_run(right)
    pairs = read_pairs(seeds, one.graph, other.graph, skip_bad=skip_bad)
    given = {"model": one.settings.model, "dim": one.settings.dim, **settings}
    return align_graphs(
        one.graph,
        other.graph,
        pairs,
        budget=seconds,
        rounds=rounds,
        same_relations=same_relations,
        observer=observer,
        **given,
    ).matches()


def align_graphs(
    left: Graph,
    right: Graph,
    pairs: Ids,
    *,
    budget: float = DEFAULT_SECONDS,
    rounds: int = ROUNDS,
    same_relations: bool = False,
    observer: Observer | None = None,
    **settings: object,
) -> Alignment:
    """The same for graphs and pairs of ids (n, 2), with all that a measurement asks for."""
    if rounds < 1:
        raise InputError(f"There is at least one round, got {rounds}.")
    count = max(LEAST_APART, round(APART * len(pairs)))
    if len(pairs) < 2 * count:
        raise InputError(
            f"An alignment needs {2 * LEAST_APART} known pairs or more, got {len(pairs)}: some are "
            "trained on, others tell how often a match is right."
        )
    order = np.random.default_rng(0).permutation(len(pairs))
    apart, shared = pairs[order[:count]], pairs[order[count:]]
    settled, added = shared, shared[:0]
    weights: Mapping[str, Tensor] | None = None
    certainty = 1.0
    for number in range(rounds):
        joint = joined(left, right, settled, same_relations=same_relations)
        asked: Settings = complete(
            joint.graph, **{**settings, "budget": budget * _part(number, rounds)}
        )
        run = train_joint(joint, asked, start=weights, observer=observer)
        weights = run.model.state_dict()
        ours = np.setdiff1d(np.arange(len(left.entities)), settled[:, 0])
        theirs = np.setdiff1d(np.arange(len(right.entities)), settled[:, 1])
        spaces = Spaces(_rows(run, joint.left[ours]), _rows(run, joint.right[theirs]))
        found = mutual(spaces.nearest(2), spaces.nearest(2, of_right=True))
        matched = np.stack([ours[found[0]], theirs[found[1]]], axis=1)
        curve, least, share = _judged(matched, found[2], apart)
        if number + 1 < rounds:
            sure = matched[found[2] >= least]
            sure = sure[~np.isin(sure[:, 0], apart[:, 0]) & ~np.isin(sure[:, 1], apart[:, 1])]
            if len(sure):
                added, certainty = np.concatenate([added, sure]), min(certainty, share)
                settled = np.concatenate([settled, sure])
    return Alignment(
        left_graph=left,
        right_graph=right,
        settled=settled,
        apart=apart,
        left=ours,
        right=theirs,
        spaces=spaces,
        curve=curve,
        found=found,
        added=added,
        added_confidence=certainty,
    )


def _part(number: int, rounds: int) -> float:
    """The part of the time that a round has: the first has half, since it begins from nothing."""
    if rounds == 1:
        return 1.0
    return FIRST if number == 0 else (1 - FIRST) / (rounds - 1)


def _rows(run: Run, ids: Ids) -> Tensor:
    return run.model.places()[torch.from_numpy(ids).to(run.model.places().device)].cpu()


def _judged(matched: Ids, margins: NDArray[np.float64], apart: Ids) -> tuple[Platt, float, float]:
    """How sure a match is by its margin, from those of the pairs kept apart (m, 2).

    A match with a left or right entity of such a pair is right or wrong. -> the curve, the least
    margin from which on SURE of them are right, and the share that are.
    """
    counterpart = dict(apart.tolist())
    back = {right: left for left, right in apart.tolist()}
    judged = [
        (margin, counterpart.get(ours) == theirs)
        for (ours, theirs), margin in zip(matched.tolist(), margins.tolist(), strict=True)
        if ours in counterpart or theirs in back
    ]
    if not judged:
        return Platt(0.0, -np.log(len(apart) + 1)), np.inf, 0.0
    scores = np.array([margin for margin, _ in judged])
    labels = np.array([right for _, right in judged])
    order = np.argsort(-scores, kind="stable")
    shares = np.cumsum(labels[order]) / np.arange(1, len(order) + 1)
    enough = np.flatnonzero(shares >= SURE)
    curve = Platt.fit(scores, labels)
    if not len(enough):
        return curve, np.inf, 0.0
    return curve, float(scores[order[enough[-1]]]), float(shares[enough[-1]])

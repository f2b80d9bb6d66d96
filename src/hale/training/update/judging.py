"""Judging: what an update did to the answers, by facts ranked before and after it.

Under a budget a tenth of it is for ranking, in equal parts for each kind of fact and each time
(``rankings``); what is ranked then is a sample, the same facts before and after, unless all are
asked for. Without a budget nothing is
timed: as many are ranked as at the end of a run.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hale.data.graph import Graph, KnownAnswers
from hale.data.keys import Ids, TripleSet
from hale.data.revision import Revision
from hale.evaluation.evaluator import sample_of
from hale.evaluation.gradual import rank_gradually, ranking_seconds
from hale.evaluation.metrics import Metrics, Sample
from hale.evaluation.ranks import filtered_ranks
from hale.models import Model
from hale.settings import Settings
from hale.training.observer import Observer, tell
from hale.training.update.withdrawal import sample

Ranks = NDArray[np.float64]


@dataclass(frozen=True)
class Judged:
    """Facts that were ranked before an update: which, of how many, and their ranks then."""

    test: Ids
    of_test: int
    test_ranks: Ranks
    removed: Ids
    of_removed: int
    removed_ranks: Ranks
    old_valid: Ids
    valid_mrr: float


class Judge:
    """Ranks facts of a graph, as many as there is time for."""

    def __init__(
        self, settings: Settings, revision: Revision, observer: Observer | None, *, full: bool
    ) -> None:
        self.observer = observer
        self.full = full
        allowed = None if full else ranking_seconds(settings)
        self.seconds = None if allowed is None else allowed / rankings(revision)
        self.seed = settings.seed

    def choose(self, model: Model, revision: Revision) -> Judged:
        """Rank the facts of the graph before that an update is judged by."""
        before, removed = revision.before, TripleSet(revision.removed)
        old_test = before.test[~removed.holds(before.test)]
        known = before.known()  # not kept: the graph after has its own
        test, test_ranks = self._some(model, before, known, old_test)
        gone, gone_ranks = self._some(model, before, known, revision.removed)
        valid = before.valid[:0]
        if revision.new_entities:  # only they withdraw
            valid = sample(before.valid[~removed.holds(before.valid)], self.seed)
        valid, valid_ranks = self._some(model, before, known, valid)
        return Judged(
            test,
            len(old_test),
            test_ranks,
            gone,
            len(revision.removed),
            gone_ranks,
            valid,
            float((1 / valid_ranks).mean()) if len(valid) else 0.0,
        )

    def figures(self, model: Model, revision: Revision, judged: Judged) -> dict[str, Any]:
        """The quality of what was chosen before and after, and of new facts that were held out."""
        after, found = revision.after, dict[str, Any]()
        known = after.known_answers
        for name, triples, whole, former in (
            ("test", judged.test, judged.of_test, judged.test_ranks),
            ("removed", judged.removed, judged.of_removed, judged.removed_ranks),
        ):
            if len(triples):
                tell(self.observer, "ranking facts")
                ranks = filtered_ranks(model.eval(), after.both_directions(triples), known)
                found[name] = {"before": _told(former, whole), "after": _told(ranks, whole)}
        held_out, ranks = self._some(model, after, known, revision.held_out)
        if len(held_out):
            found["held_out"] = _told(ranks, len(revision.held_out))
        return found

    def _some(
        self, model: Model, graph: Graph, known: KnownAnswers, triples: Ids
    ) -> tuple[Ids, Ranks]:
        """As many of the triples as there is time for, and their ranks both ways."""
        timed = self.full or self.seconds is not None
        places, ranks = rank_gradually(
            lambda part: filtered_ranks(model.eval(), graph.both_directions(part), known),
            triples,
            most=None if timed else sample_of(model, len(triples)),
            seconds=self.seconds,
            follow=lambda done, total: tell(self.observer, "ranking facts", done, total),
        )
        return triples[places], ranks


def rankings(revision: Revision) -> int:
    """How often facts are ranked: test and removed ones before and after, old validation facts
    before where there are new entities, and new ones that were held out after.
    """
    before = revision.before
    twice = (len(before.test), len(revision.removed))
    once = (len(before.valid) if revision.new_entities else 0, len(revision.held_out))
    return max(1, sum(2 for count in twice if count) + sum(1 for count in once if count))


def _told(ranks: Ranks, whole: int) -> dict[str, Any]:
    """Metrics, and of how many facts if not all were ranked."""
    told = Metrics.of(ranks).as_dict()
    if len(ranks) < 2 * whole:
        told["sample"] = asdict(Sample.of_ranks(ranks, whole))
    return told

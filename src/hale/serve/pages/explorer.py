"""Explorer: what the pages of one run share."""

from __future__ import annotations

import threading
from collections.abc import Collection
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hale.data.graph import Graph
from hale.data.sources.labelled import triples_of
from hale.errors import InputError
from hale.serve.finder import Finder
from hale.serve.map.atlas import Atlas
from hale.serve.map.first_sight import FirstSight
from hale.serve.review import Review
from hale.serve.upgrade import Upgrade

if TYPE_CHECKING:
    from hale.evaluation.calibration import Calibration
    from hale.serve.pages.review_queue import ReviewQueue
    from hale.serve.service import Service


class Explorer:
    """A run's map and search from the start; its answers once the run is loaded."""

    def __init__(self, run: Path, seen: FirstSight) -> None:
        self.run = run
        self.atlas = Atlas(run, seen)
        self.finder = Finder(seen.graph)
        self.review = Review(run)
        self.upgrade = Upgrade(run)
        self.service: Service | None = None
        self.queue: ReviewQueue | None = None
        self._calibrating = threading.Lock()

    @property
    def graph(self) -> Graph:
        """The run's graph."""
        return self.atlas.graph

    def take_service(self, service: Service) -> None:
        """The run is loaded: what it answers is asked here from now on."""
        from hale.serve.pages.review_queue import ReviewQueue

        self.atlas.take_graph(service.graph)
        self.finder = service.finder
        self.service = service
        self.queue = ReviewQueue(service.run, self.sure)

    @property
    def calibration(self) -> Calibration | None:
        """The run's calibration, or one made now; None where there is nothing to make it from.

        The first who asks may wait for seconds: ask in a thread.
        """
        with self._calibrating:
            return self._calibration

    @property
    def meaning(self) -> str | None:
        """What probabilities are shares of; None where there are none. Ask in a thread."""
        found = self.calibration
        return None if found is None else found.meaning

    def meaning_among(self, splits: Collection[str | None]) -> str | None:
        """The same beside facts of these splits: those of train are judged as if hidden."""
        found = self.calibration
        if found is None or "train" not in splits:
            return self.meaning
        return f"{found.meaning} {found.of_train}".strip()

    @property
    def above(self) -> float | None:
        """What makes predictions have probabilities, where there can be any. Ask in a thread."""
        return None if self.calibration is None else 0.0

    @cached_property
    def _calibration(self) -> Calibration | None:
        from hale.evaluation.calibration import calibration_of

        assert self.service is not None
        try:
            return calibration_of(self.service.run)
        except InputError:  # no valid split, or a kept one of other weights
            return None

    def close(self) -> None:
        """End what is at work beside the server; an update that was asked for goes on."""
        self.atlas.close()
        if self.queue is not None:
            self.queue.close()

    def shell(self) -> dict[str, Any]:
        """What every page shows around its own."""
        graph = self.graph
        return {
            "graph_name": graph.name,
            "num_entities": len(graph.entities),
            "run_name": self.run.name,
            "num_relations": len(graph.relations),
        }

    def sure(self, facts: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Missing facts (head, relation, tail by name) with the probabilities of ``discover``."""
        calibration = self.calibration
        if all(fact.get("probability") is not None for fact in facts) or calibration is None:
            return facts
        assert self.service is not None
        triples = [(fact["head"], fact["relation"], fact["tail"]) for fact in facts]
        ids = triples_of(triples, self.graph)
        found = calibration.probability_of(self.service.run, ids).tolist()
        return [{**fact, "probability": value} for fact, value in zip(facts, found, strict=True)]

"""The queue of a review: the missing facts of a relation, found in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hale.answers.discovery import discover
from hale.errors import HaleError
from hale.runs.run import Run

Facts = list[dict[str, Any]]

FOUND = 200  # missing facts of a relation that wait to be judged


class _Given(Exception):  # noqa: N818
    """Raised inside a search that nobody waits for any more."""


@dataclass
class Search:
    """A search for a relation's missing facts: how far it is, and what it found."""

    relation: str
    share: float = 0.0
    facts: Facts | None = None
    error: str = ""
    over: threading.Event = field(default_factory=threading.Event)  # nobody waits for it
    done: threading.Event = field(default_factory=threading.Event)


class ReviewQueue:
    """One search at a time: who asks for another relation gives the running one up.

    Facts come as ``discover`` finds them, then by the probabilities that ``sure`` gives them: those
    of one relation but different questions do not compare by score alone.
    """

    def __init__(self, run: Run, sure: Callable[[Facts], Facts]) -> None:
        self.run, self._sure = run, sure
        self._lock = threading.Lock()
        self._done: dict[str, Search] = {}
        self._running: Search | None = None

    def search(self, relation: str) -> Search:
        """The search of a relation, begun if it is new."""
        self.run.graph.relations.id(relation)  # an unknown one is an error
        with self._lock:
            if relation in self._done:
                return self._done[relation]
            if self._running is not None and self._running.relation == relation:
                return self._running
            self._give_up()
            self._running = Search(relation)
            # No daemon: it ends soon once it is over, and cut off inside PyTorch it would crash.
            threading.Thread(target=self._find, args=(self._running,)).start()
            return self._running

    def give_up(self) -> None:
        """End the running search."""
        with self._lock:
            self._give_up()

    close = give_up

    def _give_up(self) -> None:
        if self._running is not None:
            self._running.over.set()
            self._running = None

    def _find(self, search: Search) -> None:
        def progress(done: int, total: int) -> None:
            search.share = done / total
            if search.over.is_set():
                raise _Given

        try:
            found = discover(self.run, [search.relation], k=FOUND, progress=progress)
            facts = self._sure([{"probability": None, **fact.as_dict()} for fact in found])
            search.facts = sorted(facts, key=lambda fact: -(fact["probability"] or 0.0))
        except _Given:
            return
        except HaleError as error:
            search.error = str(error)
        with self._lock:
            self._done[search.relation] = search
            if self._running is search:
                self._running = None
        search.done.set()

"""The review: missing facts judged by a person, exported, and brought into the run."""

from __future__ import annotations

import getpass
import math
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hale.serve.asking import ask
from hale.serve.pages.explorer import Explorer
from hale.serve.pages.rendering import is_fragment, page, render, whole
from hale.serve.pages.review_queue import Search
from hale.serve.problems import Problem
from hale.serve.review import DECISIONS, facts_as_text

NEXT = 8  # facts that are shown behind the first
LATEST = 8  # decisions that are shown
MOST_FORM = 1 << 16  # bytes


def review_routes(explorer: Explorer) -> list[Route]:
    """The queue, decisions, files and the update."""
    pages = _Review(explorer)

    def route(path: str, handler: Any, *methods: str) -> Route:
        return Route(path, page(explorer, "review")(handler), methods=list(methods or ("GET",)))

    return [
        route("/review", pages.page),
        route("/review/decide", pages.decide, "POST"),
        route("/review/undo", pages.undo, "POST"),
        route("/review/stop", pages.stop, "POST"),
        route("/review/accepted.tsv", pages.accepted),
        route("/review/rejected.tsv", pages.rejected),
        route("/review/update", pages.update, "GET", "POST"),
    ]


class _Review:
    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer

    async def page(self, request: Request) -> Response:
        relation = request.query_params.get("relation") or self._first()
        return await self._shown(request, relation, begin=True)

    async def decide(self, request: Request) -> Response:
        """Write a decision down; the next fact."""
        given = await _form(request)
        graph = self.explorer.graph
        fact = (given.get("head", ""), given.get("relation", ""), given.get("tail", ""))
        graph.entities.id(fact[0]), graph.relations.id(fact[1]), graph.entities.id(fact[2])
        await ask(
            request,
            lambda _check: self.explorer.review.decide(
                fact,
                given.get("decision", ""),
                who=given.get("who", ""),
                probability=_number(given.get("probability")),
                score=_number(given.get("score")),
            ),
        )
        return await self._shown(request, given.get("queue") or fact[1], begin=False)

    async def undo(self, request: Request) -> Response:
        """Take the last decision back; its fact is there again."""
        given = await _form(request)
        taken = await ask(
            request, lambda _check: self.explorer.review.undo(who=given.get("who", ""))
        )
        relation = taken.relation if taken else given.get("queue") or self._first()
        return await self._shown(request, relation, begin=True)

    async def stop(self, request: Request) -> Response:
        """Give up the search for missing facts."""
        given = await _form(request)
        self._queue.give_up()
        relation = given.get("queue") or self._first()
        given_up = Search(relation, error="The search was given up.")
        return await self._rendered(request, relation, given_up)

    async def accepted(self, _request: Request) -> Response:
        """What was accepted, for hale update."""
        return self._file("accepted.tsv", "accept")

    async def rejected(self, _request: Request) -> Response:
        """What was rejected, for hale calibrate --negatives."""
        return self._file("rejected.tsv", "reject")

    def _file(self, name: str, decision: Any) -> Response:
        return Response(
            facts_as_text(self.explorer.review.facts(decision)),
            media_type="text/tab-separated-values",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )

    async def update(self, request: Request) -> Response:
        """Begin the update, or tell how it stands."""
        upgrade = self.explorer.upgrade
        if request.method == "POST":
            given = await _form(request)
            text = given.get("seconds", "")
            seconds = whole(text)
            if seconds is None:
                raise Problem(422, f"Seconds of training are a whole number, got {text[:20]!r}.")
            upgrade.begin(self.explorer.review.facts("accept"), seconds)
        if not is_fragment(request):
            return await self._shown(request, self._first(), begin=False)
        return render(self.explorer, "upgrade.html", **self._upgrade())

    # -- what is shown --------------------------------------------------------------------------

    async def _shown(self, request: Request, relation: str, *, begin: bool) -> Response:
        search = self._queue.search(relation)
        if begin and search.facts is None and not search.error:
            await ask(request, lambda _check: search.done.wait(0.4))
        return await self._rendered(request, relation, search)

    async def _rendered(self, request: Request, relation: str, search: Search) -> Response:
        found = await ask(request, lambda _check: self._standing(search))
        return render(
            self.explorer,
            "review_body.html" if is_fragment(request) else "review.html",
            view="review",
            relation=relation,
            relations=self._relations(),
            search=search,
            person=_person(),
            **found,
            **self._upgrade(),
        )

    def _standing(self, search: Search) -> dict[str, Any]:
        """What waits, with its probabilities, and what is decided."""
        review = self.explorer.review
        verdicts = review.verdicts()
        waiting = [
            fact
            for fact in search.facts or ()
            if (fact["head"], fact["relation"], fact["tail"]) not in verdicts
        ]
        shown = waiting[: NEXT + 1]
        counts = review.counts()
        total = {name: sum(one[name] for one in counts.values()) for name in DECISIONS}
        return {
            "waiting": len(waiting),
            "first": shown[0] if shown else None,
            "following": shown[1:],
            "counts": counts,
            "total": total,
            "latest": review.entries[: -LATEST - 1 : -1],
            "meaning": self.explorer.meaning if shown else None,
        }

    def _upgrade(self) -> dict[str, Any]:
        return {
            "upgrade": self.explorer.upgrade.state,
            "num_accepted": len(self.explorer.review.facts("accept")),
            "run_path": str(self.explorer.run),
        }

    def _relations(self) -> list[tuple[str, int]]:
        graph = self.explorer.graph
        counts = np.bincount(graph.train[:, 1], minlength=len(graph.relations))
        return list(zip(graph.relations.names, counts.tolist(), strict=True))

    def _first(self) -> str:
        """The relation with most facts."""
        return max(self._relations(), key=lambda one: one[1])[0]

    @property
    def _queue(self) -> Any:
        assert self.explorer.queue is not None  # these routes come with it
        return self.explorer.queue


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form."""
    from urllib.parse import parse_qsl

    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_FORM:
            raise Problem(413, "That is more than a form has.")
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def _number(text: str | None) -> float | None:
    """A finite number; None where the text is none."""
    try:
        found = float(text or "")
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _person() -> str:
    """Whoever runs the server, unless the page is told otherwise."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "someone"

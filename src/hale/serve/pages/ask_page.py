"""The page that asks: head, relation, tail with one blank; and why a fact is held likely."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hale.serve.asking import ask
from hale.serve.pages.explorer import Explorer
from hale.serve.pages.rendering import is_fragment, page, render
from hale.serve.problems import Problem
from hale.serve.service import Service

ANSWERS = 20
SUPPORT = 5
PLACES = ("head", "relation", "tail")


def ask_routes(explorer: Explorer) -> list[Route]:
    """The form with its answers, and the reasons for a fact."""
    pages = _Ask(explorer)
    return [
        Route("/ask", page(explorer, "ask")(pages.page)),
        Route("/why", page(explorer, "ask")(pages.why)),
    ]


class _Ask:
    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer

    async def page(self, request: Request) -> Response:
        given = {place: request.query_params.get(place, "").strip() or None for place in PLACES}
        drop = request.query_params.get("known") == "drop"
        count = sum(value is not None for value in given.values())
        answers: list[dict[str, Any]] | None = None
        problem = meaning = None
        if count == 2:
            try:
                answers, meaning = await ask(request, lambda _check: self._asked(given, drop))
            except Exception as error:
                problem = _told(error)
        elif count == 3:
            problem = Problem(422, "Leave one of the three blank: that is what is asked for.")
        name = "answers.html" if is_fragment(request) else "ask.html"
        return render(
            self.explorer,
            name,
            view="ask",
            given=given,
            drop=drop,
            answers=answers,
            problem=problem,
            asked=next((place for place in PLACES if given[place] is None), None),
            meaning=meaning,
        )

    def _asked(
        self, given: dict[str, str | None], drop: bool
    ) -> tuple[list[dict[str, Any]], str | None]:
        """The answers, and what their probabilities mean."""
        answers = self._answers(given, drop)
        return answers, self.explorer.meaning_among([answer["split"] for answer in answers])

    def _answers(self, given: dict[str, str | None], drop: bool) -> list[dict[str, Any]]:
        """The answers, each with the fact that it makes."""
        service = self._service
        how: Any = {**given, "known": "drop" if drop else "mark"}
        found = service.predict(**how, k=ANSWERS, above=self.explorer.above)
        graph = service.graph
        asked = next(place for place in PLACES if given[place] is None)
        facts = []
        for answer in found["answers"]:
            name = answer.get("entity", answer.get("relation"))
            fact = {place: found[place] if place != asked else name for place in PLACES}
            facts.append({**fact, **answer, "name": name, "probability": answer.get("probability")})
        ids = [
            (
                graph.entity_id(fact["head"]),
                graph.relations.id(fact["relation"]),
                graph.entity_id(fact["tail"]),
            )
            for fact in facts
        ]
        return _with_splits(facts, ids, service)

    async def why(self, request: Request) -> Response:
        """How a fact ranks, and what supports it."""
        missing = [place for place in PLACES if not request.query_params.get(place)]
        if missing:
            raise Problem(422, f"Why asks for a whole fact; {', '.join(missing)} is missing.")
        fact = [request.query_params[place] for place in PLACES]
        found = await ask(request, lambda _check: self._service.why(*fact, k=SUPPORT))
        meaning = await ask(request, lambda _check: self.explorer.meaning_among([found["split"]]))
        name = "why.html" if is_fragment(request) else "why_page.html"
        found = {"probability": None, **found}
        return render(self.explorer, name, view="ask", found=found, meaning=meaning)

    @property
    def _service(self) -> Service:
        assert self.explorer.service is not None  # these routes come with it
        return self.explorer.service


def _with_splits(
    facts: list[dict[str, Any]], ids: list[tuple[int, int, int]], service: Service
) -> list[dict[str, Any]]:
    import numpy as np

    from hale.data.graph import SPLITS

    codes = service.graph.split_index.codes(np.array(ids, dtype=np.int64).reshape(-1, 3)).tolist()
    return [
        {**fact, "split": None if code < 0 else SPLITS[code]}
        for fact, code in zip(facts, codes, strict=True)
    ]


def _told(error: Exception) -> Problem:
    """What is wrong with a question, to be told below it."""
    from hale.errors import HaleError
    from hale.serve.problems import problem_of

    if isinstance(error, Problem):
        return error
    if isinstance(error, HaleError):
        return problem_of(error)
    raise error

"""The page of an entity: what is known of it, what is predicted, what is near it."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hale.serve.asking import ask
from hale.serve.pages.explorer import Explorer
from hale.serve.pages.rendering import page, render
from hale.serve.pages.surroundings import HEIGHT, WIDTH, spokes
from hale.serve.problems import Problem
from hale.serve.service import Service

FACTS = 300  # known facts that the page shows
PREDICTED = 20
ANSWERS = 3  # of each query, among which the predicted facts are
MOST_QUERIES = 400
NEIGHBORS = 12


def entity_routes(explorer: Explorer) -> list[Route]:
    """The page, and what it loads when it is there."""
    pages = _Entity(explorer)
    return [
        Route("/entity", page(explorer, "entity")(pages.page)),
        Route("/entity/predicted", page(explorer, "entity")(pages.predicted)),
        Route("/entity/neighbors", page(explorer, "entity")(pages.neighbors)),
    ]


class _Entity:
    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer

    async def page(self, request: Request) -> Response:
        found = await ask(request, lambda _check: self._service.entity(_name(request), k=FACTS))
        groups = [
            (relation, list(facts))
            for relation, facts in groupby(found["facts"], key=lambda fact: fact["relation"])
        ]
        return render(
            self.explorer, "entity.html", view="entity", found=found, groups=groups, **_wheel(found)
        )

    async def predicted(self, request: Request) -> Response:
        """The facts that the run holds likeliest of those that the graph lacks."""
        name = _name(request)

        def find(check: Any) -> tuple[dict[str, Any], list[dict[str, Any]], str | None]:
            found = self._service.entity(name, k=FACTS)
            answers = self._service.predict_many(
                self._queries(found),
                k=ANSWERS,
                known="drop",
                above=self.explorer.above,
                check=check,
            )
            facts = self._best(_facts_of(answers["queries"], self._service))
            return found, facts, self.explorer.meaning

        found, facts, meaning = await ask(request, find)
        return render(
            self.explorer,
            "predicted.html",
            found=found,
            facts=facts,
            meaning=meaning,
            **_wheel(found, facts),
        )

    async def neighbors(self, request: Request) -> Response:
        """The entities whose vectors are nearest."""
        found = await ask(
            request, lambda _check: self._service.neighbors(_name(request), k=NEIGHBORS)
        )
        return render(self.explorer, "neighbors.html", found=found)

    @property
    def _service(self) -> Service:
        assert self.explorer.service is not None  # these routes come with it
        return self.explorer.service

    def _queries(self, found: dict[str, Any]) -> list[tuple[str | None, str, str | None]]:
        """What is asked of an entity: the relations that it has facts of, both ways.

        Of an entity without facts all: a probability supposes that a question may lack a fact, and
        most relations are none of its business.
        """
        name = found["entity"]
        has = dict.fromkeys(fact["relation"] for fact in found["facts"])
        asked: list[tuple[str | None, str, str | None]] = []
        for one in has or self.explorer.graph.relations.names:
            asked += [(name, one, None), (None, one, name)]
        return asked[:MOST_QUERIES]

    def _best(self, facts: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Each fact once, the likeliest first; without probabilities by rank."""
        once = {(fact["head"], fact["relation"], fact["tail"]): fact for fact in facts}
        others = [fact for fact in once.values() if fact["head"] != fact["tail"]]
        if self.explorer.calibration is None:
            return sorted(others, key=lambda fact: fact["rank"])[:PREDICTED]
        return sorted(others, key=lambda fact: -fact["probability"])[:PREDICTED]


def _facts_of(answers: list[dict[str, Any]], service: Service) -> list[dict[str, Any]]:
    """Answers as facts with labels."""
    graph = service.graph
    facts = []
    for one in answers:
        asked = "head" if one["head"] is None else "tail"
        for answer in one["answers"]:
            fact = {**one, asked: answer["entity"], "rank": answer["rank"]}
            del fact["answers"]
            for place in ("head", "tail"):
                fact[f"{place}_label"] = graph.label(fact[place])
            facts.append({**fact, "probability": answer.get("probability")})
    return facts


def _wheel(found: dict[str, Any], predicted: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {
        "spokes": spokes(found["entity"], found["facts"], predicted or []),
        "width": WIDTH,
        "height": HEIGHT,
    }


def _name(request: Request) -> str:
    name = request.query_params.get("name", "")
    if not name:
        raise Problem(422, "Name an entity: /entity?name=NAME.")
    return name

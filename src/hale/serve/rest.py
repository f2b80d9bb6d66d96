"""REST: the operations below /api/v1, each declared by what it is asked and what it answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hale.errors import UnknownNameError
from hale.serve import asked as requests
from hale.serve import told
from hale.serve.asking import ask
from hale.serve.openapi import DOCUMENT, Operation, document
from hale.serve.problems import Problem
from hale.serve.service import Check, Json, Service

MOST_PARAMETERS = 20


def api_routes() -> list[Route]:
    """A route for every path, and one for the document that declares them."""
    paths: dict[str, dict[str, Operation]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = operation
    text = json.dumps(document(OPERATIONS)).encode()

    async def declared(_request: Request) -> Response:
        return Response(text, media_type="application/json")

    routes = [
        Route(path.replace("{name}", "{name:path}"), _endpoint(methods), methods=[*methods])
        for path, methods in paths.items()
    ]
    return [*routes, Route(DOCUMENT, declared, methods=["GET"])]


def _endpoint(methods: dict[str, Operation]) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        operation = methods["GET" if request.method == "HEAD" else request.method]
        asked = await _read(request, operation)
        answer = await operation.answer(request, asked)
        return Response(json.dumps(answer, allow_nan=False), media_type="application/json")

    return endpoint


def in_thread(
    function: Callable[[Service, Any, Check], Json], *, slow: bool = False
) -> Callable[[Request, Any], Awaitable[Json]]:
    """An operation that is computed in a thread; ``slow`` for what may take long."""

    async def answer(request: Request, asked: Any) -> Json:
        service: Service = request.app.state.service
        return await ask(request, lambda check: function(service, asked, check), slow=slow)

    return answer


async def predict_gathered(request: Request, asked: Any) -> Json:
    """Together with the other queries of the moment; what must be refused is worded apart.

    So is what has limits of its own on who may answer.
    """
    if not asked.limits():
        query = (asked.head, asked.relation, asked.tail)
        found: Json | None = await request.app.state.gatherer.ask(query, asked.k, asked.known)
        if found is not None:
            return found
    return await in_thread(_predict)(request, asked)


async def _read(request: Request, operation: Operation) -> Any:
    """What a request asks; 422 where it does not fit, with all faults at once."""
    several = operation.asked.several
    items = request.query_params.multi_items()
    given = [(name, value) for name, value in items if name not in several]
    if len(given) > MOST_PARAMETERS:
        raise Problem(422, f"At most {MOST_PARAMETERS} parameters, got {len(given):,}.")
    counts = Counter(name for name, _ in given)
    if twice := sorted(name for name, count in counts.items() if count > 1):
        raise Problem(422, f"Given more than once: {', '.join(twice)}.")
    if operation.body is None:
        lists: dict[str, list[str]] = {}
        for name, value in items:
            if name in several:
                lists.setdefault(name, []).append(value)
        shape, values = operation.asked, {**dict(given), **lists, **request.path_params}
        return _fitting(shape, lambda: shape.model_validate(values))
    _fitting(requests.NothingAsked, lambda: requests.NothingAsked.model_validate(dict(given)))
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem(415, f"The body is application/json, got {kind or 'nothing'!r}.")
    body, text = operation.body, await request.body()
    return _fitting(body, lambda: body.model_validate_json(text, strict=True))


def _fitting(shape: type[requests.Asked], read: Callable[[], Any]) -> Any:
    try:
        return read()
    except ValidationError as error:
        faults = [_fault(shape, dict(one)) for one in error.errors(include_url=False)]
        broken = any(one["type"] == "json_invalid" for one in error.errors(include_url=False))
        raise Problem(400 if broken else 422, " ".join(faults)) from None


def _fault(shape: type[requests.Asked], fault: dict[str, Any]) -> str:
    """One fault in words: where, what, and what would do."""
    *outer, last = fault["loc"] or ("the body",)
    if fault["type"] == "extra_forbidden" and not outer:
        return str(UnknownNameError("parameter", str(last), shape.model_fields))
    where = ".".join(map(str, fault["loc"])) or "the body"
    return f"{where}: {fault['msg']}."


def _predict(service: Service, asked: requests.PredictAsked, _check: Check) -> Json:
    return service.predict(
        head=asked.head,
        relation=asked.relation,
        tail=asked.tail,
        k=asked.k,
        known=asked.known,
        **asked.limits(),
    )


def _predict_many(service: Service, asked: requests.PredictManyAsked, check: Check) -> Json:
    queries = [(one.head, one.relation, one.tail) for one in asked.queries]
    how = {"k": asked.k, "known": asked.known, "check": check}
    return service.predict_many(queries, **how, **asked.limits())  # type: ignore[arg-type]


def _classify(service: Service, asked: requests.ClassifyAsked, check: Check) -> Json:
    triples = [(one.head, one.relation, one.tail) for one in asked.triples]
    labels = [one.label for one in asked.triples if one.label is not None]
    if labels and len(labels) != len(triples):
        raise Problem(
            422, f"A label is given to all triples or to none, got {len(labels)} of {len(triples)}."
        )
    return service.classify(triples, labels=labels or None, check=check)


OPERATIONS = (
    Operation(
        "/run",
        "The run: its graph, settings, how training went, and its metrics.",
        told.RunTold,
        in_thread(lambda service, _asked, _check: service.run_info()),
    ),
    Operation(
        "/relations",
        "The relations, and how many facts each has.",
        told.RelationsTold,
        in_thread(lambda service, _asked, _check: service.relations()),
    ),
    Operation(
        "/search",
        "The entities that a text may mean.",
        told.SearchTold,
        in_thread(lambda service, asked, _: service.search(asked.q, k=asked.k)),
        asked=requests.SearchAsked,
    ),
    Operation(
        "/entities/{name}",
        "An entity and the facts that the graph holds of it.",
        told.EntityTold,
        in_thread(lambda service, asked, _: service.entity(asked.name, k=asked.k)),
        asked=requests.EntityAsked,
    ),
    Operation(
        "/predict",
        "The answers to one query: tails of (head, relation), heads of (relation, tail), "
        "relations of both.",
        told.PredictTold,
        predict_gathered,
        asked=requests.PredictAsked,
    ),
    Operation(
        "/predict",
        "The answers to many queries.",
        told.PredictManyTold,
        in_thread(_predict_many, slow=True),
        method="POST",
        body=requests.PredictManyAsked,
    ),
    Operation(
        "/discover",
        "The most plausible facts that the graph lacks.",
        told.DiscoverTold,
        in_thread(
            lambda service, asked, check: service.discover(asked.relation, k=asked.k, check=check),
            slow=True,
        ),
        asked=requests.DiscoverAsked,
    ),
    Operation(
        "/neighbors/{name}",
        "The entities whose vectors are nearest to one.",
        told.NeighborsTold,
        in_thread(
            lambda service, asked, _: service.neighbors(asked.name, k=asked.k, metric=asked.metric)
        ),
        asked=requests.NeighborsAsked,
    ),
    Operation(
        "/why",
        "A fact explained: its rank and score, and the nearest known facts that support it.",
        told.WhyTold,
        in_thread(lambda service, asked, _: service.why(**dict(asked))),
        asked=requests.WhyAsked,
    ),
    Operation(
        "/classify",
        "Triples judged: true or false, and how sure; with labels, how often that is right.",
        told.ClassifyTold,
        in_thread(_classify, slow=True),
        method="POST",
        body=requests.ClassifyAsked,
    ),
    Operation(
        "/vectors/{name}",
        "An entity's vector.",
        told.VectorTold,
        in_thread(lambda service, asked, _: service.vectors(asked.name)),
        asked=requests.VectorAsked,
    ),
)

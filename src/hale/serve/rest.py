"""REST: the operations below /api/v1."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hale.serve.limits import ask
from hale.serve.problems import Problem
from hale.serve.service import Service
from hale.serve.shapes import Nothing, PredictAsked


def api_routes() -> list[Route]:
    """The routes of all operations."""
    return [Route("/run", run), Route("/predict", predict)]


async def run(request: Request) -> Response:
    """The run."""
    read(request, Nothing)
    return told(await ask(request, lambda _check: service_of(request).run_info()))


async def predict(request: Request) -> Response:
    """Answers to one query."""
    asked = read(request, PredictAsked)
    return told(
        await ask(request, lambda _check: service_of(request).predict(**asked.model_dump()))
    )


def service_of(request: Request) -> Service:
    """What answers the requests of this application."""
    service: Service = request.app.state.service
    return service


def read(request: Request, shape: type[BaseModel]) -> Any:
    """The parameters of a request; 422 for those that do not fit."""
    try:
        return shape.model_validate(dict(request.query_params))
    except ValidationError as error:
        raise Problem(422, str(error)) from None


def told(answer: dict[str, Any]) -> Response:
    """An answer as JSON."""
    return Response(json.dumps(answer, allow_nan=False), media_type="application/json")

"""The application: REST and whatever pages there are, behind one door."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Mount, Route

from hale.errors import HaleError
from hale.runs.run import Run
from hale.serve.access import LOOPBACK, Access
from hale.serve.asking import Bodies, Bounds, Limits
from hale.serve.gathering import Gatherer
from hale.serve.problems import Problem, answer_problem
from hale.serve.rest import api_routes
from hale.serve.service import Service


def create_app(
    run: Run | Service,
    *,
    token: str,
    host: str = LOOPBACK,
    pages: Sequence[Route | Mount] = (),
    bounds: Bounds | None = None,
) -> Starlette:
    """REST below /api/v1 over one run, with ``pages`` beside it; all of it needs the token.

    Whoever answers a request finds ``request.app.state.service`` and asks it by
    ``hale.serve.asking.ask``.
    """
    bounds = bounds or Bounds()
    service = run if isinstance(run, Service) else Service(run)
    limits, gatherer = Limits(bounds), Gatherer(service, bounds)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        limits.close()
        gatherer.close()

    app = Starlette(
        routes=[Mount("/api/v1", routes=api_routes()), *pages],
        middleware=[
            Middleware(Access, token=token, host=host),
            Middleware(Bodies, bounds=bounds),
        ],
        exception_handlers={
            Problem: answer_problem,
            HaleError: answer_problem,
            HTTPException: answer_problem,
        },
        lifespan=lifespan,
    )
    app.state.service, app.state.limits, app.state.gatherer = service, limits, gatherer
    return app

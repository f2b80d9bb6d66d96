"""Problems: errors as application/problem+json (RFC 9457), in the words of the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from hale.errors import HaleError, InputError, RunError, UnknownNameError, WriteError

PROBLEM = "application/problem+json"


class Problem(Exception):  # noqa: N818
    """An answer that is an error: a status, and what to do about it."""

    def __init__(
        self, status: int, detail: str, headers: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail
        self.headers, self.more = dict(headers or {}), more

    def response(self) -> Response:
        """The answer itself."""
        title = HTTPStatus(self.status).phrase
        body = {"title": title, "status": self.status, "detail": self.detail, **self.more}
        return Response(
            json.dumps(body), self.status, headers=self.headers or None, media_type=PROBLEM
        )


def problem_of(error: HaleError) -> Problem:
    """What hale refuses, as an answer.

    404: there is no such entity or relation. 422: what was asked cannot be answered. 500: the run
    itself is at fault.
    """
    if isinstance(error, UnknownNameError):
        missing = error.kind in ("entity", "relation")
        return Problem(404 if missing else 422, str(error), suggestions=error.suggestions)
    fault_of_run = isinstance(error, RunError | WriteError) or not isinstance(error, InputError)
    return Problem(500 if fault_of_run else 422, str(error))


async def answer_problem(_request: Request, error: Exception) -> Response:
    """The handler of Problem, HaleError and whatever starlette raises."""
    if isinstance(error, Problem):
        return error.response()
    if isinstance(error, HaleError):
        return problem_of(error).response()
    assert isinstance(error, HTTPException)
    return Problem(error.status_code, error.detail, error.headers).response()

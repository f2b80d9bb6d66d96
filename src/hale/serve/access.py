"""Access: who may ask, and the headers of every answer, as one ASGI middleware.

A token opens the server: as ``Authorization: Bearer`` for programs; for pages once as ``?token=``
in an address, which sets a cookie and leads to the same address without it. It is random, or that
of HALE_TOKEN or --token. Host and Origin are
checked first, so that no other page of a browser can ask, nor a foreign name that was made to lead
to this machine (DNS rebinding).
"""

from __future__ import annotations

import hashlib
import hmac
import html
import ipaddress
import os
import secrets
import socket
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hale.errors import InputError
from hale.serve.problems import Problem

LOOPBACK = "127.0.0.1"
VARIABLE = "HALE_TOKEN"  # of the environment, which other users cannot read

# Nothing but what this server itself serves, no inline script or style, in nobody's frame.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# Answers hold what only the bearer of the token may see.
CACHE = {"Cache-Control": "no-store"}

FAILED = Problem(500, "The server failed to answer; its log says why.")


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(24)


def choose_token(host: str, given: str | None) -> str:
    """The token that was given, or that of the environment, or a random one.

    Refuses to listen to other machines with one that nobody chose.
    """
    token = given if given is not None else os.environ.get(VARIABLE)
    if token is not None and len(token) < 8:
        raise InputError(f"A token has at least 8 characters, got {len(token)}.")
    if token is None and not _is_loopback(host):
        raise InputError(
            f"--host {host} lets other machines ask. Choose a token for them: {VARIABLE} in the "
            "environment, or --token TOKEN."
        )
    return token or new_token()


class Access:
    """ASGI middleware: lets in who has the token, and closes every answer to other pages."""

    def __init__(self, app: ASGIApp, *, token: str, host: str = LOOPBACK) -> None:
        self.app = app
        self.token = token
        # Cookies know no ports: a name of its own keeps two servers of one machine apart, and a
        # value made from the token does not tell it to a third.
        self.cookie = "hale_" + _digest(token, "name")[:12]
        self.pass_ = _digest(token, "value")
        self.names = {"localhost", _bare(host), socket.gethostname().lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or hand on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close"})  # nothing here speaks by websocket
            return
        closed = _Closed(send)
        try:
            entered = self._admit(scope)
        except Problem as problem:
            await problem.response()(scope, receive, closed)
            return
        try:
            await (entered or self.app)(scope, receive, closed)
        except Exception:
            if not closed.begun:
                await FAILED.response()(scope, receive, closed)
            raise  # whoever runs the server logs it

    def _admit(self, scope: Scope) -> Response | None:
        """None for who may ask; what leads a browser on once it has shown the token."""
        headers = Headers(scope=scope)
        self._check_host(headers)
        _check_origin(headers)
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            if not _same(given.strip(), self.token):
                raise _locked("That is not the token of this server.")
            return None
        if _same(_cookie(headers, self.cookie), self.pass_):
            return self._led_on(scope, shown=False)
        return self._led_on(scope, shown=True)

    def _led_on(self, scope: Scope, *, shown: bool) -> Response | None:
        """Take the token out of an address; with ``shown`` nothing else lets the browser in."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in query if name == "token"]
        by_page = scope["method"] == "GET" and not scope["path"].startswith("/api/")
        if not (by_page and tokens):
            if shown:
                raise _locked(
                    "This server answers who has its token: send it as 'Authorization: Bearer "
                    "TOKEN', or open the address that hale printed."
                )
            return None
        if shown and not _same(tokens[0], self.token):
            raise _locked("That is not the token of this server.")
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        path = "/" + scope["path"].lstrip("/")  # never '//name', which would be another host
        address = path + ("?" + rest if rest else "")
        # A browser that another page has led here would leave the strict cookie out of a redirect,
        # and sends it with what this answer itself leads to.
        led = Headers(scope=scope).get("sec-fetch-site") in ("cross-site", "same-site")
        answer = _leading(address) if led else RedirectResponse(address, status_code=303)
        answer.set_cookie(self.cookie, self.pass_, httponly=True, samesite="strict", path="/")
        return answer

    def _check_host(self, headers: Headers) -> None:
        """A number, or one of this machine's names: what a foreign name cannot pretend to be."""
        host = _bare(_without_port(headers.get("host", "")))
        if host not in self.names and _address(host) is None:
            raise Problem(
                421, f"This server is not {host!r}. Open it by the address that hale printed."
            )


def _check_origin(headers: Headers) -> None:
    """Other pages may not ask, whatever they know; nor may one of another port."""
    origin, host = headers.get("origin"), headers.get("host", "")
    foreign = origin is not None and origin.partition("://")[2].lower() != host.lower()
    site, mode = headers.get("sec-fetch-site"), headers.get("sec-fetch-mode")
    if foreign or (site in ("cross-site", "same-site") and mode != "navigate"):
        raise Problem(403, "Pages of other addresses may not ask this server.")


class _Closed:
    """A send that adds the headers of every answer, and knows whether there is one."""

    def __init__(self, send: Send) -> None:
        self.send, self.begun = send, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            for name, value in CACHE.items():
                headers.setdefault(name, value)
        await self.send(message)


def _leading(address: str) -> Response:
    """A page that leads on at once."""
    to = html.escape(address)
    return HTMLResponse(f'<meta http-equiv="refresh" content="0; url={to}"><a href="{to}">hale</a>')


def _locked(detail: str) -> Problem:
    return Problem(401, detail, {"WWW-Authenticate": "Bearer"})


def _digest(token: str, what: str) -> str:
    return hmac.new(token.encode(), what.encode(), hashlib.sha256).hexdigest()


def _same(given: str, wanted: str) -> bool:
    """Whether they are equal, in a time that does not tell how far."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def _cookie(headers: Headers, name: str) -> str:
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return morsel.value if morsel else ""


def _without_port(host: str) -> str:
    """'name:80' -> 'name', '[::1]:80' -> '[::1]'."""
    return host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]


def _bare(host: str) -> str:
    return host.lower().removeprefix("[").removesuffix("]").rstrip(".")


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _is_loopback(host: str) -> bool:
    address = _address(_bare(host))
    return _bare(host) == "localhost" if address is None else address.is_loopback

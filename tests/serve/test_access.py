"""Who may ask: the token, the cookie it becomes, Host and Origin, and what every answer closes."""

from __future__ import annotations

import hmac
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from hale.errors import InputError
from hale.runs.run import Run
from hale.serve import access
from hale.serve.access import VARIABLE, choose_token, new_token
from hale.serve.app import create_app
from tests.serve.conftest import BEARER, HERE, TOKEN

ASKED = "/api/v1/run"


@pytest.fixture
def visitor(run: Run) -> TestClient:
    """A browser without a token, before a server with a page."""

    async def page(request: Request) -> PlainTextResponse:
        return PlainTextResponse(f"page {request.url.query}")

    app = create_app(run, token=TOKEN, pages=[Route("/", page), Route("/page", page)])
    return TestClient(app, base_url=HERE, follow_redirects=False)


def test_without_the_token_nothing_is_told(stranger: TestClient) -> None:
    for path in (ASKED, "/api/v1/openapi.json", "/", "/nothing", "/api/v1/nothing"):
        refused = stranger.get(path)
        assert refused.status_code == 401, path
        assert refused.headers["www-authenticate"] == "Bearer"
        assert refused.headers["content-type"] == "application/problem+json"
        assert "Authorization: Bearer" in refused.json()["detail"]


@pytest.mark.parametrize(
    "header",
    ["Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer é", f"Basic {TOKEN}"],
)
def test_a_wrong_token(stranger: TestClient, header: str) -> None:
    assert stranger.get(ASKED, headers={"Authorization": header.encode()}).status_code == 401


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_token(stranger: TestClient, scheme: str) -> None:
    told = stranger.get(ASKED, headers={"Authorization": f"{scheme} {TOKEN}"})
    assert told.status_code == 200


def test_tokens_are_compared_in_constant_time(
    stranger: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = []

    def noted(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return one == other

    monkeypatch.setattr(hmac, "compare_digest", noted)
    assert stranger.get(ASKED, headers=BEARER).status_code == 200
    assert (TOKEN.encode(), TOKEN.encode()) in compared


def test_a_token_in_the_address_becomes_a_cookie(visitor: TestClient) -> None:
    led_on = visitor.get("/page", params={"a": "1 &", "token": TOKEN})
    assert led_on.status_code == 303
    assert led_on.headers["location"] == "/page?a=1+%26"
    cookie = led_on.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TOKEN not in cookie
    assert visitor.get(led_on.headers["location"]).text == "page a=1+%26"
    assert visitor.get(ASKED).status_code == 200  # the pages' own requests
    again = visitor.get("/", params={"token": TOKEN})  # from the printed address, once more
    assert (again.status_code, again.headers["location"]) == (303, "/")


def test_who_is_led_here_by_another_page_is_led_on_by_this_one(visitor: TestClient) -> None:
    """A redirect would go on without the cookie, which is strict; a page of its own does not."""
    led = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    opened = visitor.get("/page", params={"a": '"><i>', "token": TOKEN}, headers=led)
    assert opened.status_code == 200
    assert 'http-equiv="refresh" content="0; url=/page?a=%22%3E%3Ci%3E"' in opened.text
    assert "samesite=strict" in opened.headers["set-cookie"].lower()
    assert TOKEN not in opened.text
    assert visitor.get("/page").status_code == 200
    refused = visitor.get("/page", params={"token": "wrong"}, headers={**led, "Cookie": ""})
    assert refused.status_code == 401
    assert "set-cookie" not in refused.headers


def test_a_wrong_token_in_the_address_sets_nothing(visitor: TestClient) -> None:
    refused = visitor.get("/", params={"token": "wrong"})
    assert refused.status_code == 401
    assert "set-cookie" not in refused.headers
    assert visitor.get("/").status_code == 401


def test_a_token_in_an_address_is_for_pages_only(visitor: TestClient) -> None:
    assert visitor.get(ASKED, params={"token": TOKEN}).status_code == 401
    assert visitor.post("/page", params={"token": TOKEN}).status_code == 401


def test_a_made_up_cookie_opens_nothing(visitor: TestClient) -> None:
    visitor.get("/", params={"token": TOKEN})
    (name,) = visitor.cookies
    visitor.cookies.set(name, TOKEN)
    fresh = TestClient(visitor.app, base_url=HERE, cookies={name: TOKEN})
    assert fresh.get("/").status_code == 401
    for raw in ("=", "a=b; ;;", 'x="', f"{name}="):
        assert fresh.get("/", headers={"Cookie": raw}).status_code == 401


def test_leading_on_stays_on_this_server(visitor: TestClient) -> None:
    led_on = visitor.get("http://127.0.0.1:8000//evil.example/x", params={"token": TOKEN})
    assert led_on.headers["location"] == "/evil.example/x"


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:8000", "localhost", "LOCALHOST:9000", "[::1]:8000", "192.168.7.7", "localhost."],
)
def test_a_host_that_is_this_machine(client: TestClient, host: str) -> None:
    assert client.get(ASKED, headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "localhost.x"]
)
def test_a_host_that_is_not(client: TestClient, host: str) -> None:
    refused = client.get(ASKED, headers={"Host": host})
    assert refused.status_code == 421
    assert refused.headers["content-type"] == "application/problem+json"


def test_the_host_that_was_named(run: Run) -> None:
    app = create_app(run, token=TOKEN, host="graphs.example")
    client = TestClient(app, base_url=HERE, headers=BEARER)
    assert client.get(ASKED, headers={"Host": "graphs.example:80"}).status_code == 200
    assert client.get(ASKED, headers={"Host": "others.example"}).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://["},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "http://localhost:8000"},  # asks 127.0.0.1: another origin
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
    ],
)
def test_other_pages_may_not_ask_whatever_they_know(
    client: TestClient, headers: dict[str, str]
) -> None:
    for method in ("GET", "POST", "OPTIONS"):
        refused = client.request(method, ASKED, headers=headers)
        assert refused.status_code == 403, method
        assert "access-control-allow-origin" not in refused.headers


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": HERE},
        {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"},
        {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},  # a link that was followed
    ],
)
def test_its_own_pages_may(client: TestClient, headers: dict[str, str]) -> None:
    assert client.get(ASKED, headers=headers).status_code == 200


def test_every_answer_is_closed_to_others(client: TestClient, visitor: TestClient) -> None:
    answers: list[Any] = [
        client.get(ASKED),
        client.get("/api/v1/entities/nobody"),
        client.get("/nothing"),
        visitor.get("/"),
        visitor.get("/", params={"token": TOKEN}),
        visitor.get("/", headers={"Host": "evil.example"}),
    ]
    assert {answer.status_code for answer in answers} == {200, 404, 401, 303, 421}
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"


def test_nothing_is_said_by_websocket(client: TestClient) -> None:
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/", headers=BEARER):
        pass


def test_tokens_are_long_and_each_is_new() -> None:
    assert len(new_token()) >= 32
    assert new_token() != new_token()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", "::1", "[::1]"])
def test_this_machine_alone_needs_no_token_of_ones_own(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert len(choose_token(host, None)) >= 32
    assert choose_token(host, None) != choose_token(host, None)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "graphs.example"])
def test_others_need_one(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(InputError, match="lets other machines ask.*HALE_TOKEN.*--token"):
        choose_token(host, None)
    with pytest.raises(InputError, match="at least 8 characters, got 3"):
        choose_token(host, "abc")
    assert choose_token(host, "long enough") == "long enough"
    monkeypatch.setenv(VARIABLE, "of the environment")
    assert choose_token(host, None) == "of the environment"
    assert choose_token(host, "long enough") == "long enough"
    monkeypatch.setenv(VARIABLE, "short")
    with pytest.raises(InputError, match="at least 8 characters, got 5"):
        choose_token(host, None)


def test_two_servers_of_one_machine_have_cookies_of_their_own() -> None:
    def app(*_: Any) -> None: ...

    one, other = (access.Access(app, token=token) for token in ("one token", "other token"))
    assert one.cookie != other.cookie

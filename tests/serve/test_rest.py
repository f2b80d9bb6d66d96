"""The operations: what the commands print with --json, and what they say of what cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from hale.runs.run import Run
from hale.serve import service
from hale.serve.app import create_app
from hale.serve.asking import Bounds
from hale.serve.rest import OPERATIONS
from tests.cli.invoke import as_json, hale
from tests.serve.conftest import BEARER, HERE, NAMES, SCRIPT, TOKEN


def get(client: TestClient, path: str, **parameters: Any) -> Any:
    told = client.get(f"/api/v1{path}", params=parameters)
    assert told.status_code == 200, told.text
    assert told.headers["content-type"] == "application/json"
    return told.json()


def post(client: TestClient, path: str, body: Any) -> Any:
    told = client.post(f"/api/v1{path}", json=body)
    assert told.status_code == 200, told.text
    return told.json()


def test_the_run_as_hale_show_tells_it(client: TestClient, folder: Path) -> None:
    assert get(client, "/run") == as_json(hale("show", folder, "--json"))


@pytest.mark.parametrize(
    "query",
    [
        {"head": "p1", "relation": "next"},
        {"relation": "next", "tail": "two words", "k": 3},
        {"head": "p1", "tail": "p2", "known": "drop"},
        {"head": SCRIPT, "relation": "is <b>", "known": "drop", "k": 1000},
        {"head": "a/b?c#d&e", "relation": "next", "k": 1},
    ],
)
def test_answers_as_hale_predict_tells_them(
    client: TestClient, folder: Path, query: dict[str, Any]
) -> None:
    flags = [("-k" if name == "k" else f"--{name}", value) for name, value in query.items()]
    printed = hale("predict", folder, *(part for flag in flags for part in flag), "--json")
    assert get(client, "/predict", **query) == as_json(printed)


def test_many_answers_as_hale_predict_tells_them(client: TestClient, folder: Path) -> None:
    Path("queries.tsv").write_text(f"p1\tnext\t?\n?\tnext\t{SCRIPT}\np1\t?\tp2\n")
    queries = [
        {"head": "p1", "relation": "next"},
        {"head": None, "relation": "next", "tail": SCRIPT},
        {"head": "p1", "tail": "p2"},
    ]
    printed = hale("predict", folder, "--queries", "queries.tsv", "-k", 4, "--json")
    assert post(client, "/predict", {"queries": queries, "k": 4}) == as_json(printed)


LIMITS: list[dict[str, Any]] = [
    {"type": ["p9", "p2"], "type_relation": "is <b>"},
    {"within": ["p9", "one"], "anything": True},
    {"within": ["p9", "p0"], "type": ["p9"], "type_relation": "is <b>", "anything": True},
]


@pytest.mark.parametrize("limits", LIMITS)
def test_who_may_answer_as_hale_predict_limits_it(
    client: TestClient, folder: Path, limits: dict[str, Any]
) -> None:
    flags: list[str] = ["--anything"] if limits.get("anything") else []
    for name in limits.get("type", ()):
        flags += ["--type", name, "--type-relation", limits["type_relation"]]
    if "within" in limits:
        Path("within.txt").write_text("\n".join(limits["within"]))
        flags += ["--within", "within.txt"]
    asked = ["--head", "p8", "--relation", "next"]
    printed = as_json(hale("predict", folder, *asked, "-k", 20, *flags, "--json"))
    plain = as_json(hale("predict", folder, *asked, "-k", 20, "--json"))
    assert printed != plain  # it limits something
    assert get(client, "/predict", head="p8", relation="next", k=20, **limits) == printed
    body = {"queries": [{"head": "p8", "relation": "next"}], "k": 20, **limits}
    told = post(client, "/predict", body)
    assert told["queries"] == [{name: printed[name] for name in printed if name != "run"}]


def test_anything_may_answer(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph of so few facts rules nobody out: what reaches the answers is looked at."""
    asked: list[Any] = []

    def noted(function: Any) -> Any:
        def answer(*args: Any, **given: Any) -> Any:
            asked.append(given.get("anything"))
            return function(*args, **given)

        return answer

    for name in ("predict", "predict_many"):
        monkeypatch.setattr(service, name, noted(getattr(service, name)))
    query = {"head": "p8", "relation": "next"}
    get(client, "/predict", **query, anything="true")
    post(client, "/predict", {"queries": [query], "anything": True})
    post(client, "/predict", {"queries": [query]})
    assert asked == [True, True, None]


def test_what_answers_are_limited_to_is_names_never_a_file(
    client: TestClient, folder: Path
) -> None:
    Path("within.txt").write_text("p9\n")
    for within in ("within.txt", str(Path("within.txt").absolute())):
        asked = {"head": "p8", "relation": "next", "within": within}
        refused = client.get("/api/v1/predict", params=asked)
        assert refused.status_code == 422
        assert "entities that the graph lacks" in refused.json()["detail"]
        assert (
            client.post("/api/v1/predict", json={"queries": [], "within": within}).status_code
            == 422
        )


def test_labelled_verdicts_as_hale_classify_tells_them(client: TestClient, folder: Path) -> None:
    rows = [("p8", "p9", True), ("p0", "p9", False), ("p6", "p7", False), ("p1", "p2", True)]
    Path("labelled.tsv").write_text("".join(f"{h}\tnext\t{t}\t{int(y)}\n" for h, t, y in rows))
    triples = [{"head": h, "relation": "next", "tail": t, "label": y} for h, t, y in rows]
    printed = as_json(hale("classify", folder, "labelled.tsv", "--json"))
    assert printed["quality"]["count"] == 4
    assert [row["label"] for row in printed["triples"]] == [True, False, False, True]
    assert post(client, "/classify", {"triples": triples}) == printed
    del triples[0]["label"]
    refused = client.post("/api/v1/classify", json={"triples": triples})
    assert refused.status_code == 422
    assert "to all triples or to none, got 3 of 4" in refused.json()["detail"]


def test_missing_facts_as_hale_discover_tells_them(client: TestClient, folder: Path) -> None:
    printed = hale("discover", folder, "--relation", "next", "-k", 3, "--json")
    assert get(client, "/discover", relation="next", k=3) == as_json(printed)
    assert get(client, "/discover") == as_json(hale("discover", folder, "--json"))


@pytest.mark.parametrize("name", NAMES)
def test_neighbours_as_hale_neighbors_tells_them(
    client: TestClient, folder: Path, name: str
) -> None:
    printed = hale("neighbors", folder, name, "-k", 3, "--metric", "l2", "--json")
    assert get(client, f"/neighbors/{quote(name, safe='')}", k=3) == as_json(printed)


def test_why_as_hale_why_tells_it(client: TestClient, folder: Path) -> None:
    printed = hale("why", folder, "p8", "next", "p9", "-k", 2, "--json")
    assert get(client, "/why", head="p8", relation="next", tail="p9", k=2) == as_json(printed)


def test_verdicts_as_hale_classify_tells_them(client: TestClient, folder: Path) -> None:
    Path("triples.tsv").write_text(f"p8\tnext\tp9\n{SCRIPT}\tnext\tp0\n")
    triples = [
        {"head": "p8", "relation": "next", "tail": "p9"},
        {"head": SCRIPT, "relation": "next", "tail": "p0"},
    ]
    printed = hale("classify", folder, "triples.tsv", "--json")
    assert post(client, "/classify", {"triples": triples}) == as_json(printed)


@pytest.mark.parametrize("name", NAMES)
def test_an_entity_by_whatever_it_is_called(client: TestClient, name: str) -> None:
    path = quote(name, safe="")
    assert get(client, f"/entities/{path}")["entity"] == name
    assert get(client, f"/vectors/{path}")["vector"] == [float(NAMES.index(name)), 0.0]
    (found, *_) = get(client, "/search", q=name)["entities"]
    assert found["entity"] == name


def test_markup_in_a_name_is_never_markup(client: TestClient) -> None:
    """JSON by its type, which no browser takes for a page, also where an error repeats the name."""
    for path in (f"/entities/{quote(SCRIPT, safe='')}", f"/entities/{quote('<script>', safe='')}"):
        told = client.get("/api/v1" + path)
        assert told.headers["content-type"] in ("application/json", "application/problem+json")
        assert told.headers["x-content-type-options"] == "nosniff"
        assert "<script>" in json.dumps(told.json())


@pytest.mark.parametrize(
    ("path", "command", "status"),
    [
        ("/predict?head=nobody&relation=next", "predict RUN --head nobody --relation next", 404),
        ("/predict?head=p1&relation=nxt", "predict RUN --head p1 --relation nxt", 404),
        ("/predict?head=twin&relation=next", "predict RUN --head twin --relation next", 422),
        ("/predict?head=p1", "predict RUN --head p1", 422),
        (
            "/predict?head=p1&tail=p2&known=x",
            "predict RUN --head p1 --tail p2 --known x",
            422,
        ),
        ("/predict?head=p1&tail=p2&k=0", "predict RUN --head p1 --tail p2 -k 0", 422),
        ("/discover?relation=nxt", "discover RUN --relation nxt", 404),
        ("/neighbors/nobody", "neighbors RUN nobody", 404),
        ("/neighbors/p1?metric=l3", "neighbors RUN p1 --metric l3", 422),
        ("/neighbors/p1?k=0", "neighbors RUN p1 -k 0", 422),
        ("/why?head=p1&relation=next&tail=pp", "why RUN p1 next pp", 404),
        ("/why?head=p1&relation=next&tail=p2&k=0", "why RUN p1 next p2 -k 0", 422),
        ("/entities/p11", "neighbors RUN p11", 404),
    ],
)
def test_errors_are_told_as_the_command_line_tells_them(
    client: TestClient, folder: Path, path: str, command: str, status: int
) -> None:
    printed = hale(*(str(folder) if word == "RUN" else word for word in command.split()))
    assert printed.exit_code == 2
    refused = client.get("/api/v1" + path)
    assert refused.status_code == status
    assert refused.headers["content-type"] == "application/problem+json"
    problem = refused.json()
    assert f"error: {problem['detail']}\n" == printed.stderr
    assert problem["status"] == status


def test_suggestions_come_with_an_unknown_name(client: TestClient) -> None:
    assert client.get("/api/v1/entities/p11").json()["suggestions"] == ["p1"]


def test_the_triples_of_a_body_are_named_by_their_place(client: TestClient) -> None:
    triples = [{"head": "p8", "relation": "next", "tail": tail} for tail in ("p9", "nobody")]
    refused = client.post("/api/v1/classify", json={"triples": triples})
    assert refused.status_code == 422
    assert "Unknown entity 'nobody'" in refused.json()["detail"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/search", "q: Field required."),
        ("/search?q=p&k=many", "k: Input should be a valid integer"),
        ("/search?q=%20", "Nothing to search for"),
        ("/search?q=p&limit=5", "Unknown parameter 'limit'. Choose from: q, k."),
        ("/search?q=p&kk=5", "Unknown parameter 'kk'."),
        ("/search?q=p&q=r", "Given more than once: q."),
        (f"/search?q=p{'&q=r' * 20}", "At most 20 parameters, got 21."),
        ("/search?q=p&k=1001", "At most 1,000 entities at a time, got 1,001."),
        ("/predict?head=p1&relation=next&k=1001", "At most 1,000 answers at a time, got 1,001."),
        ("/discover?relation=next&k=1001", "At most 1,000 facts"),
        ("/neighbors/p1?k=100000000000000000000", "At most 1,000 neighbours"),
        ("/search?q=" + "p" * 2001, "at most 2000 characters"),
        ("/run?verbose=1", "Unknown parameter 'verbose'."),
    ],
)
def test_what_does_not_fit_is_told(client: TestClient, path: str, message: str) -> None:
    refused = client.get("/api/v1" + path)
    assert refused.status_code == 422, refused.text
    assert message in refused.json()["detail"]


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"{", 400, "Invalid JSON"),
        (b"", 400, "Invalid JSON"),
        (b'{"queries": [{"head": "\xff"}]}', 400, "Invalid JSON"),
        (b'{"queries": [{"head": "\\ud800", "relation": "next"}]}', 400, "Invalid JSON"),
        (b"[]", 422, "the body: "),
        (b"{}", 422, "queries: Field required."),
        (b'{"queries": [{"head": 1}]}', 422, "queries.0.head: "),
        (b'{"queries": [], "k": true}', 422, "k: "),
        (b'{"queries": [], "q": 1}', 422, "Unknown parameter 'q'."),
        (b'{"queries": [{"heads": "p1"}]}', 422, "queries.0.heads: Extra inputs"),
        (b'{"queries": [{"head": "p1"}]}', 422, "two of head, relation and tail"),
        (json.dumps({"queries": [{}] * 1001}).encode(), 422, "at most 1000 items"),
    ],
)
def test_a_body_that_does_not_fit_is_told(
    client: TestClient, body: bytes, status: int, message: str
) -> None:
    refused = client.post(
        "/api/v1/predict", content=body, headers={"Content-Type": "application/json"}
    )
    assert refused.status_code == status, refused.text
    assert message in refused.json()["detail"]


def test_a_body_that_is_no_json(client: TestClient) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        refused = client.post("/api/v1/predict", content=b"{}", headers={"Content-Type": kind})
        assert refused.status_code == 415


def test_a_body_that_is_too_large(run: Run) -> None:
    app = create_app(run, token=TOKEN, bounds=Bounds(body=1000))
    client = TestClient(app, base_url=HERE, headers=BEARER)
    told = client.post("/api/v1/predict", json={"queries": [{"head": "p" * 600, "tail": "p1"}]})
    assert told.status_code == 404
    announced = client.post("/api/v1/predict", json={"queries": [{"head": "p" * 1000}]})
    assert announced.status_code == 413
    assert "at most 1,000 bytes" in announced.json()["detail"]
    grown = client.post(
        "/api/v1/predict",
        content=(b" " * 400 for _ in range(3)),
        headers={"Content-Type": "application/json"},
    )
    assert grown.status_code == 413


def test_other_methods_and_paths(client: TestClient) -> None:
    refused = client.delete("/api/v1/predict")
    assert refused.status_code == 405
    assert set(refused.headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}
    assert refused.headers["content-type"] == "application/problem+json"
    assert client.get("/api/v1/nothing").status_code == 404
    assert client.head("/api/v1/run").status_code == 200


def test_a_failure_inside_tells_nothing_of_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    app = create_app(run, token=TOKEN)
    monkeypatch.setattr(app.state.service, "vectors", lambda _name: 1 / 0)
    client = TestClient(app, base_url=HERE, headers=BEARER, raise_server_exceptions=False)
    refused = client.get("/api/v1/vectors/p1")
    assert refused.status_code == 500
    assert refused.headers["content-type"] == "application/problem+json"
    assert "ZeroDivision" not in refused.text
    assert "frame-ancestors 'none'" in refused.headers["content-security-policy"]


def test_asking_changes_no_file_of_the_run(client: TestClient, folder: Path) -> None:
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*")}
    triple = {"head": "p8", "relation": "next", "tail": "p9"}
    for operation in OPERATIONS:
        path = "/api/v1" + operation.path.replace("{name}", "p1")
        if operation.body is None:
            fields = operation.asked.model_fields
            asked = {"q": "p", **triple} if operation.path == "/why" else {"q": "p"}
            if operation.path == "/predict":
                asked = {"head": "p1", "relation": "next"}
            told = client.get(path, params={k: v for k, v in asked.items() if k in fields})
        else:
            what = "triples" if "triples" in operation.body.model_fields else "queries"
            told = client.post(path, json={what: [triple] if what == "triples" else []})
        assert told.status_code == 200, told.text
    after = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*")}
    assert after == before

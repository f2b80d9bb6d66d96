"""The document says what the server does: every answer, to requests that fit it and that do not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance
from starlette.testclient import TestClient

from hale.evaluation.calibration import ByNegatives, ByQuestions
from hale.runs.run import load_run
from hale.serve.app import create_app
from hale.serve.openapi import Operation, document
from hale.serve.rest import OPERATIONS
from tests.serve.conftest import BEARER, NAMES, TOKEN, save_odd
from tests.serve.running import Running

EXAMPLES = 40  # of an operation

# A document cannot say which names there are, nor that of three two are given: so a request that
# fits it may be refused.
UNSAID = [positive_data_acceptance]
KNOWN = {"head": NAMES, "tail": NAMES, "name": NAMES, "relation": ["next", "is <b>"]}
ROWS = {"post_predict": "queries", "post_classify": "triples"}  # of a body, and of its answer


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    run = load_run(save_odd(tmp_path_factory.mktemp("run") / "odd"))
    with Running(create_app(run, token=TOKEN)) as (host, port):
        yield f"http://{host}:{port}/api/v1"


@pytest.fixture(scope="module")
def schema(address: str) -> Any:
    """As it is served."""
    served = requests.get(f"{address}/openapi.json", headers=BEARER, timeout=10).json()
    assert served == document(OPERATIONS)
    return schemathesis.openapi.from_dict(served)


def cases(declared: Any, operation: Operation) -> Any:
    """Requests that fit what is declared, with names of any text and with known ones."""
    known = st.fixed_dictionaries(
        {
            name: st.sampled_from(names)
            for name, names in KNOWN.items()
            if name in operation.asked.model_fields
        }
    )

    fitting = declared.as_strategy(GenerationMode.POSITIVE)
    asked_for = st.sampled_from(["head", "relation", "tail"])
    if operation.body is not None:
        row = st.fixed_dictionaries(
            {name: st.sampled_from(KNOWN[name]) for name in ("head", "relation", "tail")}
        )
        rows = st.lists(st.tuples(row, asked_for), min_size=1, max_size=3)
        return st.one_of(
            fitting, st.tuples(fitting, rows).map(lambda drawn: with_rows(operation, *drawn))
        )

    def with_known(drawn: tuple[Any, dict[str, str], str]) -> Any:
        case, names, asked_for = drawn
        if operation.id == "get_predict":
            case.query.pop(asked_for, None)
            del names[asked_for]
        place = case.path_parameters if "name" in names else case.query
        place.update(names)
        return case

    return st.one_of(fitting, st.tuples(fitting, known, asked_for).map(with_known))


def with_rows(operation: Operation, case: Any, rows: list[tuple[dict[str, str], str]]) -> Any:
    """A body whose triples are of known names, or its queries, each with one of three left out."""
    whole = operation.id == "post_classify"
    case.body[ROWS[operation.id]] = [
        names if whole else {place: name for place, name in names.items() if place != asked_for}
        for names, asked_for in rows
    ]
    return case


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.id)
@pytest.mark.parametrize("mode", list(GenerationMode))
def test_every_answer_is_declared(
    operation: Operation, mode: GenerationMode, schema: Any, address: str
) -> None:
    declared = schema[operation.path][operation.method]
    if mode is GenerationMode.NEGATIVE and operation.path in ("/run", "/relations"):
        return  # nothing is asked of them that could be wrong
    asked = (
        cases(declared, operation)
        if mode is GenerationMode.POSITIVE
        else declared.as_strategy(mode)
    )
    statuses: set[int] = set()
    filled: set[str] = set()
    with requests.Session() as session:

        @settings(
            max_examples=EXAMPLES // 2,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            database=None,
        )
        @given(case=asked)
        def ask(case: Any) -> None:
            # an address that is longer is refused by the HTTP server, before there is a request
            assume(len(urlencode(case.query or {}, doseq=True)) < 60_000)
            told = case.call_and_validate(
                base_url=address, session=session, headers=BEARER, excluded_checks=UNSAID
            )
            statuses.add(told.status_code)
            if told.status_code == 200:
                filled.update(name for name, value in told.json().items() if value)

        ask()
    assert 200 in statuses if mode is GenerationMode.POSITIVE else statuses - {200}, statuses
    if mode is GenerationMode.POSITIVE and operation.body is not None:
        assert ROWS[operation.id] in filled  # an answer that was held against its rows


def test_every_path_is_declared_once(schema: Any) -> None:
    declared = {
        (path, method.upper())
        for path, methods in document(OPERATIONS)["paths"].items()
        for method in methods
    }
    assert declared == {(operation.path, operation.method) for operation in OPERATIONS}
    ids = [operation.id for operation in OPERATIONS]
    assert len(set(ids)) == len(ids) == 11


def test_a_parameter_is_declared_with_its_bounds(client: TestClient) -> None:
    served = client.get("/api/v1/openapi.json").json()
    parameters = {one["name"]: one for one in served["paths"]["/predict"]["get"]["parameters"]}
    assert parameters["k"]["schema"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 1000,
        "default": 10,
    }
    assert parameters["known"]["schema"]["enum"] == ["mark", "drop"]
    assert parameters["head"]["schema"] == {"type": "string", "maxLength": 2000}
    assert not parameters["head"]["required"]
    (name, *_) = served["paths"]["/entities/{name}"]["get"]["parameters"]
    assert (name["in"], name["required"]) == ("path", True)
    assert served["components"]["securitySchemes"]["token"]["scheme"] == "bearer"


def test_what_a_probability_is_against_is_declared(client: TestClient) -> None:
    schemas = client.get("/api/v1/openapi.json").json()["components"]["schemas"]
    (kind, _null) = schemas["AnswerTold"]["properties"]["probability"]["anyOf"]
    for declared in (kind, schemas["VerdictTold"]["properties"]["probability"]):
        assert ByQuestions.meaning in declared["description"]
        assert ByNegatives.meaning in declared["description"]

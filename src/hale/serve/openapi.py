"""OpenAPI: the document that declares the operations, made from their own declarations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.requests import Request

from hale import __version__
from hale.serve.asked import Asked, NothingAsked
from hale.serve.problems import PROBLEM
from hale.serve.told import ProblemTold

DOCUMENT = "/openapi.json"
REFERENCE = "#/components/schemas/{model}"

REFUSALS = {
    "400": "The request cannot be read.",
    "401": "The token is missing or wrong.",
    "403": "A page of another address asks.",
    "404": "There is no such entity or relation.",
    "408": "The body did not arrive in time.",
    "413": "The body is too large.",
    "415": "The body is not JSON.",
    "421": "The Host is not this server's.",
    "422": "What is asked cannot be answered.",
    "500": "The run or the server is at fault.",
    "503": "Too many questions wait, or this one took too long.",
}
OF_BODIES = ("400", "408", "413", "415")


@dataclass(frozen=True)
class Operation:
    """One thing that can be asked: where, and what is answered.

    Fields of ``asked`` stand in the path where it has them in braces, else in the query; an
    operation with a ``body`` has neither.
    """

    path: str
    summary: str
    told: type[BaseModel]
    answer: Callable[[Request, Any], Awaitable[dict[str, Any]]]
    asked: type[Asked] = NothingAsked
    method: str = "GET"
    body: type[Asked] | None = None

    @property
    def id(self) -> str:
        """A name for what it does."""
        words = [word.strip("{}") for word in self.path.split("/") if word]
        return "_".join([self.method.lower(), *words])


def document(operations: Sequence[Operation], *, prefix: str = "/api/v1") -> dict[str, Any]:
    """The OpenAPI 3.1 document."""
    models: dict[str, type[BaseModel]] = {"ProblemTold": ProblemTold}
    for operation in operations:
        for model in (operation.told, operation.asked, operation.body):
            if model is not None:
                models[model.__name__] = model
    _, schemas = models_json_schema(
        [(model, "validation") for model in models.values()], ref_template=REFERENCE
    )
    paths: dict[str, Any] = {}
    for operation in operations:
        declared = _declared(operation, schemas["$defs"])
        paths.setdefault(operation.path, {})[operation.method.lower()] = declared
    by_query = {operation.asked.__name__ for operation in operations}
    kept = {name: one for name, one in schemas["$defs"].items() if name not in by_query}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "hale",
            "version": __version__,
            "description": "What a trained knowledge graph answers.",
        },
        "servers": [{"url": prefix}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": kept,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _declared(operation: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    refusals = {
        status: {"description": what, "content": {PROBLEM: {"schema": _reference(ProblemTold)}}}
        for status, what in REFUSALS.items()
        if operation.body is not None or status not in OF_BODIES
    }
    found: dict[str, Any] = {
        "operationId": operation.id,
        "summary": operation.summary,
        "parameters": _parameters(operation, schemas[operation.asked.__name__]),
        "responses": {
            "200": {
                "description": str(operation.told.__doc__),
                "content": {"application/json": {"schema": _reference(operation.told)}},
            },
            **refusals,
        },
    }
    if operation.body is not None:
        content = {"application/json": {"schema": _reference(operation.body)}}
        found["requestBody"] = {"required": True, "content": content}
    return found


def _parameters(operation: Operation, schema: dict[str, Any]) -> list[dict[str, Any]]:
    """What stands in the path and in the query; a parameter is left out, never null."""
    found = []
    for name, field in schema.get("properties", {}).items():
        in_path = f"{{{name}}}" in operation.path
        kinds = [kind for kind in field.get("anyOf", [field]) if kind.get("type") != "null"]
        (kind,) = kinds
        value = {key: value for key, value in kind.items() if key not in ("title", "description")}
        if in_path:
            value["minLength"] = 1
        if field.get("default") is not None:
            value["default"] = field["default"]
        found.append(
            {
                "name": name,
                "in": "path" if in_path else "query",
                "required": in_path or name in schema.get("required", []),
                "description": kind.get("description", field.get("description", "")),
                "schema": value,
            }
        )
    return found


def _reference(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": REFERENCE.format(model=model.__name__)}

"""Shapes: what is asked and what is answered, as the OpenAPI document declares it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from hale.serve.service import MOST


class Asked(BaseModel):
    """What a request may hold, and nothing else."""

    model_config = ConfigDict(extra="forbid")


# Declared here and refused by the answers themselves, in the words of the command line.
Count = Annotated[int, Field(json_schema_extra={"minimum": 1, "maximum": MOST})]
Known = Annotated[str, Field(json_schema_extra={"enum": ["mark", "drop"]})]


class Nothing(Asked):
    """No parameters."""


class PredictAsked(Asked):
    """Two of head, relation and tail; the third is what is asked for."""

    head: str | None = None
    relation: str | None = None
    tail: str | None = None
    k: Count = 10
    known: Known = "mark"


class Told(BaseModel):
    """An answer."""

    run: str


class RunTold(Told):
    """A run: its graph, settings, how training went, and its metrics."""

    graph: str
    entities: int
    relations: int
    parameters: int
    settings: dict[str, Any]
    training: dict[str, Any]
    history: list[dict[str, Any]]
    metrics: dict[str, Any]

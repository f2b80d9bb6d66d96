"""Asked: what a request may hold; read by these models, and declared by them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from hale.serve.service import MOST

MOST_LETTERS = 2000


class Asked(BaseModel):
    """What a request may hold, and nothing else."""

    model_config = ConfigDict(extra="forbid")


def _count(default: str) -> Any:
    """A number whose bounds are declared here and kept by the answers, in hale's own words."""
    return Field(description=default, json_schema_extra={"minimum": 1, "maximum": MOST})


Text = Annotated[str, Field(max_length=MOST_LETTERS)]
Name = Annotated[str, Field(max_length=MOST_LETTERS, description="An entity's id or label.")]
Relation = Annotated[str, Field(max_length=MOST_LETTERS, description="A relation's name.")]
Count = Annotated[int, _count("The number of answers.")]
Known = Annotated[
    str,
    Field(
        description="mark or drop facts that the graph holds.",
        json_schema_extra={"enum": ["mark", "drop"]},
    ),
]
Metric = Annotated[
    str, Field(description="The distance.", json_schema_extra={"enum": ["l2", "cosine"]})
]


class NothingAsked(Asked):
    """No parameters."""


class SearchAsked(Asked):
    """A part of a name or label."""

    q: Annotated[str, Field(max_length=MOST_LETTERS, description="A part of a name or label.")]
    k: Count = 20


class EntityAsked(Asked):
    """An entity."""

    name: Name
    k: Annotated[int, _count("The number of facts.")] = 100


class NeighborsAsked(Asked):
    """An entity, and how near others are to it."""

    name: Name
    k: Count = 10
    metric: Metric = "l2"


class VectorAsked(Asked):
    """An entity."""

    name: Name


class QueryAsked(Asked):
    """Two of head, relation and tail; the third is what is asked for."""

    head: Name | None = None
    relation: Relation | None = None
    tail: Name | None = None


class PredictAsked(QueryAsked):
    """A query, and how it is answered."""

    k: Count = 10
    known: Known = "mark"


class PredictManyAsked(Asked):
    """Queries, and how they are answered."""

    queries: Annotated[list[QueryAsked], Field(max_length=MOST)]
    k: Count = 10
    known: Known = "mark"


class DiscoverAsked(Asked):
    """A relation, or all."""

    relation: Relation | None = None
    k: Annotated[int, _count("The number of facts.")] = 100


class TripleAsked(Asked):
    """A triple."""

    head: Name
    relation: Relation
    tail: Name


class WhyAsked(TripleAsked):
    """A fact."""

    k: Annotated[int, _count("The number of supporting facts.")] = 5


class ClassifyAsked(Asked):
    """Triples to judge."""

    triples: Annotated[list[TripleAsked], Field(max_length=MOST)]

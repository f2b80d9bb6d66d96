"""Shapes: what is asked and what is answered, as the OpenAPI document declares it.

What is asked is read by these models. What is answered is made by ``Service``; its models declare
it, and the tests hold every answer against them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

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
Split = Literal["train", "valid", "test"]


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


class Told(BaseModel):
    """An answer."""

    model_config = ConfigDict(extra="forbid")


class Of(Told):
    """An answer of a run."""

    run: str


class RunTold(Of):
    """A run: its graph, settings, how training went, and its metrics."""

    graph: str
    entities: int
    relations: int
    parameters: int
    settings: dict[str, Any]
    training: dict[str, Any]
    history: list[dict[str, Any]]
    metrics: dict[str, Any]


class RelationTold(Told):
    """A relation."""

    relation: str
    facts: int


class RelationsTold(Of):
    """The relations and how many facts each has in all splits."""

    relations: list[RelationTold]


class EntityFound(Told):
    """An entity."""

    entity: str
    label: str | None


class SearchTold(Of):
    """Entities, the likeliest first."""

    q: str
    entities: list[EntityFound]


class FactTold(Told):
    """A fact that the graph holds, and the split that holds it."""

    head: str
    head_label: str | None
    relation: str
    tail: str
    tail_label: str | None
    split: Split


class EntityTold(Of, EntityFound):
    """An entity and facts of it, of ``num_facts`` in all."""

    num_facts: int
    facts: list[FactTold]


class AnswerTold(BaseModel):
    """One answer; ``entity`` and ``label``, or ``relation`` where relations are asked for."""

    rank: int
    entity: str | None = None
    label: str | None = None
    relation: str | None = None
    score: float
    probability: float | None = None
    known: bool


class AnswersTold(Told):
    """The answers to one query, best first."""

    head: str | None
    relation: str | None
    tail: str | None
    answers: list[AnswerTold]


class PredictTold(Of, AnswersTold):
    """The answers of a run to one query."""


class PredictManyTold(Of):
    """The answers to each query, in order."""

    queries: list[AnswersTold]


class MissingFactTold(BaseModel):
    """A fact that the graph lacks and the model finds plausible."""

    rank: int
    head: str
    head_label: str | None
    relation: str
    tail: str
    tail_label: str | None
    score: float
    probability: float | None = None


class DiscoverTold(Of):
    """The most plausible missing facts, best first."""

    facts: list[MissingFactTold]


class NeighborTold(Told):
    """An entity and how far it is."""

    rank: int
    entity: str
    label: str | None
    distance: float


class NeighborsTold(Of):
    """The nearest entities, nearest first."""

    entity: str
    metric: str
    neighbors: list[NeighborTold]


class WhyTold(BaseModel):
    """How a fact ranks, and the known facts that support it."""

    run: str
    head: str
    head_label: str | None
    relation: str
    tail: str
    tail_label: str | None
    score: float
    tail_rank: float
    head_rank: float
    num_entities: int
    split: Split | None
    probability: float | None = None
    support: list[dict[str, Any]]


class VerdictTold(BaseModel):
    """What the run makes of one triple."""

    head: str
    relation: str
    tail: str
    verdict: bool
    probability: float
    score: float
    threshold: float


class ClassifyTold(Of):
    """Verdicts, in the order of the triples."""

    triples: list[VerdictTold]


class VectorTold(Of, EntityFound):
    """An entity's vector."""

    vector: list[float]


class ProblemTold(BaseModel):
    """What went wrong (RFC 9457), in the words of the command line."""

    title: str
    status: int
    detail: str

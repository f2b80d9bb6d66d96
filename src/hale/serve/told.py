"""Told: what is answered, as the OpenAPI document declares it.

Answers are made by ``Service``; the tests hold every one against these models.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from hale.evaluation.calibration import ByNegatives, ByQuestions

Split = Literal["train", "valid", "test"]
MEANING = (
    f"{ByQuestions.meaning} Where the run was calibrated against negatives that were given, "
    f"{ByNegatives.meaning}"
)
Probability = Annotated[float, Field(description=MEANING)]


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
    probability: Probability | None = None
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
    probability: Probability | None = None


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
    """How a fact ranks, and the known facts and the rules of train that support it."""

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
    probability: Probability | None = None
    support: list[dict[str, Any]]
    paths: list[dict[str, Any]]


class VerdictTold(Told):
    """What the run makes of one triple; ``known`` is the split that holds it.

    ``threshold`` is of the score, where negatives were given; else a probability of one half.
    """

    head: str
    relation: str
    tail: str
    verdict: bool
    probability: Probability
    score: float
    threshold: float | None
    known: Split | None
    label: bool | None = None


class QualityTold(Told):
    """How often verdicts are right, and whether probabilities mean what they say."""

    count: int
    positives: int
    accuracy: float
    f1: float
    precision: float
    recall: float
    calibration_error: float
    bins: list[dict[str, float]]


class ClassifyTold(Of):
    """Verdicts, in the order of the triples; with labels their quality."""

    triples: list[VerdictTold]
    quality: QualityTold | None = None


class VectorTold(Of, EntityFound):
    """An entity's vector."""

    vector: list[float]


class ProblemTold(BaseModel):
    """What went wrong (RFC 9457), in the words of the command line."""

    title: str
    status: int
    detail: str

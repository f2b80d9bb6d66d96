"""Asked: what a request may hold; read by these models, and declared by them."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from hale.evaluation.limits import Limits
from hale.serve.service import MOST

MOST_LETTERS = 2000
IN_ADDRESS = 20  # names in a list


class Asked(BaseModel):
    """What a request may hold, and nothing else; what is in ``several`` more than once."""

    model_config = ConfigDict(extra="forbid")
    several: ClassVar[frozenset[str]] = frozenset()


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


OF_TYPE = Field(description="Only entities of this type; with several, of one or another of them.")
WITHIN = Field(description="Only these entities, by id or label.")


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


class HowAsked(Asked):
    """How queries are answered: how many answers, and who may be one."""

    several: ClassVar[frozenset[str]] = frozenset({"type", "within"})

    k: Count = 10
    known: Known = "mark"
    anything: Annotated[
        bool,
        Field(description="Any entity may answer, not only those seen on that side of a relation."),
    ] = False
    type: Annotated[list[Text] | None, OF_TYPE, Field(max_length=MOST)] = None
    type_relation: Annotated[
        Text | None,
        Field(description="Take as types the tails of this relation, not those of the run."),
    ] = None
    within: Annotated[list[Name] | None, WITHIN, Field(max_length=MOST)] = None

    def limits(self) -> Limits:
        """Who may answer, as ``hale.predict`` is told it; empty where nothing is said of it."""
        found: Limits = {}
        if self.anything:
            found["anything"] = True
        if self.type:
            found["types"] = self.type
        if self.type_relation is not None:
            found["type_relation"] = self.type_relation
        if self.within is not None:
            found["within"] = self.within  # names: a list is never a file
        return found


class PredictAsked(HowAsked, QueryAsked):
    """A query, and how it is answered; an address has room for fewer names than a body."""

    type: Annotated[list[Text] | None, OF_TYPE, Field(max_length=IN_ADDRESS)] = None
    within: Annotated[list[Name] | None, WITHIN, Field(max_length=IN_ADDRESS)] = None


class PredictManyAsked(HowAsked):
    """Queries, and how they are answered."""

    queries: Annotated[list[QueryAsked], Field(max_length=MOST)]


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


class JudgedAsked(TripleAsked):
    """A triple, and whether it is true where that is known."""

    label: Annotated[
        bool | None, Field(description="Whether it is true; given to all triples or to none.")
    ] = None


class ClassifyAsked(Asked):
    """Triples to judge."""

    triples: Annotated[list[JudgedAsked], Field(max_length=MOST)]

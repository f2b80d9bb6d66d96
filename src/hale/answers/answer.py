"""Answer: what a run says to a query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from hale.data.graph import Split
from hale.data.results import Framed


@dataclass(frozen=True)
class Answer:
    """One answer, and the split that holds it if the graph knows the fact already."""

    rank: int
    name: str
    label: str | None
    # Higher is better; -||q - e||^2, at most 0, for models that score by distance, and -c_r of it
    # where relations are asked for.
    score: float
    split: Split | None
    kind: Literal["entity", "relation"] = "entity"
    probability: float | None = None  # None while the run's scores are not calibrated

    @property
    def entity(self) -> str:
        """The answer's name."""
        return self.name

    @property
    def known(self) -> bool:
        """Whether the graph holds the fact, in any split."""
        return self.split is not None

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON; the name stands under 'entity' or 'relation'."""
        label = {"label": self.label} if self.kind == "entity" else {}
        sure = {} if self.probability is None else {"probability": self.probability}
        return {
            "rank": self.rank,
            self.kind: self.name,
            **label,
            "score": self.score,
            **sure,
            "known": self.known,
        }


@dataclass(frozen=True, repr=False)
class Answers(Framed, Sequence[Answer]):
    """The best answers to a query with one empty place, best first."""

    head: str | None
    relation: str | None
    tail: str | None
    answers: tuple[Answer, ...]

    def __len__(self) -> int:
        return len(self.answers)

    def __getitem__(self, place: Any) -> Any:
        return self.answers[place]

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.answers)

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "head": self.head,
            "relation": self.relation,
            "tail": self.tail,
            "answers": [answer.as_dict() for answer in self.answers],
        }

    def to_polars(self) -> pl.DataFrame:
        """A row an answer: head, relation, tail with the answer put in, label, rank, score, ...

        ``probability`` is there where the run is calibrated; ``known`` is a split or null.
        """
        count = len(self)
        asked = {"head": self.head, "relation": self.relation, "tail": self.tail}
        names = [answer.name for answer in self]
        columns: dict[str, Any] = {
            place: pl.Series(names if name is None else [name] * count, dtype=pl.String)
            for place, name in asked.items()
        }
        columns |= {
            "label": pl.Series([answer.label for answer in self], dtype=pl.String),
            "rank": pl.Series([answer.rank for answer in self], dtype=pl.Int32),
            "score": pl.Series([answer.score for answer in self], dtype=pl.Float32),
        }
        if any(answer.probability is not None for answer in self):
            sure = [answer.probability for answer in self]
            columns["probability"] = pl.Series(sure, dtype=pl.Float64)
        columns["known"] = pl.Series([answer.split for answer in self], dtype=pl.String)
        return pl.DataFrame(columns)

    def __repr__(self) -> str:
        query = " ".join(name or "?" for name in (self.head, self.relation, self.tail))
        best = ", ".join(answer.name for answer in self.answers[:3])
        more = ", ..." if len(self) > 3 else ""
        return f"Answers({query}: {best or 'none'}{more}; {len(self)} in all)"

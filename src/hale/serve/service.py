"""Service: the questions that one loaded run answers, each as a dict ready for JSON.

A dict is what the command of the same name prints with ``--json``. Methods are called from
several threads at once; none changes the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack, get_args

import numpy as np

from hale.answers.discovery import discover
from hale.answers.explanation import why
from hale.answers.neighborhood import neighbors
from hale.answers.predictor import Known, predict, predict_many
from hale.data.graph import SPLITS
from hale.data.sources.labelled import triples_of
from hale.errors import InputError
from hale.evaluation.calibration import calibration_of
from hale.evaluation.classification import classify
from hale.evaluation.limits import Limits
from hale.evaluation.reliability import Quality
from hale.runs.run import Run
from hale.serve.finder import Finder

# Answers, facts, neighbours, queries or triples of one question.
MOST = 1000
JUDGED = 256  # triples that are judged at once

Json = dict[str, Any]
Check = Callable[[], object]  # raises where the question is to be given up
Asked = tuple[str | None, str | None, str | None]  # head, relation, tail; None is what is asked


def go_on() -> None:
    """The check of a question that nobody gives up."""


class Service:
    """What a run says, for REST, pages and agents alike.

    ``k`` is at most ``most``. A ``check`` is called between the parts of what takes long, and
    raises to end it.
    """

    def __init__(self, run: Run, *, most: int = MOST) -> None:
        self.run, self.most = run, most
        self.graph = run.graph
        self.finder = Finder(run.graph)
        self.name = str(run.path) if run.path is not None else run.graph.name

    def prepared(self) -> Service:
        """Itself, with what the first question would wait for: indexes of names and facts."""
        _ = self.graph.known_answers, self.graph.split_index
        _ = [self.graph.bearers(name) for name in (self.graph.entities[0], "")]
        return self

    def run_info(self) -> Json:
        """As ``hale show --json``."""
        return {"run": self.name, **self.run.as_dict()}

    def relations(self) -> Json:
        """The relations and how many facts each has in all splits."""
        counts = np.bincount(self.graph.triples[:, 1], minlength=len(self.graph.relations))
        rows = zip(self.graph.relations.names, counts.tolist(), strict=True)
        return {
            "run": self.name,
            "relations": [{"relation": name, "facts": count} for name, count in rows],
        }

    def search(self, text: str, *, k: int = 20) -> Json:
        """The entities that ``text`` may mean, the likeliest first."""
        self._bounded(k, "entities")
        found = [self.graph.entities[number] for number in self.finder.find(text, k)]
        rows = [{"entity": name, "label": self.graph.label(name)} for name in found]
        return {"run": self.name, "q": text, "entities": rows}

    def entity(self, name: str, *, k: int = 100) -> Json:
        """An entity and the facts that the graph holds of it, at most ``k`` of ``num_facts``.

        By relation; of each relation first the facts whose head it is.
        """
        self._bounded(k, "facts")
        graph, number = self.graph, self.graph.entity_id(name)
        num_relations = len(graph.relations)
        asked = np.arange(2 * num_relations).reshape(2, -1).T.ravel()  # r, r + R, r + 1, ...
        rows, others = graph.known_answers.of(np.full(len(asked), number), asked)
        back = asked[rows] >= num_relations
        once = ~(back & (others == number))  # a loop is found both ways
        rows, others, back = rows[once], others[once], back[once]
        total, rows, others, back = len(rows), rows[:k], others[:k], back[:k]
        triples = np.stack(
            [
                np.where(back, others, number),
                asked[rows] % num_relations,
                np.where(back, number, others),
            ],
            axis=1,
        )
        codes = graph.split_index.codes(triples)
        return {
            "run": self.name,
            **self._named("entity", number),
            "num_facts": total,
            "facts": [
                {
                    **self._named("head", head),
                    "relation": graph.relations[relation],
                    **self._named("tail", tail),
                    "split": SPLITS[code],
                }
                for (head, relation, tail), code in zip(
                    triples.tolist(), codes.tolist(), strict=True
                )
            ],
        }

    def predict(
        self,
        *,
        head: str | None = None,
        relation: str | None = None,
        tail: str | None = None,
        k: int = 10,
        known: str = "mark",
        above: float | None = None,
        **limits: Unpack[Limits],
    ) -> Json:
        """As ``hale predict --json``."""
        self._bounded(k, "answers")
        asked: Any = {"head": head, "relation": relation, "tail": tail, "known": known}
        found = predict(self.run, k=k, above=above, **asked, **limits)
        return {"run": self.name, **found.as_dict()}

    def predict_many(
        self,
        queries: Sequence[Asked],
        *,
        k: int = 10,
        known: str = "mark",
        above: float | None = None,
        check: Check = go_on,
        **limits: Unpack[Limits],
    ) -> Json:
        """As ``hale predict --queries FILE --json``."""
        self._bounded(k, "answers")
        self._bounded(len(queries), "queries", least=0)
        told = []
        how: Any = {"k": k, "known": known, "above": above}
        for found in predict_many(self.run, queries, **how, **limits):
            check()
            told.append(found.as_dict())
        return {"run": self.name, "queries": told}

    def can_answer(self, query: Asked, *, k: int, known: str) -> bool:
        """Whether ``predict`` would have nothing to refuse; told fast, without why."""
        head, relation, tail = query
        return (
            sum(name is None for name in query) == 1
            and 1 <= k <= self.most
            and known in get_args(Known)
            and (relation is None or relation in self.graph.relations)
            and all(len(self.graph.bearers(name)) == 1 for name in (head, tail) if name is not None)
        )

    def discover(self, relation: str | None = None, *, k: int = 100, check: Check = go_on) -> Json:
        """As ``hale discover --json``, of one relation or of all."""
        self._bounded(k, "facts")
        asked = None if relation is None else [relation]
        facts = discover(self.run, asked, k=k, progress=lambda _done, _total: check())
        return {"run": self.name, "facts": [fact.as_dict() for fact in facts]}

    def neighbors(self, name: str, *, k: int = 10, metric: str = "l2") -> Json:
        """As ``hale neighbors --json``."""
        self._bounded(k, "neighbours")
        found = neighbors(self.run, name, k=k, metric=metric)  # type: ignore[arg-type]
        return {
            "run": self.name,
            "entity": self.graph.entities[self.graph.entity_id(name)],
            "metric": metric,
            "neighbors": [neighbor.as_dict() for neighbor in found],
        }

    def why(self, head: str, relation: str, tail: str, *, k: int = 5) -> Json:
        """As ``hale why --json``."""
        self._bounded(k, "supporting facts")
        return {"run": self.name, **why(self.run, head, relation, tail, k=k).as_dict()}

    def classify(
        self,
        triples: Sequence[tuple[str, str, str]],
        *,
        labels: Sequence[bool] | None = None,
        check: Check = go_on,
    ) -> Json:
        """As ``hale classify --json``; ``labels`` say which of the triples are true."""
        self._bounded(len(triples), "triples", least=0)
        calibration, ids = calibration_of(self.run), triples_of(triples, self.graph)
        judged = []
        for start in range(0, len(ids), JUDGED):
            check()
            part = ids[start : start + JUDGED]
            judged.append(classify(self.run, part, calibration=calibration))
        told: Json = {
            "run": self.name,
            "triples": [row for one in judged for row in one.as_dicts()],
        }
        if labels is not None:
            for row, label in zip(told["triples"], labels, strict=True):
                row["label"] = label
            true = np.concatenate([one.true for one in judged])
            sure = np.concatenate([one.probabilities for one in judged])
            told["quality"] = Quality.of(np.array(labels, dtype=bool), true, sure).as_dict()
        return told

    def vectors(self, name: str) -> Json:
        """An entity's vector, as ``hale export`` writes it."""
        number = self.graph.entity_id(name)
        vector = self.run.model.entities()[number].detach().float().cpu()
        return {"run": self.name, **self._named("entity", number), "vector": vector.tolist()}

    def _named(self, place: str, number: int) -> Json:
        """An entity's name and label, as answers have them."""
        name = self.graph.entities[number]
        return {
            place: name,
            "label" if place == "entity" else f"{place}_label": self.graph.label(name),
        }

    def _bounded(self, count: int, what: str, *, least: int = 1) -> None:
        """Refuse more than is answered at a time; what is too little the answers refuse."""
        if count > self.most:
            raise InputError(
                f"At most {self.most:,} {what} at a time, got {count:,}. Ask in parts, or use the "
                "command line."
            )
        if count < least:
            raise InputError(f"The number of {what} is at least {least}, got {count}.")

"""A second opinion: path rules of train beside a run's vectors, where validation agrees.

    score'(h, r, t) = score(h, r, t) + w ln(1 + 100 c(h, r, t))

c is the confidence of the best rule that leads from h to t (``PathRules``), 0 where none does. The
weight w, one for the run, is the one of a few that ranks its validation triples best; 0 if none
does better than the vectors alone. If it is the largest of them, larger ones are tried.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hale.data.graph import Graph
from hale.data.keys import Ids
from hale.data.path_rules import Evidence, PathRules, mine
from hale.errors import HaleWarning, InputError, RunError
from hale.evaluation.cardinality_rule import rule_of
from hale.evaluation.ranks import filtered_ranks
from hale.models import Model
from hale.models.tables import Table
from hale.runs.file_names import PATHS
from hale.runs.folder import RunFolder
from hale.runs.lock import writing_run
from hale.runs.run import Run, RunSource, open_run

VERSION = 1
WEIGHTS = (0.0, 0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
MOST = 64.0  # to which the largest is doubled while it is the best
SAMPLE = 1000  # validation triples that choose among them
SURE = 100.0  # a confidence of 1 / SURE counts for ln 2
HELD = 1 << 22  # answers that rules speak for, held for the next span or question

Held = dict[tuple[int, int], tuple[Tensor, Tensor]]  # by head and relation


class Advised(Model):
    """A model whose scores, of triples and of all entities, know of path rules.

    Its vectors, tables and weights are the model's own, and so is what is saved of it. It is not
    trained.
    """

    name = "advised"

    def __init__(self, model: Model, rules: PathRules, weight: float) -> None:
        nn.Module.__init__(self)
        self.inner, self.rules, self.weight = model, rules, weight
        self.size, self.dim, self.similarity = model.size, model.dim, model.similarity
        self.heights, self.head_bias, self.tail_bias = (
            model.heights,
            model.head_bias,
            model.tail_bias,
        )
        self.may_loop = model.may_loop
        self._held: Held = {}

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The model's own weights: rules are kept beside them."""
        return self.inner.state_dict(*args, **kwargs)

    def named_modules(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, nn.Module]]:
        """The model's own tables, by their own names."""
        found: Iterator[tuple[str, nn.Module]] = self.inner.named_modules(*args, **kwargs)
        return found

    @property
    def entity(self) -> Table:  # type: ignore[override]
        """The model's own table."""
        return self.inner.entity

    def entities(self) -> Tensor:
        """The model's own vectors."""
        return self.inner.entities()

    def places(self) -> Tensor:
        """The model's own."""
        return self.inner.places()

    def scale(self, relation: Tensor) -> Tensor:
        """The model's own."""
        return self.inner.scale(relation)

    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """The model's own."""
        return self.inner.transform(vectors, relation)

    def query(self, head: Tensor, relation: Tensor) -> Tensor:
        """The model's own."""
        return self.inner.query(head, relation)

    def score(self, head: Tensor, relation: Tensor, tail: Tensor) -> Tensor:
        """Scores of triples: (B,), (B,), (B,) -> (B,)."""
        scores = self.inner.score(head, relation, tail)
        rows, entities, gain = self._gains(head, relation)
        hit = entities == tail[rows]
        return scores.index_add(0, rows[hit], gain[hit].to(scores.dtype))

    def score_all(
        self, head: Tensor, relation: Tensor, first: int = 0, last: int | None = None
    ) -> Tensor:
        """Scores of all entities, or of those from first to before last: (B,), (B,) -> (B, N)."""
        scores = self.inner.score_all(head, relation, first, last)
        rows, entities, gain = self._gains(head, relation)
        inside = (entities >= first) & (entities < first + scores.shape[1])
        at = rows[inside], entities[inside] - first
        return scores.index_put_(at, gain[inside].to(scores.dtype), accumulate=True)

    def _gains(self, head: Tensor, relation: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What rules add to answers of queries (B,), (B,): rows, entities and w ln(1 + 100 c)."""
        pairs = list(zip(head.tolist(), relation.tolist(), strict=True))
        held = {pair: self._held[pair] for pair in pairs if pair in self._held}
        missing = [pair for pair in dict.fromkeys(pairs) if pair not in held]
        if missing:
            asked = np.array(missing, dtype=np.int64)
            held |= _by_query(missing, self.rules.evidence(asked[:, 0], asked[:, 1]))
            # for the next span of the same queries; another thread may have others
            self._held = held if sum(len(ends) for ends, _ in held.values()) < HELD else {}
        found = [held[pair] for pair in pairs]
        sizes = torch.tensor([len(entities) for entities, _ in found])
        rows = torch.repeat_interleave(torch.arange(len(pairs)), sizes)
        entities = torch.cat([entities for entities, _ in found])
        gain = self.weight * torch.cat([gain for _, gain in found])
        return rows.to(head.device), entities.to(head.device), gain.to(head.device)


def _by_query(queries: list[tuple[int, int]], evidence: Evidence) -> Held:
    """What is said for answers to each query: entities and ln(1 + 100 c)."""
    bounds = np.searchsorted(evidence.rows, np.arange(len(queries) + 1)).tolist()
    entities = torch.from_numpy(evidence.entities)
    gain = torch.from_numpy(np.log1p(SURE * evidence.confidence))
    parts = [slice(*pair) for pair in pairwise(bounds)]
    return {query: (entities[part], gain[part]) for query, part in zip(queries, parts, strict=True)}


def with_paths(run: RunSource, *, seed: int = 0, keep: bool = True) -> Run:
    """The run with a second opinion by path rules: a run in memory that is asked like any other.

    Rules are mined from train, and the weight is chosen on validation triples (at most 1,000,
    drawn by ``seed``); both are kept in the run's folder, in paths.json, for the next time with
    that seed, unless ``keep`` leaves that to ``keep_paths``. Probabilities are of the vectors'
    scores, so the run has none; saved or updated, it is the run that it was.
    """
    run = open_run(run)
    if isinstance(run.model, Advised):
        return run
    if run.model.entity.group.size > 1:
        raise InputError("Path rules look at all entities in one process: ask without --ranks.")
    rules, weight = _kept(run, seed) or _made(run, seed)
    model = Advised(run.model, rules, weight)
    if keep:
        keep_paths(run, model, seed=seed)
    return replace(run, model=model, path=None, metrics={}, held={}, write_state=None)


def keep_paths(run: Run, model: Model, *, seed: int = 0) -> None:
    """Keep the rules and the weight of a model ``with_paths`` in its run's folder, once."""
    if run.path is None or not isinstance(model, Advised) or _kept(run, seed) is not None:
        return
    values = {
        "version": VERSION,
        "step": run.summary.kept_step,
        "seed": seed,
        "weight": model.weight,
        **model.rules.as_dict(),
    }
    try:
        with writing_run(run.path):
            RunFolder(run.path).check_stamp(run.stamp)
            RunFolder(run.path).write_json(PATHS, values)
    except RunError as error:  # a shared run that only others may write to
        warnings.warn(f"path rules are not kept with the run: {error}", HaleWarning, 2)


def weight_of(run: Run) -> float:
    """The weight that rules have in a run's scores."""
    return run.model.weight if isinstance(run.model, Advised) else 0.0


def _made(run: Run, seed: int) -> tuple[PathRules, float]:
    if not len(run.graph.valid):
        raise InputError(
            f"The graph {run.graph.name!r} has no valid triples to weigh path rules on; train on a "
            "folder with a valid split, or on a single file with a held-out share."
        )
    rules = mine(run.graph, seed=seed)
    weight = choose_weight(run, rules, seed=seed)
    return rules, weight


def _kept(run: Run, seed: int) -> tuple[PathRules, float] | None:
    """What the folder keeps of these weights and this seed, if it does."""
    if run.path is None or not RunFolder(run.path).has(PATHS):
        return None
    folder = RunFolder(run.path)
    with folder.blaming(PATHS):
        values: dict[str, Any] = folder.read_json(PATHS)
        of = values["version"], values["step"], values["seed"]
        if of != (VERSION, run.summary.kept_step, seed):
            return None  # of other weights, draws, or another hale
        return PathRules.of_dict(run.graph, values), float(values["weight"])


def choose_weight(run: Run, rules: PathRules, *, seed: int = 0) -> float:
    """The weight that ranks the run's validation triples best, the least of equals."""
    queries = run.graph.both_directions(_sample(run.graph, seed))
    advised = Advised(run.model, rules, 0.0)
    rule = rule_of(replace(run, model=advised))

    def quality(weight: float) -> tuple[float, float]:
        advised.weight = weight
        ranks = filtered_ranks(advised, queries, run.graph.known_answers, rule=rule)
        return float((1 / ranks).mean()), -weight

    best, largest = max(WEIGHTS, key=quality), WEIGHTS[-1]
    while best == largest < MOST:
        largest *= 2
        best = max(best, largest, key=quality)
    return best


def _sample(graph: Graph, seed: int) -> Ids:
    """Validation triples, drawn evenly where there are many: (n, 3)."""
    count = len(graph.valid)
    if count <= SAMPLE:
        return graph.valid
    places = np.random.default_rng(seed).choice(count, SAMPLE, replace=False)
    return graph.valid[np.sort(places)]

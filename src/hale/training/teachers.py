"""Teachers: runs whose answers a new run learns from, as soft labels that it keeps.

Their best answers to some queries are computed before training begins, block by block, and kept in
the run's folder: a run that goes on needs them no more, and learns from the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from hale.data.graph import Graph
from hale.data.keys import Ids
from hale.engine.device import choose_device
from hale.engine.topk import top
from hale.errors import InputError, RunError
from hale.evaluation.spans import chunk_size
from hale.models.base import LAST
from hale.objectives import Criterion, DistilE, MulDE
from hale.objectives.scoring import scoring_of
from hale.objectives.soft_labels import SoftLabels
from hale.runs.file_names import LESSONS, MODEL, TEACHERS
from hale.runs.folder import RunFolder
from hale.runs.header import checksum
from hale.runs.run import Run, load_run
from hale.runs.systems import build_objective
from hale.settings import Settings
from hale.training.needs import check_fits

SCALES = torch.linspace(0.05, 1.0, 20)  # that a relation may have
FIRST_SCALE = 1 / (1 + float(np.exp(-1)))  # where MulDE starts, for relations without a fact


class Teacher(NamedTuple):
    """A run and its names as those of another graph: ids there, -1 for what it lacks."""

    run: Run
    entities: Ids  # (N,) its ids of the student's entities
    relations: Ids  # (2R,) likewise of relations, both directions
    students: Ids  # (N_teacher,) the student's ids of its entities


class Lesson(NamedTuple):
    """What a run is taught: its objective, the labels, and who gave them."""

    objective: Criterion
    labels: SoftLabels
    about: list[dict[str, Any]]

    def keep(self, folder: RunFolder) -> None:
        """Write labels and teachers into a run's folder."""
        folder.write_json(TEACHERS, self.about)
        folder.write_tensors(LESSONS, self.labels.__dict__, {})


def lesson_for(settings: Settings, graph: Graph, folder: RunFolder | None = None) -> Lesson | None:
    """What the settings' teachers teach of a graph; None without teachers.

    A ``folder`` that has labels already is where they come from. One that has lost them is filled
    again from teachers that are what they were.
    """
    if not settings.teacher:
        return None
    if folder is not None and folder.has(LESSONS):
        tensors, _ = folder.read_tensors(LESSONS)
        with folder.blaming(LESSONS):
            labels = SoftLabels(**tensors)
        return Lesson(taught(settings, graph, labels), labels, folder.read_json(TEACHERS))
    about = [_told(path) for path in settings.teacher]
    if folder is not None and folder.has(TEACHERS) and folder.read_json(TEACHERS) != about:
        raise RunError(
            f"The run {folder.path} lacks {LESSONS}, and its teachers are not what they were "
            f"({TEACHERS} has their checksums). Put the file back, or start another run."
        )
    check_fits(settings, graph.size, len(graph.train))  # before they are asked
    teachers = [known_by_name(load_run(path, device="cpu"), graph) for path in settings.teacher]
    labels = soft_labels(settings, graph, teachers)
    return Lesson(taught(settings, graph, labels), labels, about)


def taught(settings: Settings, graph: Graph, labels: SoftLabels) -> Criterion:
    """The settings' objective with what the labels add."""
    objective = build_objective(settings)
    labels = labels.to(choose_device(settings.device))
    scoring = scoring_of(settings, graph.known("train"))
    if (settings.distillation or ("distile", "mulde")[len(settings.teacher) > 1]) == "distile":
        return DistilE(objective, labels, scoring, weight=settings.teacher_weight)
    return MulDE(
        objective,
        labels,
        scoring,
        weight=settings.teacher_weight,
        temperature=settings.teacher_temperature,
    )


def known_by_name(run: Run, graph: Graph) -> Teacher:
    """A run as a teacher of a graph: its names are looked up, so its ids may be others."""
    own = run.graph
    entities = own.entities.ids(graph.entities.names)
    relations = own.relations.ids(graph.relations.names)
    if not (entities >= 0).any() or not (relations >= 0).any():
        raise InputError(
            f"The teacher {run.path or own.name!r} was trained on {own.name!r}, which has no "
            f"entity or no relation of {graph.name!r}: names tell what is the same. Give a run on "
            "this graph."
        )
    turned = np.where(relations < 0, -1, relations + len(own.relations))
    students = graph.entities.ids(own.entities.names)
    return Teacher(run, entities, np.concatenate([relations, turned]), students)


def soft_labels(settings: Settings, graph: Graph, teachers: Sequence[Teacher]) -> SoftLabels:
    """The teachers' scores of their best answers to some queries.

    Of each teacher the K best are taken, and of all those the K that the teachers together find
    most likely. A candidate that a teacher does not know has the lowest score it gave.
    """
    queries = asked(settings, graph, teachers)
    found = []
    for part in torch.split(queries, chunk_size(max(len(one.students) for one in teachers))):
        candidates, repeated = _candidates(part, teachers, settings.teacher_top)
        scores = torch.stack([_scores(one, part, candidates) for one in teachers], dim=2)
        likely = scores.masked_fill(repeated.unsqueeze(2), -torch.inf).softmax(dim=1).mean(dim=2)
        best = likely.topk(min(settings.teacher_top, likely.shape[1])).indices
        wide = best.unsqueeze(2).expand(-1, -1, len(teachers))
        found.append((candidates.gather(1, best), scores.gather(1, wide)))
    candidates, scores = (torch.cat(parts) for parts in zip(*found, strict=True))
    scales = relation_scales(graph, queries, candidates, scores)
    return SoftLabels(queries, candidates, scores, scales)


def asked(settings: Settings, graph: Graph, teachers: Sequence[Teacher]) -> Tensor:
    """The queries (P, 2) that get labels: some of train's, and some that train does not have.

    Those come by relation as often as its facts do, with heads that have no fact of it. What a
    teacher does not know is not asked.
    """
    draws = np.random.default_rng(settings.seed)
    both = graph.both_directions(graph.train)
    heads = [np.flatnonzero(one.entities >= 0) for one in teachers]
    able = np.isin(np.arange(len(graph.entities)), heads[0])
    for more in heads[1:]:
        able[np.setdiff1d(np.arange(len(able)), more)] = False
    ready = np.all([one.relations >= 0 for one in teachers], axis=0)
    present = np.unique(both[:, :2], axis=0)
    absent_count = round(settings.teacher_absent * settings.teacher_queries)
    usable = present[able[present[:, 0]] & ready[present[:, 1]]]
    some = draws.permutation(len(usable))[: settings.teacher_queries - absent_count]
    parts = [usable[np.sort(some)]]
    counts = np.bincount(both[:, 1], minlength=2 * len(graph.relations))
    for relation in np.flatnonzero(ready & (counts > 0)).tolist():
        without = able.copy()
        without[present[present[:, 1] == relation, 0]] = False
        free = np.flatnonzero(without)
        count = round(absent_count * counts[relation] / len(both))
        chosen = np.sort(draws.permutation(free)[:count])
        parts.append(np.stack([chosen, np.full(len(chosen), relation)], axis=1))
    queries = np.concatenate(parts)
    if not len(queries):
        raise InputError("The teachers know no entity and relation of the same query.")
    return torch.from_numpy(queries)


def _candidates(queries: Tensor, teachers: Sequence[Teacher], count: int) -> tuple[Tensor, Tensor]:
    """The best answers of each teacher, by the student's ids (b, K T), and which are repeats."""
    columns = []
    for one in teachers:
        head, relation = _own(one, queries)
        with torch.no_grad():
            scores = one.run.model.score_all(head, relation)
        scores[:, torch.from_numpy(one.students < 0)] = -torch.inf
        best = top(scores, min(count, int((one.students >= 0).sum())))[1]
        columns.append(torch.from_numpy(one.students)[best])
    candidates = torch.cat(columns, dim=1).sort(dim=1).values
    repeated = torch.zeros_like(candidates, dtype=torch.bool)
    repeated[:, 1:] = candidates[:, 1:] == candidates[:, :-1]
    return candidates, repeated


@torch.no_grad()
def _scores(one: Teacher, queries: Tensor, candidates: Tensor) -> Tensor:
    """A teacher's scores of candidates (b, K), as it was trained to give them."""
    head, relation = _own(one, queries)
    model, known = one.run.model, one.run.graph.known("train")
    theirs = torch.from_numpy(one.entities)[candidates]
    scoring = scoring_of(one.run.settings, known)
    scores = scoring.candidates(model, head, relation, theirs.clamp_min(0)).float()
    out = theirs < 0
    barred = model.ruled_out(relation)
    if barred is not None:
        out |= barred.unsqueeze(1) & (theirs == head.unsqueeze(1))
    lowest = scores.masked_fill(out, -LAST).amin(dim=1, keepdim=True)
    lowest = torch.where(lowest > -LAST / 2, torch.zeros_like(lowest), lowest)
    return torch.where(out, lowest, scores)


def _own(one: Teacher, queries: Tensor) -> tuple[Tensor, Tensor]:
    heads, relations = queries.unbind(dim=1)
    return torch.from_numpy(one.entities)[heads], torch.from_numpy(one.relations)[relations]


def relation_scales(graph: Graph, queries: Tensor, candidates: Tensor, scores: Tensor) -> Tensor:
    """For each relation and teacher the factor under which training facts are likeliest: (2R, T).

    Likelihood is that of a softmax over a query's candidates, for the answers in train among them.
    """
    known = graph.known("train")
    rows, answers = known.of(queries[:, 0].numpy(), queries[:, 1].numpy())
    width = len(graph.entities)
    keys = (torch.arange(len(queries)).unsqueeze(1) * width + candidates).numpy()
    true = torch.from_numpy(np.isin(keys, rows * width + answers))  # (P, K)
    count = 2 * len(graph.relations)
    scales = torch.full((count, scores.shape[2]), FIRST_SCALE)
    has = true.any(dim=1)
    relations, true = queries[has, 1], true[has]
    for teacher in range(scores.shape[2]):
        own, sums = scores[has, :, teacher], []
        for scale in SCALES:
            likely = (scale * own).log_softmax(dim=1)
            each = (likely * true).sum(dim=1) / true.sum(dim=1)
            sums.append(torch.zeros(count).index_add_(0, relations, each))
        best = SCALES[torch.stack(sums).argmax(dim=0)]
        seen = torch.bincount(relations, minlength=count) > 0
        scales[seen, teacher] = best[seen]
    return scales


def _told(path: str) -> dict[str, Any]:
    """A teacher by its folder, settings and the checksum of its weights."""
    settings = RunFolder(path).read_settings()
    return {
        "run": str(path),
        "model": settings.model,
        "dim": settings.dim,
        "strategy": settings.strategy,
        "weights": checksum(Path(path) / MODEL),
    }

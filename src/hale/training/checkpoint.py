"""The state of a run in the making: saved, and resumed from where it was saved exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from torch import Tensor

from hale.data.graph import SPLITS, Graph, Weights
from hale.engine.lag import BETAS
from hale.errors import RunError
from hale.models import Model
from hale.runs.file_names import CHECKPOINT, HISTORY, MODEL, ORIGIN, RANKS
from hale.runs.folder import RunFolder
from hale.runs.run import Record
from hale.settings import Settings
from hale.training.extension import MAY_CHANGE, extended
from hale.training.optimizers import DUE, LAST, Optimizer
from hale.training.stopping import Clock


@dataclass
class State:
    """What a run knows of itself beside its weights."""

    clock: Clock = field(default_factory=Clock)
    losses: dict[str, float] = field(default_factory=dict)  # of the last step
    history: list[Record] = field(default_factory=list)
    kept_step: int = 0

    @classmethod
    def of(cls, about: Mapping[str, Any]) -> State:
        """As ``asdict`` told it."""
        return cls(
            clock=Clock(**about["clock"]),
            losses=about["losses"],
            history=[Record(**record) for record in about["history"]],
            kept_step=about["kept_step"],
        )

    @property
    def kept(self) -> Record | None:
        """The validation of the state that is kept."""
        return next((record for record in self.history if record.step == self.kept_step), None)


def save(
    folder: RunFolder, state: State, model: Model, optimizer: Optimizer, *, kept: bool = True
) -> None:
    """Write the checkpoint, then the model if the state at hand is the one to keep.

    Not if the folder has it already (``kept=False``).

    In this order a kill between the two costs nothing: the checkpoint then holds
    the weights that the model file lacks, and ``resume`` writes them.
    """
    weights = model.state_dict()
    tensors = {f"model/{name}": value for name, value in weights.items()}
    tensors |= {f"optimizer/{name}": v for name, v in optimizer.state().items()}
    folder.write_tensors(CHECKPOINT, tensors, asdict(state))
    if kept and state.kept_step == state.clock.step:
        folder.write_tensors(MODEL, optimizer.settled(weights), {"step": state.kept_step})
    folder.write_lines(HISTORY, [asdict(record) for record in state.history])


def resume(folder: RunFolder, model: Model, optimizer: Optimizer) -> State:
    """Put model and optimiser back as they were -> the state; what is kept stays in the folder.

    Without a checkpoint (a kill before the first save) the run begins anew.
    """
    if folder.has(ORIGIN):
        raise RunError(
            f"The run {folder.path} is an update of another run, and an update is not resumed. "
            "Use it as it is, update it again, or train on its graph anew."
        )
    if (folder.path / RANKS).is_dir():
        raise RunError(
            f"The run {folder.path} was trained on ranks, and is resumed on them: add --ranks 1, "
            "or as many as you like."
        )
    _, about_kept = folder.read_tensors(MODEL)
    if not folder.has(CHECKPOINT):
        if about_kept.get("step") or folder.has(HISTORY):
            raise RunError(
                f"The run {folder.path} cannot be resumed: {CHECKPOINT} is missing. "
                "Its model can still be used; to train again, choose another folder."
            )
        return State()
    tensors, about = folder.read_tensors(CHECKPOINT)
    with folder.blaming(CHECKPOINT, "does not fit"):
        state = State.of(about)
        model.load_state_dict(section(tensors, "model/"))
        optimizer.restore(section(tensors, "optimizer/"))
    if state.kept_step == state.clock.step:  # a kill may have come before the model was written
        weights = optimizer.settled(model.state_dict())
        folder.write_tensors(MODEL, weights, {"step": state.kept_step})
    elif about_kept.get("step") != state.kept_step:
        raise RunError(
            f"The run {folder.path} is damaged: {MODEL} is of step {about_kept.get('step')}, "
            f"but {CHECKPOINT} keeps step {state.kept_step}."
        )
    folder.write_lines(HISTORY, [asdict(record) for record in state.history])
    return state


def kept(folder: RunFolder) -> dict[str, Tensor]:
    """The weights that a run keeps."""
    return folder.read_tensors(MODEL)[0]


def last(folder: RunFolder) -> dict[str, Tensor]:
    """The weights of a run's checkpoint, its last state."""
    return section(folder.read_tensors(CHECKPOINT)[0], "model/")


def publish(folder: RunFolder) -> None:
    """The model's file has the weights that are kept whenever they are saved."""
    assert folder.has(MODEL)


def moments(folder: RunFolder) -> dict[str, Tensor]:
    """The optimiser's state of a run, named 'parameter/field'; none without a checkpoint."""
    if not folder.has(CHECKPOINT):
        return {}
    kept = section(folder.read_tensors(CHECKPOINT)[0], "optimizer/")
    found = {key: value for key, value in kept.items() if key.split("/")[-1] not in (LAST, DUE)}
    # Of a run that was stopped some rows are behind: they fade as if it had come to them, for
    # whoever goes on from here counts steps anew.
    for key, last in kept.items():
        name, _, field_name = key.rpartition("/")
        if field_name == LAST:
            missed = len(kept[f"{name}/{DUE}"]) - 1 - last.long()
            for moment, beta in zip(("exp_avg", "exp_avg_sq"), BETAS, strict=True):
                table = found[f"{name}/{moment}"]
                found[f"{name}/{moment}"] = table * (beta ** missed[:, None]).to(table)
    return found


def agreed(
    folder: RunFolder, graph: Graph | None, values: Mapping[str, object]
) -> tuple[Graph, Settings]:
    """The graph and settings of a stored run, if what is given beside it agrees with them.

    The limits may be others (``extension``): the settings returned have those.
    """
    stored, known = folder.read_settings(), folder.read_graph()
    before, asked = stored.model_dump(), extended(stored, values)
    differing = [
        f"{name} is {before[name]!r}, not {value!r}"
        for name, value in asked.model_dump().items()
        if value != before[name] and name not in MAY_CHANGE
    ]
    if differing:
        raise RunError(
            f"The run {folder.path} was begun with other settings: {'; '.join(differing)}. "
            f"Only {', '.join(MAY_CHANGE)} may change; or start another run in another folder."
        )
    if graph is not None and not _same(known, graph):
        raise RunError(
            f"The run {folder.path} was begun on another graph ({known.name!r}, or its files "
            "have changed). Start another run in another folder."
        )
    return known, asked


def _same(one: Graph, other: Graph) -> bool:
    return (
        one.entities.names == other.entities.names
        and one.relations.names == other.relations.names
        and all(np.array_equal(one.split(split), other.split(split)) for split in SPLITS)
        and np.array_equal(weights_of(one), weights_of(other))
    )


def weights_of(graph: Graph) -> Weights:
    """The weights of training triples, none where all weigh alike."""
    return np.empty(0, dtype=np.float32) if graph.weights is None else graph.weights


def section(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors whose names begin so, without that beginning."""
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }

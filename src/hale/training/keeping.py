"""Keeping: where the state of a run that validation kept lives, and when a run is saved.

A run in memory holds a copy of the weights that are kept. A run in a folder has them on disk, in
model.safetensors, and holds no second copy: a state can be kept only where it is saved.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Protocol

import torch
from torch import Tensor

from hale.models import Model
from hale.runs.folder import RunFolder
from hale.training import checkpoint
from hale.training.checkpoint import State
from hale.training.optimizers import Optimizer

# A run is saved after a validation, and in between when this much time has passed, as far as the
# share of the time goes that saving may take. Saves shorter than a moment are always made, and
# without a budget, where nothing may depend on the clock, so are all after a validation.
SAVE_SECONDS = 60.0
SHARE = 0.1
MOMENT = 1.0


class Store(Protocol):
    """How the state of a run reaches its folder and comes back; training.checkpoint is one."""

    def save(
        self,
        folder: RunFolder,
        state: State,
        model: Model,
        optimizer: Optimizer,
        *,
        kept: bool = True,
    ) -> None:
        """Write the state and, unless the folder has it, what is kept."""

    def resume(self, folder: RunFolder, model: Model, optimizer: Optimizer) -> State:
        """Put both back as they were."""

    def kept(self, folder: RunFolder) -> Mapping[str, Tensor]:
        """The weights that are kept."""

    def last(self, folder: RunFolder) -> Mapping[str, Tensor]:
        """Those that were saved last."""

    def publish(self, folder: RunFolder) -> None:
        """Let the model's file of a folder have the weights that are kept."""


class Keeper:
    """Keeps and saves the state of a model and its optimiser.

    Without ``copies`` a run in memory keeps its last state, which the model has; ``clocked`` if
    the run has a budget.
    """

    def __init__(
        self,
        model: Model,
        optimizer: Optimizer,
        *,
        copies: bool = True,
        clocked: bool = True,
        store: Store = checkpoint,
    ) -> None:
        self.store = store
        self.model = model
        self.optimizer = optimizer
        self.copies = copies
        self.clocked = clocked
        self.folder: RunFolder | None = None
        self.weights: dict[str, Tensor] = {}  # that are kept, of a run in memory
        self.making = 0.0  # seconds of making the folder
        self.spent = 0.0  # seconds of saving
        self.longest = 0.0  # of a save so far; before the first, a guess
        self.began = self.saved = time.monotonic()

    def begin(self, folder: RunFolder, seconds: float) -> None:
        """Let the state live in a folder, where the weights were written in so many seconds.

        A checkpoint has the optimiser's tables beside them: as many again, a few times.
        """
        self.folder = folder
        self.making = seconds
        self.longest = (2 + len(self.optimizer.fields)) * seconds

    def resume(self, folder: RunFolder) -> State:
        """Go on with what a folder has."""
        self.folder = folder
        return self.store.resume(folder, self.model, self.optimizer)

    @property
    def affordable(self) -> bool:
        """Whether another save keeps within its share of the time since the run began."""
        if self.folder is None or not self.clocked or self.longest < MOMENT:
            return True
        return self.spent + self.longest <= SHARE * (time.monotonic() - self.began)

    @property
    def is_due(self) -> bool:
        """Whether it is time for a save between two validations."""
        return time.monotonic() - self.saved > SAVE_SECONDS and self.affordable

    def keep(self, state: State) -> None:
        """The state at hand is the one to keep; in a folder it is once it is saved."""
        state.kept_step = state.clock.step
        if self.folder is not None or not self.copies:
            return
        if not self.weights:
            self.weights = copied(self.model)
        for name, value in self.model.state_dict().items():
            self.weights[name].copy_(value)

    def save(self, state: State) -> None:
        """Write the state to the folder, if there is one."""
        if self.folder is not None:
            began = time.monotonic()
            self.store.save(self.folder, state, self.model, self.optimizer)
            took = time.monotonic() - began
            self.longest = max(self.longest, took) if self.spent else took
            self.spent += took
        self.saved = time.monotonic()

    def kept(self) -> Mapping[str, Tensor]:
        """The weights that are kept; those of a folder stay there until they are read."""
        return self.weights if self.folder is None else self.store.kept(self.folder)

    def last(self) -> Mapping[str, Tensor]:
        """The weights of the state at hand, which is saved: a copy, or those of the folder."""
        return copied(self.model) if self.folder is None else self.store.last(self.folder)

    def restore(self, state: State) -> None:
        """The model ends in the state that is kept; of a run in memory the last one is held."""
        if state.kept_step == state.clock.step:
            return
        if self.folder is not None:
            self.model.load_state_dict(self.kept())
        elif self.weights:
            self._swap()

    def write(self, state: State, folder: RunFolder) -> None:
        """Write a finished run in memory to a folder, as if it had lived there."""
        swapped = state.kept_step != state.clock.step and bool(self.weights)
        if swapped:
            self._swap()
        try:  # the folder has the weights that are kept
            checkpoint.save(folder, state, self.model, self.optimizer, kept=False)
        finally:
            if swapped:
                self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        """Change the model's weights for those that are held, a table at a time."""
        for name, value in self.model.state_dict().items():
            before = value.clone()
            value.copy_(self.weights[name])
            self.weights[name].copy_(before)


def copied(model: Model) -> dict[str, Tensor]:
    """A copy of a model's weights."""
    return {name: value.detach().clone() for name, value in model.state_dict().items()}

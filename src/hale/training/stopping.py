"""When a run ends, when it validates, and how the learning rate falls towards the end."""

from __future__ import annotations

from dataclasses import dataclass

from hale.settings import Interval, Settings

# Validations in a run that does not say how often.
VALIDATIONS = 10


@dataclass
class Clock:
    """Where a run stands. All of it is saved, so that a resumed run goes on as it was."""

    step: int = 0
    seconds: float = 0.0  # of training; validation and saving excluded
    validation_seconds: float = 0.0
    stale: int = 0  # validations in a row without a better MRR
    tired: float = 0.0  # the largest share of the patience ever used up
    validated_step: int = 0
    validated_seconds: float = 0.0
    validation_sample: int = 0  # triples that validation ranks under a budget; 0: not yet settled
    validations: int = 0  # how many there are under a budget; 0: not yet settled


class StopRule:
    """How far a run is on its way to the nearest of its limits.

    Progress runs from 0 to 1: the share of the budget, of the epochs, or of the
    patience that is used up, whichever is largest. For patience it never goes
    back, so a late improvement does not raise the learning rate again.
    """

    def __init__(self, settings: Settings, steps_per_epoch: int) -> None:
        self.budget = settings.budget
        self.steps = None if settings.epochs is None else settings.epochs * steps_per_epoch
        self.patience = settings.patience
        self.decay = settings.decay
        interval = _interval(settings)
        self.every_seconds = interval.seconds
        self.every_steps = None if interval.epochs is None else interval.epochs * steps_per_epoch

    def progress(self, clock: Clock) -> float:
        """The share of the run that is over."""
        shares = [0.0]
        if self.budget is not None:
            shares.append(clock.seconds / self.budget)
        if self.steps is not None:
            shares.append(clock.step / self.steps)
        if self.patience is not None:
            shares.append(clock.tired)
        return min(1.0, max(shares))

    def reason(self, clock: Clock) -> str | None:
        """The limit that ends the run here, or None to go on."""
        if self.budget is not None and clock.seconds >= self.budget:
            return "budget"
        if self.steps is not None and clock.step >= self.steps:
            return "epochs"
        if self.patience is not None and clock.stale >= self.patience:
            return "patience"
        return None

    def rate(self, clock: Clock) -> float:
        """Factor on the learning rate: 1, then falling linearly over the last share of the run."""
        left = 1 - self.progress(clock)
        return 1.0 if left >= self.decay else left / self.decay

    def is_due(self, clock: Clock) -> bool:
        """Whether it is time to validate."""
        if self.every_seconds is not None:
            return clock.seconds - clock.validated_seconds >= self.every_seconds
        assert self.every_steps is not None
        return clock.step - clock.validated_step >= self.every_steps

    def spread(self, validations: int) -> None:
        """Validate so often over the budget, in place of ten times."""
        assert self.budget is not None
        self.every_seconds = self.budget / validations

    def judge(self, clock: Clock, *, better: bool) -> None:
        """Note a validation in the clock."""
        clock.validated_step, clock.validated_seconds = clock.step, clock.seconds
        clock.stale = 0 if better else clock.stale + 1
        if self.patience is not None:
            clock.tired = max(clock.tired, clock.stale / self.patience)


def _interval(settings: Settings) -> Interval:
    if settings.validate_every is not None:
        return Interval.parse(settings.validate_every)
    if settings.budget is not None:
        return Interval(seconds=settings.budget / VALIDATIONS)
    if settings.epochs is not None:
        return Interval(epochs=max(1, settings.epochs // VALIDATIONS))
    return Interval(epochs=5)

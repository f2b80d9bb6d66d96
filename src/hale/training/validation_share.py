"""The share of a budget that validation takes, and what gives way so that it takes no more.

A budget counts training alone, and whoever gives one waits for both. Under a budget all
validations of a run together take a fifth of it, unless it was said how many triples they rank, or
how often: then they do. Without a budget nothing depends on how fast the machine is.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

from hale.errors import HaleWarning
from hale.evaluation.validation import Validation
from hale.models import Model
from hale.settings import Settings
from hale.training.stopping import VALIDATIONS, Clock, StopRule

SHARE = 0.2
MARGIN = 0.8  # of it is planned with: what was measured for a moment may take longer later
# Triples below which a sample says too little: from here on there are fewer validations instead.
LEAST = 100
# Triples that are measured first, and then four times as many until the time tells.
FIRST = 16
TELLING = 0.02  # of what validation may take
# Looks at a time that tells, the shortest of which counts: one alone may have been held up by
# whatever else the machine does. Measuring takes half of what validation may, at most.
LOOKS = 3


class Plan(NamedTuple):
    """How many triples a validation ranks, and how many validations there are."""

    sample: int
    validations: int


class ValidationShare:
    """Settles, before the first validation of a run, what it can afford.

    Where ranks validate together, ``lead`` is what the clock of the first says, to all of them.
    """

    def __init__(
        self,
        settings: Settings,
        validation: Validation,
        rule: StopRule,
        lead: Callable[[float], float] = float,
    ) -> None:
        self.validation, self.rule, self.lead = validation, rule, lead
        asked = settings.validation_sample is not None or settings.validate_every is not None
        free = asked or settings.budget is None or not validation.size
        self.allowed = None if free else SHARE * MARGIN * (settings.budget or 0.0)

    def settle(self, model: Model, clock: Clock) -> None:
        """Measure how long ranking takes, and let sample and number of validations fit.

        Once a run; what is settled is kept in the clock, so that a resumed run goes on with it.
        """
        if self.allowed is None or clock.validation_sample:
            return
        began = time.perf_counter()
        model.eval()
        wanted = self.validation.size
        self.validation.seconds_for(model, min(FIRST, wanted))  # what is done but once
        found = plan(
            lambda count: self.lead(self.validation.seconds_for(model, count)),
            self.validation.looks,
            wanted,
            self.allowed - self.lead(time.perf_counter() - began),
        )
        clock.validation_sample, clock.validations = found
        clock.validation_seconds += self.lead(time.perf_counter() - began)
        self.apply(clock)
        if found != (wanted, VALIDATIONS):
            often = "" if found.validations == VALIDATIONS else f", {found.validations} times"
            warnings.warn(
                f"validation ranks {found.sample:,} of {wanted:,} triples{often}, so that it takes "
                "no more than a fifth of the budget; give validation_sample for another number",
                HaleWarning,
                stacklevel=2,
            )

    def apply(self, clock: Clock) -> None:
        """Let validation be what the clock says was settled."""
        if clock.validation_sample:
            self.validation.take(clock.validation_sample)
            if self.rule.budget is not None:
                self.rule.spread(clock.validations)

    def hold(self, clock: Clock) -> None:
        """Let a run whose limits change go on with the sample that judged it so far.

        The states before and after are compared by their MRR, which has to be of the same triples.
        """
        if self.allowed is not None and clock.validated_step and not clock.validation_sample:
            clock.validation_sample, clock.validations = self.validation.size, VALIDATIONS


def plan(
    seconds_for: Callable[[int], float],
    looks: Callable[[int], float],
    wanted: int,
    allowed: float,
) -> Plan:
    """The largest sample up to ``wanted`` by which all validations take the seconds allowed.

        (validations + looks(sample)) * sample * seconds of a triple <= allowed - measuring

    ``seconds_for`` measures how long a number of triples takes: a time that tells is measured three
    times, and the shortest counts. ``looks`` tells what the second look at the end costs in
    samples. Below LEAST triples there are fewer validations instead; one,
    at the end, is always made.
    """
    count, spent = min(FIRST, wanted), 0.0

    def shortest() -> float:
        nonlocal spent
        found = seconds_for(count)
        spent += found
        for _ in range(LOOKS - 1):
            if found < TELLING * allowed or spent + found > allowed / 2:
                break
            again = seconds_for(count)
            spent += again
            found = min(found, again)
        return found

    taken = shortest()
    while count < wanted and taken < TELLING * allowed:
        count = min(4 * count, wanted)
        taken = shortest()
    each = taken / count
    left = max(0.0, allowed - spent)

    def cost(sample: int) -> float:
        return (VALIDATIONS + looks(sample)) * sample * each

    if cost(wanted) <= left:
        return Plan(wanted, VALIDATIONS)
    least = min(LEAST, wanted)
    if cost(least) <= left:
        low, high = least, wanted  # the cost grows with the sample, but for a step at the whole
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if cost(middle) <= left else (low, middle)
        return Plan(low, VALIDATIONS)
    return Plan(least, max(1, int(left / (least * each) - looks(least))))

"""Extension: more time for a run, also one that has had its own.

Everything that follows the progress of a run (the learning rate, gamma_start, dropout_start) goes
by the share of the new limit that is used up: a run of 60 s that gets 300 s is a fifth of the way
through, so its rate rises to the full one and falls to zero over the last part of the 300 s. It
goes on from its last state, which is not always the one that is kept; that stays the one to beat,
by the validation triples that judged it. Patience counts anew from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hale.errors import RunError
from hale.runs.folder import RunFolder
from hale.settings import Settings, make_settings
from hale.training.stopping import Clock, StopRule

LIMITS = ("budget", "epochs", "patience")
MAY_CHANGE = (*LIMITS, "threads")


def extended(stored: Settings, given: Mapping[str, object]) -> Settings:
    """The settings of a run with what is given now.

    Of budget and epochs, another one of either takes the place of both; patience stays unless
    it is given.
    """
    values = {name: value for name, value in given.items() if value is not None}
    before = stored.model_dump()
    asked = make_settings(**{**before, **values})
    if any(getattr(asked, name) != before[name] for name in ("budget", "epochs")):
        for name, other in (("budget", "epochs"), ("epochs", "budget")):
            if name not in values and other in values:
                before[name] = None
        asked = make_settings(**{**before, **values})
    return asked


def extend(
    folder: RunFolder, settings: Settings, clock: Clock, rule: StopRule, *, write: bool = True
) -> bool:
    """Let the run of a folder go on to the limits of ``settings`` -> whether they are new to it.

    They are written to the folder at once, with the step at which they began to hold. A kill
    before the next save leaves the clock at that step: then they are still new to it. Of several
    ranks one is to ``write``.
    """
    stored, begun = folder.read_settings(), folder.read_extensions()
    limits = {name: getattr(settings, name) for name in LIMITS}
    before = {name: getattr(stored, name) for name in LIMITS}
    if limits != before:
        reached = rule.reason(replace(clock, stale=0))
        if reached is not None:
            raise RunError(
                f"The run {folder.path} is beyond that limit ({reached}): it has had "
                f"{clock.seconds:.1f} s of training and {clock.step:,} steps. A limit counts from "
                "its beginning; give a larger one."
            )
        begun = [*begun, {"step": clock.step, "seconds": clock.seconds, "before": before}]
    if write and settings != stored:
        folder.write_settings(settings, begun)
    is_new = bool(begun) and begun[-1]["step"] == clock.step
    if is_new:
        clock.stale, clock.tired = 0, 0.0
    return is_new

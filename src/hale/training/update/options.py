"""Options of an update: how it treats what is known."""

from __future__ import annotations

from dataclasses import dataclass

from hale.errors import SettingsError


@dataclass(frozen=True)
class UpdateOptions:
    """How an update treats what is known; chosen by hand on validation triples of CoDEx-M.

    ``anchor``: the weight of the penalty on known rows that move. ``focus``: how often a new fact
    is seen for each time that an old one is; below one, for new rows start in place, and what
    they lack is the push of other queries, not the pull of their own. ``rate``: the learning rate
    at the start, as a multiple of the run's; it falls to zero. It is for revisions of a fifth of
    all facts or more, and less for smaller ones (``rate_factor``). ``tolerance``: how much MRR the
    old validation triples may lose, before new entities withdraw.
    """

    anchor: float = 0.01
    focus: float = 0.6
    rate: float = 1.5
    tolerance: float = 0.005

    def __post_init__(self) -> None:
        faults = [
            f"{name}: {rule}, got {value}"
            for name, value, rule, holds in (
                ("anchor", self.anchor, "a weight is at least 0", self.anchor >= 0),
                ("focus", self.focus, "a factor is above 0", self.focus > 0),
                ("rate", self.rate, "a factor is above 0", self.rate > 0),
                ("tolerance", self.tolerance, "a loss is at least 0", self.tolerance >= 0),
            )
            if not holds
        ]
        if faults:
            raise SettingsError(faults)

    @classmethod
    def of(cls, **given: float | None) -> UpdateOptions:
        """What is given, and the defaults for the rest."""
        return cls(**{name: value for name, value in given.items() if value is not None})

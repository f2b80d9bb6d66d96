"""Settings: what a run is asked for, and the recipes and the rule that fill it in.

fields     Settings: every knob, its default and its limits
making     settings from what was given by name
recipes/   tuned settings per data set, strategy and model, and a rule for other graphs
glossary   the words that are hale's own
"""

from hale.settings.fields import DEFAULT_BUDGET_SECONDS, DEFAULT_QUERIES, MOST_THREADS, Settings
from hale.settings.flags import BY_SYSTEM, Flags
from hale.settings.making import by_name, make_settings
from hale.settings.values import Interval, parse_duration

__all__ = [
    "BY_SYSTEM",
    "DEFAULT_BUDGET_SECONDS",
    "DEFAULT_QUERIES",
    "MOST_THREADS",
    "Flags",
    "Interval",
    "Settings",
    "by_name",
    "make_settings",
    "parse_duration",
]

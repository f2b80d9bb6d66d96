"""Every error that hale raises on purpose.

    HaleError                    something went wrong; exit status 2, as of a wrong option
    |-- InputError               what the caller gave cannot be used
    |   |-- SourceError          a file or table of triples, with its place
    |   |-- UnknownNameError     a model, relation, entity, ... that does not exist
    |   |-- SettingsError        settings that are wrong or contradict each other
    |   |-- DatasetError         a named data set that cannot be had
    |   |-- RunError             a run folder that is missing, damaged or in the way
    |   |-- WriteError           a file or folder that cannot be written
    |   `-- MissingExtraError    an optional part that is not installed
    |-- DownloadError            the network or the server failed
    |-- TrainingError            a loss that is not finite
    |-- GroupError               a rank of a process group that does not answer
    `-- EvaluationError          scores that cannot be ranked

A message says what was given, what is allowed, and what to do next. A command ends with 0, with 2
after such a message, or with 130 after Ctrl-C; 1 is left to what nobody foresaw.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar


class HaleError(Exception):
    """Base of all errors that hale raises on purpose."""

    exit_status: ClassVar[int] = 2


class InputError(HaleError):
    """What the caller gave cannot be used."""


class SourceError(InputError):
    """A file or table of triples that cannot be read; says where."""

    def __init__(self, message: str, *, source: str, line: int | None = None) -> None:
        self.source = source
        self.line = line
        place = source if line is None else f"{source}, line {line}"
        super().__init__(f"{place}: {message}")


class UnknownNameError(InputError):
    """A name that does not exist, with the nearest ones that do.

    ``choices`` are all there are, or none where they are too many. ``meant`` are those that may be
    meant, best first, each with its label if it has one; without it they are the nearest choices.
    Where none is meant and the choices are too many, it says how to look.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        choices: Iterable[str],
        *,
        meant: Mapping[str, str | None] | None = None,
    ) -> None:
        self.kind = kind
        self.name = name
        known = list(choices)
        found = dict.fromkeys(nearest(name, known)) if meant is None else meant
        self.suggestions = list(found)
        hint = ""
        if found:
            told = [f"{one!r} ({label})" if label else repr(one) for one, label in found.items()]
            hint = f" Did you mean {' or '.join(told)}?"
        elif known and len(known) <= 20:
            hint = f" Choose from: {', '.join(known)}."
        elif meant is not None:
            hint = " No name or label is like it; hale find RUN TEXT looks for a part of one."
        super().__init__(f"Unknown {kind} {name!r}.{hint}")


class SettingsError(InputError):
    """Settings that are wrong or contradict each other; all faults at once."""

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        head = "This setting is" if len(faults) == 1 else "These settings are"
        super().__init__(f"{head} not usable:\n" + "\n".join(f"  - {fault}" for fault in faults))


class DatasetError(InputError):
    """A named data set that cannot be had."""


class RunError(InputError):
    """A run folder that is missing, damaged or in the way."""


class WriteError(InputError):
    """A file or folder that cannot be written: no room, no permission, no such place."""


class MissingExtraError(InputError):
    """An optional part that is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional part: pip install 'hale-kge[{extra}]'")


class DownloadError(HaleError):
    """The network or the server failed; what arrived is kept for the next try."""


class TrainingError(HaleError):
    """Training met a loss that is not finite."""


class GroupError(HaleError):
    """A rank of a process group died or does not answer."""


class EvaluationError(HaleError):
    """Scores that cannot be ranked."""


class HaleWarning(UserWarning):
    """Something a reader of the results should know."""


def nearest(name: str, choices: Sequence[str], *, count: int = 3) -> list[str]:
    """Up to ``count`` choices that look like ``name``, the most alike first."""
    folded: dict[str, str] = {}
    for choice in choices:
        folded.setdefault(choice.casefold(), choice)
    found = difflib.get_close_matches(name.casefold(), folded, n=count, cutoff=0.7)
    return [folded[match] for match in found]

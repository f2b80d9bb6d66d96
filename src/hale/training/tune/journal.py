"""The journal of a search: a line for all that happens to its trials, whole after any end.

optuna's own lock is a link that a killed or failed process leaves behind, and others wait for it;
this one is taken away by the system from a process that ends. A line that a kill has cut is removed
before anything is written after it. What is no journal of a search is refused, and left as it is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from hale.errors import InputError
from hale.runs.blame import FOREIGN

if TYPE_CHECKING:
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend
    from optuna.trial import FrozenTrial

BEGINS = b'{"op_code":'  # every line that optuna writes
NEWLINE = b"\n"


class _Lock:
    """What optuna asks of a lock: to be acquired and released."""

    def __init__(self, path: Path) -> None:
        self._lock = FileLock(path)

    def acquire(self) -> bool:
        """Wait until it is ours."""
        self._lock.acquire()
        return True

    def release(self) -> None:
        """Let others have it."""
        self._lock.release()


@contextmanager
def blaming_journal(path: Path) -> Iterator[None]:
    """What a damaged or foreign journal leads to is one error that names it."""
    try:
        yield
    except FOREIGN as error:
        detail = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise InputError(
            f"{path} is not the journal of a search, or is damaged ({detail}). Search into "
            "another folder, with --out (out=), or remove that file to begin anew."
        ) from None


def open_trials(path: Path) -> JournalStorage:
    """All trials of the journal at ``path``, each checked; none if there is no journal yet."""
    from optuna.storages import JournalStorage
    from optuna.study import StudyDirection

    backend = open_journal(path)
    with blaming_journal(path):
        storage = JournalStorage(backend)
        for study in storage.get_all_studies():
            if [*study.directions] != [StudyDirection.MAXIMIZE]:
                raise ValueError(f"study {study.study_name!r} does not look for the most")
            for trial in storage.get_all_trials(study._study_id, deepcopy=False):
                _check_trial(trial)
    return storage


def open_journal(path: Path) -> JournalFileBackend:
    """The journal at ``path``, without a last line that is cut off; a new one if there is none."""
    from optuna.storages.journal import JournalFileBackend

    lock = _Lock(path.with_name(f".{path.name}.lock"))
    lock.acquire()
    try:
        with blaming_journal(path):
            _drop_half_a_line(path)
    finally:
        lock.release()
    return JournalFileBackend(str(path), lock_obj=lock)


def _drop_half_a_line(path: Path) -> None:
    """Check every line, then remove a last one that a kill has cut."""
    if not path.exists():
        return
    *lines, rest = path.read_bytes().split(NEWLINE)
    for number, line in enumerate(lines, start=1):
        if not line.startswith(BEGINS) or not isinstance(json.loads(line), dict):
            raise ValueError(f"line {number} is none that a search writes")
    if not rest:
        return
    if rest[: len(BEGINS)] != BEGINS[: len(rest)]:
        raise ValueError(f"line {len(lines) + 1} is none that a search writes")
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - len(rest))


def _check_trial(trial: FrozenTrial) -> None:
    """Refuse a trial that a search could not go on from: optuna takes it as it stands."""
    from optuna.trial import create_trial

    create_trial(
        state=trial.state,
        values=trial.values,
        params=trial.params,
        distributions=trial.distributions,
        user_attrs=trial.user_attrs,
        system_attrs=trial.system_attrs,
    )
    if len(trial.values or [0.0]) != 1:
        raise ValueError(f"trial {trial.number} has more than one value")
    for told in (*(trial.values or []), *trial.intermediate_values.values()):
        if isinstance(told, bool) or not math.isfinite(told):
            raise ValueError(f"trial {trial.number} has {told!r}, which is no number")
    if any(type(step) is not int for step in trial.intermediate_values):
        raise TypeError(f"trial {trial.number} was judged at a step that is no number")
    if not isinstance(trial.system_attrs.get("fixed_params", {}), dict):
        raise TypeError(f"trial {trial.number} was queued without settings")

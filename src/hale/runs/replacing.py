"""A run's folder under a name that may be taken: what is replaced, and what goes along."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from hale.data.files import check_writable, finish_replacing, is_free, whole_folder
from hale.data.foreign import foreign
from hale.errors import RunError
from hale.runs.blame import blaming_disk
from hale.runs.file_names import OWN, REVIEW
from hale.runs.header import SETTINGS
from hale.runs.lock import deciding


@contextmanager
def new_folder(path: str | Path, *, overwrite: bool) -> Iterator[Path]:
    """Yields a folder to fill, which takes the run's name whole or not at all.

    What people decided about facts is theirs: the review of a run that is replaced goes along.
    Who decides waits while it is copied and the folders change places, not while this is filled.
    """
    target = Path(path).absolute()
    taken = is_taken(target, overwrite=overwrite)
    until_replaced = ExitStack()
    with blaming_disk(), until_replaced, whole_folder(target, replace=taken) as waiting:
        yield waiting
        if taken:
            until_replaced.enter_context(deciding(target))
            keep_review(target, waiting)


def is_taken(path: str | Path, *, overwrite: bool) -> bool:
    """Whether a run is there to be replaced; an error if it must not be, or cannot."""
    target = Path(path).absolute()
    with blaming_disk():
        finish_replacing(target)
        check_writable(target)
    taken = not is_free(target)
    if taken and not overwrite:
        raise RunError(
            f"{target} exists. Choose another folder, continue that run with --resume "
            "(resume=True), or replace it with --overwrite (overwrite=True)."
        )
    if taken and not (target / SETTINGS).is_file():
        raise RunError(f"{target} is not a run, so it is not overwritten. Choose another.")
    if taken and (others := foreign(target, OWN)):
        raise RunError(
            f"{target} holds what is no part of a run, and would go with it: {others}. Move "
            "that elsewhere, or choose another folder."
        )
    return taken


def keep_review(replaced: Path, folder: Path) -> None:
    """Take over what people decided about facts, where the run that is replaced has it."""
    if (replaced / REVIEW).is_file():
        shutil.copy2(replaced / REVIEW, folder / REVIEW)

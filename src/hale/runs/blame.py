"""Blame: whatever a damaged run or a full disk leads to becomes one error that names the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError

from safetensors import SafetensorError

from hale.errors import InputError, RunError, WriteError

# What reading a file may lead to that is damaged, or somebody else's.
FOREIGN = (
    *(AttributeError, KeyError, IndexError, TypeError, ValueError, ArithmeticError, RuntimeError),
    *(AssertionError, EOFError, SyntaxError, TokenError),
)


@contextmanager
def blaming_file(run: Path, name: str, what: str = "cannot be read") -> Iterator[None]:
    """What a file of a run leads to is an error that names it."""
    try:
        yield
    except RunError:
        raise
    except (*FOREIGN, OSError, SafetensorError, InputError) as error:
        detail = " ".join(str(error).split())[:200]
        raise RunError(f"The run {run} is damaged: {name} {what} ({detail}).") from None


@contextmanager
def blaming_disk() -> Iterator[None]:
    """What cannot be written of a run is an error of the run."""
    try:
        yield
    except WriteError as error:
        raise RunError(str(error)) from None
    except OSError as error:
        raise RunError(f"{error.filename}: {error.strerror}.") from None

"""The native kernel's library: which build runs, and why.

It holds what takes the time of a training step on the CPU. Whoever calls it has the same in plain
torch calls beside it, for other devices and types and for machines on which it was not built.
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import importlib.metadata
import os
import stat
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from hale.engine.signatures import FUNCTIONS, POINTED_TO, fingerprint
from hale.errors import InputError

# One library per instruction set, each able to run all that those before it can.
BUILDS = ("baseline", "avx2", "avx512")
NAMES = ("auto", "native", "tiles")

NO_MEMORY = 1  # what a function returns where it got none (native/guard.h)

OTHER_SOURCES = "the kernel was built from other sources; install hale-kge again"


class NativeMissingError(Exception):
    """The kernel was not built or cannot be loaded here; the message says why."""


class Engine(NamedTuple):
    """An implementation by name, and the reason it runs."""

    name: str
    why: str


@cache  # also of what is not found: it is asked for several times a step
def current() -> Engine:
    """What runs for float32 tensors on the CPU, under ``HALE_ENGINE`` (auto, native or tiles).

    The environment is read once; ``look_again`` after a change.
    """
    asked = os.environ.get("HALE_ENGINE", "auto")
    if asked not in NAMES:
        raise InputError(f"HALE_ENGINE is one of {', '.join(NAMES)}, got {asked!r}.")
    if asked == "tiles":
        return Engine("tiles", "HALE_ENGINE asks for it")
    try:
        build = chosen_build()
        library(build)
    except NativeMissingError as missing:
        if asked == "native":
            raise InputError(f"HALE_ENGINE asks for the native kernel, but {missing}.") from None
        return Engine("tiles", f"the native kernel is not there: {missing}")
    return Engine("native", f"the {build} build suits this processor")


def takes(*tensors: Tensor) -> bool:
    """Whether the kernel runs, and takes such tensors: float32 on the CPU."""
    fits = all(x.is_cpu and x.dtype == torch.float32 for x in tensors)
    return fits and current().name == "native"


def builds() -> tuple[str, ...]:
    """The builds that this processor can run, the best last; none where none was built."""
    try:
        return BUILDS[: BUILDS.index(_best_build()) + 1]
    except NativeMissingError:
        return ()


@cache
def chosen_build() -> str:
    """The best build, or the one that the environment asks for (``HALE_BUILD``)."""
    best = _best_build()  # says why, where there is none
    asked = os.environ.get("HALE_BUILD") or best
    if asked not in builds():
        raise NativeMissingError(f"HALE_BUILD={asked} does not run here; {builds()} do")
    return asked


@cache
def _best_build() -> str:
    baseline = _load("baseline")
    baseline.hale_best_build.restype = ctypes.c_char_p
    return str(baseline.hale_best_build().decode())


@cache
def library(build: str) -> ctypes.CDLL:
    """The kernel's library of one build, checked and declared."""
    chosen = _load(build)
    try:
        chosen.hale_fingerprint.restype = ctypes.c_char_p
        told = chosen.hale_fingerprint().decode()
        if told != fingerprint((*dict.fromkeys(FUNCTIONS.values()), *POINTED_TO)):
            raise NativeMissingError(OTHER_SOURCES)
        chosen.hale_workspace_size.restype = ctypes.c_int64
        chosen.hale_workspace_size.argtypes = (ctypes.c_int64, ctypes.c_int64)
        for name, structure in FUNCTIONS.items():
            function = getattr(chosen, name)
            function.restype = ctypes.c_int32  # a status
            function.argtypes = (ctypes.POINTER(structure),)  # a structure is passed by address
    except AttributeError:  # a function that it does not have
        raise NativeMissingError(OTHER_SOURCES) from None
    return chosen


def _load(build: str) -> ctypes.CDLL:
    name = f"libhale_{build}.so"
    for folder in _folders():
        if (folder / name).is_file():
            return _open(folder / name)
    raise NativeMissingError(f"{name} was not built; a C++ compiler at install time builds it")


def _folders() -> list[Path]:
    if given := os.environ.get("HALE_NATIVE"):
        return [_trusted(Path(given))]
    folders = [Path(__file__).parent]
    # an editable install keeps what it built beside the other packages
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        folders.append(
            Path(str(importlib.metadata.distribution("hale-kge").locate_file("hale_kernel")))
        )
    return folders


def _trusted(folder: Path) -> Path:
    """A folder of libraries, if nobody else can put one there: what is loaded from it runs."""
    if not folder.is_absolute():
        raise InputError(
            f"HALE_NATIVE is the whole path of a folder, got {str(folder)!r}: a relative one would "
            "mean another folder in every place that hale is called from."
        )
    folder = folder.resolve()  # once: what is looked at is what is loaded
    own = [folder, *(path.resolve() for path in sorted(folder.glob("libhale_*.so")))]
    above = dict.fromkeys(parent for place in own for parent in place.parents if parent not in own)
    if os.name != "posix":  # no other user is told apart by these
        return folder
    for place in (*own, *above):
        if place.exists() and _others_may_write(place.stat(), above=place in above):
            advice = (
                f"Take it for yourself: chown $(id -u) and chmod go-w {place}."
                if place in own
                else "Use another folder, below none that others may write."
            )
            raise InputError(
                f"HALE_NATIVE: others may write {place}, and what it holds would run as you. "
                + advice
            )
    return folder


def _others_may_write(told: os.stat_result, *, above: bool) -> bool:
    """Who may write a folder above could swap one in it; in a sticky one only owners may."""
    if above and told.st_mode & stat.S_ISVTX:
        return False
    others = told.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return told.st_uid not in (0, os.geteuid()) or bool(others)


def _open(path: Path) -> ctypes.CDLL:
    """Load a build. It names no OpenMP library, so that it shares PyTorch's pool of threads."""
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        runtime = ctypes.util.find_library("gomp")
        if runtime is None:
            raise NativeMissingError(f"{path.name} cannot be loaded: {error}") from None
    ctypes.CDLL(runtime, mode=ctypes.RTLD_GLOBAL)
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise NativeMissingError(f"{path.name} cannot be loaded: {error}") from None


def call(name: str, problem: ctypes.Structure) -> None:
    """Call a function of the build that runs; what it lacked is an error, in whichever thread."""
    status = getattr(library(chosen_build()), name)(problem)
    if status == NO_MEMORY:
        raise MemoryError(f"the native kernel got no memory ({name})")
    if status:
        raise RuntimeError(f"the native kernel failed ({name}, status {status})")


def look_again() -> None:
    """Read the environment again, and look for the libraries where it points now."""
    for cached in (current, chosen_build, _best_build, library):
        cached.cache_clear()

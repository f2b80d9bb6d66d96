"""The native kernel's library: which build runs, and why; its structures and functions.

It holds what takes the time of a training step on the CPU. Whoever calls it has the same in plain
torch calls beside it, for other devices and types and for machines on which it was not built.
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import importlib.metadata
import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from hale.errors import InputError

# One library per instruction set, each able to run all that those before it can.
BUILDS = ("baseline", "avx2", "avx512")
NAMES = ("auto", "native", "tiles")


class Uniformity(ctypes.Structure):
    """The C++ struct of the same name, field by field."""

    _fields_ = (
        ("m", ctypes.c_int64),
        ("n", ctypes.c_int64),
        ("d", ctypes.c_int64),
        ("queries", ctypes.c_void_p),
        ("entities", ctypes.c_void_p),
        ("scale", ctypes.c_void_p),
        ("activation", ctypes.c_int32),
        ("beta", ctypes.c_float),
        ("gammas", ctypes.c_void_p),
        ("left_out", ctypes.c_void_p),
        ("left_from", ctypes.c_void_p),
        ("share", ctypes.c_float),
        ("add", ctypes.c_int32),
        ("threads", ctypes.c_int32),
        ("workspace", ctypes.c_void_p),
        ("logs", ctypes.c_void_p),
        ("by_query", ctypes.c_void_p),
        ("by_entity", ctypes.c_void_p),
        ("by_scale", ctypes.c_void_p),
    )


class Alignment(ctypes.Structure):
    """The C++ struct of the same name, field by field."""

    _fields_ = (
        ("b", ctypes.c_int64),
        ("d", ctypes.c_int64),
        ("queries", ctypes.c_void_p),
        ("entities", ctypes.c_void_p),
        ("scale", ctypes.c_void_p),
        ("tails", ctypes.c_void_p),
        ("activation", ctypes.c_int32),
        ("beta", ctypes.c_float),
        ("gammas", ctypes.c_void_p),
        ("square", ctypes.c_int32),
        ("share", ctypes.c_float),
        ("threads", ctypes.c_int32),
        ("activated", ctypes.c_void_p),
        ("by_query", ctypes.c_void_p),
        ("by_entity", ctypes.c_void_p),
        ("by_scale", ctypes.c_void_p),
    )


class Turn(ctypes.Structure):
    """The C++ struct of the same name, field by field."""

    _fields_ = (
        ("b", ctypes.c_int64),
        ("d", ctypes.c_int64),
        ("stride", ctypes.c_int64),
        ("relations", ctypes.c_int64),
        ("vectors", ctypes.c_void_p),
        ("which", ctypes.c_void_p),
        ("turns", ctypes.c_void_p),
        ("shifts", ctypes.c_void_p),
        ("alphas", ctypes.c_void_p),
        ("threads", ctypes.c_int32),
        ("queries", ctypes.c_void_p),
        ("by_queries", ctypes.c_void_p),
        ("by_vectors", ctypes.c_void_p),
        ("by_turns", ctypes.c_void_p),
        ("by_shifts", ctypes.c_void_p),
        ("by_alphas", ctypes.c_void_p),
    )


class Rows(ctypes.Structure):
    """The C++ struct of the same name, field by field."""

    _fields_ = (
        ("b", ctypes.c_int64),
        ("d", ctypes.c_int64),
        ("table", ctypes.c_void_p),
        ("ids", ctypes.c_void_p),
        ("rows", ctypes.c_void_p),
        ("threads", ctypes.c_int32),
    )


OTHER_SOURCES = "the kernel was built from other sources; install hale again"

# What each function takes; the library tells the size of it by another, NAME_size.
FUNCTIONS: dict[str, type[ctypes.Structure]] = {
    "hale_uniformity": Uniformity,
    "hale_alignment": Alignment,
    "hale_turn": Turn,
    "hale_turn_back": Turn,
    "hale_add_rows": Rows,
}


class NativeMissingError(Exception):
    """The kernel was not built or cannot be loaded here; the message says why."""


class Engine(NamedTuple):
    """An implementation by name, and the reason it runs."""

    name: str
    why: str


def current() -> Engine:
    """What runs for float32 tensors on the CPU, under ``HALE_ENGINE`` (auto, native or tiles)."""
    asked = os.environ.get("HALE_ENGINE", "auto")
    return _found(asked, os.environ.get("HALE_NATIVE"), os.environ.get("HALE_BUILD"))


@cache  # also of what is not found: it is asked for several times a step
def _found(asked: str, _folder: str | None, _build: str | None) -> Engine:
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


@cache
def builds() -> tuple[str, ...]:
    """The builds that this processor can run, the best last."""
    baseline = _load("baseline")
    baseline.hale_best_build.restype = ctypes.c_char_p
    best = baseline.hale_best_build().decode()
    return BUILDS[: BUILDS.index(best) + 1]


def chosen_build() -> str:
    """The best build, or the one that the environment asks for (``HALE_BUILD``)."""
    asked = os.environ.get("HALE_BUILD") or builds()[-1]
    if asked not in builds():
        raise NativeMissingError(f"HALE_BUILD={asked} does not run here; {builds()} do")
    return asked


@cache
def library(build: str) -> ctypes.CDLL:
    """The kernel's library of one build, checked and declared."""
    chosen = _load(build)
    chosen.hale_workspace_size.restype = ctypes.c_int64
    chosen.hale_workspace_size.argtypes = (ctypes.c_int64, ctypes.c_int64)
    for name, structure in FUNCTIONS.items():
        try:
            function, size = getattr(chosen, name), getattr(chosen, f"{name}_size")
        except AttributeError:
            raise NativeMissingError(OTHER_SOURCES) from None
        size.restype = ctypes.c_int64
        if size() != ctypes.sizeof(structure):
            raise NativeMissingError(OTHER_SOURCES)
        function.restype = None
        function.argtypes = (ctypes.POINTER(structure),)
    return chosen


def _load(build: str) -> ctypes.CDLL:
    name = f"libhale_{build}.so"
    for folder in _folders():
        if (folder / name).is_file():
            return _open(folder / name)
    raise NativeMissingError(f"{name} was not built; a C++ compiler at install time builds it")


def _folders() -> list[Path]:
    if given := os.environ.get("HALE_NATIVE"):
        return [Path(given)]
    folders = [Path(__file__).parent]
    # an editable install keeps what it built beside the other packages
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        folders.append(
            Path(str(importlib.metadata.distribution("hale-kge").locate_file("hale_kernel")))
        )
    return folders


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
    """Call a function of the build that runs."""
    getattr(library(chosen_build()), name)(ctypes.byref(problem))

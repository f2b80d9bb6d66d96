"""The native kernel: the same sweep as the tiles, and alignment, in C++ (CPU, float32)."""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import importlib.metadata
import os
import threading
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from hale.activations import Activation, Arctanh, Double, Halin, Hanon, Identity, XExp
from hale.engine.tiles import Gradients, Pairs, Swept

# In the order of the C++ enum.
KINDS: tuple[type[Activation], ...] = (Hanon, Halin, XExp, Double, Arctanh, Identity)

# Floats of g kept at once (256 MB): more queries than that allows are swept in blocks.
BLOCK_ELEMENTS = 1 << 26


# One library per instruction set, each able to run all that those before it can.
BUILDS = ("baseline", "avx2", "avx512")


class _Problem(ctypes.Structure):
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


class _Alignment(ctypes.Structure):
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


class NativeMissingError(Exception):
    """The kernel was not built or cannot be loaded here; the message says why."""


class _Workspace(threading.local):
    """One buffer a thread, kept between sweeps: fresh memory costs a page fault a page."""

    tensor: Tensor | None = None

    def of(self, size: int, like: Tensor) -> Tensor:
        if self.tensor is None or len(self.tensor) < size:
            self.tensor = like.new_empty(size)
        return self.tensor


_workspace = _Workspace()


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
    chosen.hale_problem_size.restype = ctypes.c_int64
    chosen.hale_uniformity.restype = None
    chosen.hale_uniformity.argtypes = (ctypes.POINTER(_Problem),)
    chosen.hale_alignment_size.restype = ctypes.c_int64
    chosen.hale_alignment.restype = None
    chosen.hale_alignment.argtypes = (ctypes.POINTER(_Alignment),)
    sizes = (chosen.hale_problem_size(), chosen.hale_alignment_size())
    if sizes != (ctypes.sizeof(_Problem), ctypes.sizeof(_Alignment)):
        raise NativeMissingError("the kernel was built from other sources; install hale again")
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
            Path(str(importlib.metadata.distribution("hale").locate_file("hale/engine")))
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


def can_sweep(queries: Tensor, entities: Tensor, scale: Tensor, activation: Activation) -> bool:
    """Whether the kernel takes these inputs: float32 on the CPU, and an activation it knows."""
    return type(activation) in KINDS and all(
        x.is_cpu and x.dtype == torch.float32 for x in (queries, entities, scale)
    )


@torch.no_grad()
def sweep(
    queries: Tensor,
    entities: Tensor,
    scale: Tensor,
    activation: Activation,
    without: Pairs | None,
    *,
    gradients: bool,
    gammas: Tensor | None = None,
) -> Swept:
    """The value of the uniformity term and, on request, its three gradients."""
    kernel = library(chosen_build())
    m, d = queries.shape
    n = len(entities)
    queries, entities, scale = (x.detach().contiguous() for x in (queries, entities, scale))
    logs = queries.new_empty(m, dtype=torch.float64)
    found = Gradients(
        torch.empty_like(queries), torch.empty_like(entities), torch.empty_like(scale)
    )
    bounds = _bounds(activation, gammas, queries)
    left_out, left_from = _by_query(without, queries, n)
    block = m if not gradients else max(16, min(m, BLOCK_ELEMENTS // n // 16 * 16))
    for start in range(0, m, block):
        count = min(block, m - start)
        problem = _Problem(
            m=count,
            n=n,
            d=d,
            queries=queries[start:].data_ptr(),
            entities=entities.data_ptr(),
            scale=scale[start:].data_ptr(),
            activation=KINDS.index(type(activation)),
            beta=getattr(activation, "beta", 0.0),
            gammas=bounds[start:].data_ptr(),
            left_out=left_out.data_ptr(),
            left_from=left_from[start:].data_ptr(),
            share=1 / m,
            add=start > 0,
            threads=torch.get_num_threads(),
            logs=logs[start:].data_ptr(),
        )
        if gradients:
            size = kernel.hale_workspace_size(count, n)
            problem.workspace = _workspace.of(size, queries).data_ptr()
            problem.by_query = found.queries[start:].data_ptr()
            problem.by_entity = found.entities.data_ptr()
            problem.by_scale = found.scale[start:].data_ptr()
        kernel.hale_uniformity(ctypes.byref(problem))
    return Swept(logs.mean().to(queries.dtype), found if gradients else None)


@torch.no_grad()
def align(
    queries: Tensor,
    entities: Tensor,
    scale: Tensor,
    tails: Tensor,
    activation: Activation,
    *,
    square: bool,
    weight: float,
    by_entity: Tensor,
    gammas: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Activated distances (B,) of positives, and what their weighted mean pulls.

    a_i = h(c_i ||q_i - e_t(i)||^2), of which the mean, of squares on request, is taken. Its
    gradients by query (B, d) and by scale (B,) are returned, the one by entity is added to
    ``by_entity`` (N, d).
    """
    kernel = library(chosen_build())
    queries, entities, scale, tails = (
        x.detach().contiguous() for x in (queries, entities, scale, tails)
    )
    activated, by_scale = torch.empty_like(scale), torch.empty_like(scale)
    by_query = torch.empty_like(queries)
    bounds = _bounds(activation, gammas, queries)
    problem = _Alignment(
        b=len(queries),
        d=queries.shape[1],
        queries=queries.data_ptr(),
        entities=entities.data_ptr(),
        scale=scale.data_ptr(),
        tails=tails.data_ptr(),
        activation=KINDS.index(type(activation)),
        beta=getattr(activation, "beta", 0.0),
        gammas=bounds.data_ptr(),
        square=square,
        share=weight / len(queries),
        threads=torch.get_num_threads(),
        activated=activated.data_ptr(),
        by_query=by_query.data_ptr(),
        by_entity=by_entity.data_ptr(),
        by_scale=by_scale.data_ptr(),
    )
    kernel.hale_alignment(ctypes.byref(problem))
    return activated, by_query, by_scale


def _bounds(activation: Activation, gammas: Tensor | None, queries: Tensor) -> Tensor:
    """The bound of the activation for each query (m,); ones where it has none."""
    if gammas is not None:
        return gammas.detach().contiguous()
    return queries.new_full((len(queries),), getattr(activation, "gamma", 1.0))


def _by_query(without: Pairs | None, queries: Tensor, n: int) -> Pairs:
    """Left-out pairs as the kernel takes them: entities by query, and where each begins (m + 1,).

    ``KnownAnswers`` hands them over in this order; others are sorted.
    """
    m = len(queries)
    if without is None:
        nothing = queries.new_zeros(m + 1, dtype=torch.long)
        return nothing[:0], nothing
    rows, columns = (ids.long() for ids in without)
    keys = rows * n + columns
    if not bool((keys[1:] > keys[:-1]).all()):
        order = keys.argsort()
        rows, columns = rows[order], columns[order]
    begins = torch.searchsorted(rows.contiguous(), torch.arange(m + 1, device=rows.device))
    return columns.contiguous(), begins

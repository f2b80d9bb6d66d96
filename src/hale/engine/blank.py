"""Blank tensors: shapes without numbers, for a model that is counted, or filled from a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

# What fills a tensor with draws. On blank ones torch would trace them, and import its compiler
# for that: a second, for nothing.
FILLS = ("normal_", "uniform_")


class _NothingDrawn(TorchFunctionMode):
    """Leaves tensors as they are where they would be filled."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        given = kwargs or {}
        if getattr(func, "__name__", "") in FILLS:
            return given["tensor"] if "tensor" in given else args[0]
        return func(*args, **given)


@contextmanager
def blank() -> Iterator[None]:
    """Within it tensors have shapes and types, take no memory, and are not filled."""
    with torch.device("meta"), _NothingDrawn():
        yield

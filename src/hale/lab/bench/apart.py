"""Apart: what a function returns in a process of its own, so that peaks and threads do not mix."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from hale.errors import HaleError

TOLD = 2000  # characters of what a process that broke has printed


def apart(function: Callable[..., Any], *arguments: object) -> Any:
    """``function(*arguments)``, both as JSON; an error of hale's is told here as it was there."""
    asked = json.dumps([function.__module__, function.__qualname__, arguments])
    code = "from hale.lab.bench.apart import answer; answer()"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "ignore", "-c", code, asked],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise HaleError(f"{function.__qualname__} failed apart:\n{done.stderr[-TOLD:]}")
    told = json.loads(done.stdout.splitlines()[-1])
    if "refused" in told:
        raise HaleError(told["refused"])
    return told["value"]


def answer() -> None:
    """Print what is asked for by the first argument; what the process of ``apart`` does."""
    module, name, arguments = json.loads(sys.argv[1])
    try:
        told = {"value": getattr(import_module(module), name)(*arguments)}
    except HaleError as error:
        told = {"refused": str(error)}
    print("\n" + json.dumps(told))

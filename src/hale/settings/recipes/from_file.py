"""A recipe from a file that the user names, such as `hale tune` writes.

entities = 40943          the graph that it was found on
train = 86835
dim = 32                  the dimension, unless another is given

[hale.rotl]               a strategy and a model, or any
found = "how"
gamma = 7.0

[hale.rotl.long]          what a run with a budget of so many seconds or more takes instead
seconds = 300
gamma = 8.0
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hale.errors import InputError

ANY = "any"
COUNTS = ("entities", "train")


def read_given_recipe(path: Path) -> Mapping[str, Any]:
    """The tables of a file, once it is found to be a recipe."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"A recipe is auto, paper, none or a file that hale tune wrote; got {str(path)!r}, and "
            "there is no such file."
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read as a recipe: {error}.") from None
    faults = [
        f"{name} is a whole number, got {content.get(name)!r}"
        for name in COUNTS
        if not isinstance(content.get(name), int)
    ]
    if not isinstance(content.get("dim", 1), int) or content.get("dim", 1) < 1:
        faults.append(f"dim is a whole number from 1 on, got {content['dim']!r}")
    if not systems_in(content):
        faults.append("it has no table of settings, such as [hale.rotl]")
    faults += _faults_of_long(content)
    if faults:
        raise InputError(f"{path} is no recipe: {'; '.join(faults)}.")
    return content


def _faults_of_long(content: Mapping[str, Any]) -> list[str]:
    """What is wrong with the tables for long runs, which say from how many seconds on."""
    faults = []
    for strategy, model in systems_in(content):
        long = content[strategy][model].get("long", {"seconds": 0})
        seconds = long.get("seconds") if isinstance(long, dict) else None
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            faults.append(
                f"[{strategy}.{model}.long] says from which budget on it holds, as in "
                f"seconds = 300, got {seconds!r}"
            )
    return faults


def systems_in(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The strategies and models that a recipe has settings for."""
    return [
        (strategy, model)
        for strategy, tables in content.items()
        if isinstance(tables, dict)
        for model, table in tables.items()
        if isinstance(table, dict)
    ]


def chosen_by_file(path: Path, given: Mapping[str, object]) -> dict[str, object]:
    """The model, strategy and dim that a file names for a run that was given some of them.

    Strategy and model where only one pair of the file agrees with what is given; if none does,
    that is an error.
    """
    content = read_given_recipe(path)
    pairs = systems_in(content)
    fitting = [
        (strategy, model)
        for strategy, model in pairs
        if given.get("strategy", strategy) == strategy
        and (model == ANY or given.get("model", model) == model)
    ]
    if not fitting:
        asked = " and ".join(f"{n} {given[n]}" for n in ("strategy", "model") if n in given)
        has = ", ".join(f"{strategy} with {model}" for strategy, model in pairs)
        raise InputError(f"{path} has no settings for {asked}; it has some for {has}.")
    chosen: dict[str, object] = {"dim": content["dim"]} if "dim" in content else {}
    if len(fitting) == 1:
        strategy, model = fitting[0]
        chosen |= {"strategy": strategy} | ({} if model == ANY else {"model": model})
    return chosen

"""Command lines drawn at random from what the commands declare."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from declared import Command, Parameter
from world import FITS

# What most calls are given beside what is drawn, where the command knows it: so that they end soon.
SOON = {
    "epochs": "1",
    "dim": "4",
    "dims": "4",
    "batch_size": "32",
    "budget": "0.2s",
    "trial": "0.05s",
    "trials": "1",
    "scale": "0.0001",
    "entities": "50",
    "sizes": "20",
    "rounds": "1",
    "draws": "2",
    "steps": "1",
    "seconds": "0.1",
    "longest": "0.01",
    "most": "1000",
    "threads": "1",
    "browser": "--no-browser",
}
# Of these a large number is taken at its word and starts as many processes.
FEW = {"ranks": ("1", "2", "0", "-1", "65", "two", "", "1e9")}
# Beside where a run was trained these reach for other hosts, for a browser, or for root's tools.
NEVER = {"namespaces", "fetch"}

# What has to be given together; else half of the calls would end there.
TOGETHER = {
    "predict": (("head", "relation"), ("relation", "tail"), ("queries",), ("relation", "every")),
    "align": (("seeds",),),
    "update": (("remove",), ()),
}

NUMBERS = (
    *("0", "1", "2", "-1", "3", "7", "10", "0.5", "1.5", "-0.5", "1e-9", "1e30", "1e400", "-1e30"),
    *("nan", "inf", "-inf", "NaN", "1_000", "0x10", "1,2", "2147483648", "-2147483649"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775809", "1" + "0" * 40),
    *("00", "+3", " 4 ", "٣", "1e", "0s", "-5s", "nans", "1h30", "1e400s"),
)
TEXTS = (
    *("", " ", "-", "--", "?", "*", ".", "..", "/", "//", "~", "\t", "a\tb", "a\nb", "\x1b[31mred"),
    *("%s", "{}", "{0}", "[bold]", "[/]", "\\", "'", '"', "é", "e\u0301", "☃", "\u202e", "\ufeff"),
    *("all", "auto", "none", "None", "true", "null", "hrt", "thr", "1,2,3", "1,1,1", "0,1,2", ",,"),
    *("a" * 300, "x" * 70_000, "\udcff", "\u0000", "=1+1", "e000", "next", "wn18rr", "paper"),
)
PLACES = ("/dev/null", "/", "/proc/self/mem", "/no/such/place", "run/settings.json", "empty/x")


def draw_call(draw: random.Random, command: Command, world: Sequence[str]) -> list[str]:
    """A command with its arguments (mostly) and some options, all in any order.

    world: what lies in the folder where it is called.
    """
    own = [one for one in command.parameters if one.name not in NEVER]
    options = [one for one in own if one.flags]
    gentle = draw.random() < 0.4  # all that is given fits
    fit = 1.0 if gentle else 0.6
    count = min(len(options), draw.choice((0, 1, 1, 2) if gentle else (0, 1, 2, 2, 3, 4, 6)))
    chosen = draw.sample(options, count)
    together = draw.choice(TOGETHER.get(command.name, ((),)))
    needed = [one for one in options if one.required or one.name in together]
    chosen += [one for one in needed if one not in chosen and draw.random() < 0.9]
    parts = [_given(draw, one, world, fit) for one in chosen]
    names = {one.name for one in chosen}
    for one in options:
        if one.name in SOON and one.name not in names and draw.random() < 0.95:
            soon = SOON[one.name]
            parts.append([soon] if one.kind is bool else [one.flags[0], soon])
    parts += [
        [_value(draw, one, world, fit=1.0 if gentle else 0.85)]
        for one in own
        if not one.flags and draw.random() < (0.97 if one.required else 0.6)
    ]
    if draw.random() < 0.02:
        parts.append([draw.choice((*TEXTS, "--no-such-option", "--help", "-k"))])
    arguments = [part for part in parts if not part[0].startswith("-")]
    flags = [part for part in parts if part[0].startswith("-")]
    draw.shuffle(flags)
    where = draw.randint(0, len(flags))  # arguments stay in their order
    ordered = [*flags[:where], *arguments, *flags[where:]]
    return [*command.path, *(text for part in ordered for text in part)]


def _given(draw: random.Random, one: Parameter, world: Sequence[str], fit: float) -> list[str]:
    """An option as it is typed, perhaps several times."""
    flag = draw.choice(one.flags)
    if one.kind is bool:
        return [flag]
    times = draw.choice((1, 1, 2)) if one.several else 1
    parts: list[str] = []
    for _ in range(times):
        value = _value(draw, one, world, fit=fit)
        joined = flag.startswith("--") and draw.random() < 0.3
        parts += [f"{flag}={value}"] if joined else [flag, value]
    return parts


def _value(draw: random.Random, one: Parameter, world: Sequence[str], *, fit: float) -> str:
    """One that fits with probability ``fit``; else one of its kind at an edge, or anything."""
    if one.name in FEW:
        return draw.choice(FEW[one.name])
    chance = draw.random()
    if chance < fit:
        return draw.choice(fitting(one, world))
    if chance < fit + (1 - fit) / 2:
        return draw.choice(edges(one, world))
    return draw.choice((*NUMBERS, *TEXTS, *PLACES, *world))


def fitting(one: Parameter, world: Sequence[str]) -> Sequence[str]:
    """Values that the parameter may well take."""
    named = FITS.get(one.metavar, ()) or FITS.get(one.name.upper(), ())
    default = () if one.default is None else (str(one.default),)
    if one.kind is int:
        first = 1 if one.least is None else int(one.least)
        return (*(str(first + i) for i in (0, 0, 1, 3)), *default)
    if one.kind is float:
        least = 0.0 if one.least is None else one.least
        return (*(str(least + x) for x in (0.001, 0.1, 0.5, 0.9)), *default)
    if named:
        return named
    if one.kind is Path:
        return world
    return (*one.words, *default) or TEXTS


def edges(one: Parameter, world: Sequence[str]) -> Sequence[str]:
    """Values of its kind that are at an edge, or beyond."""
    if one.kind in (int, float):
        bounds = [bound for bound in (one.least, one.most) if bound is not None]
        return (*(str(bound + step) for bound in bounds for step in (-1, 0, 1)), *NUMBERS)
    return (*PLACES, *world) if one.kind is Path else (*TEXTS, *NUMBERS)

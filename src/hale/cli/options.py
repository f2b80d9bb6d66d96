"""Options that commands share, and those made from Settings."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from typer.core import TyperCommand

from hale.cli.groups import OPTION_GROUPS, grouped
from hale.settings import BY_SYSTEM, MOST_THREADS, Flags, Settings
from hale.settings.glossary import GLOSSARY

TOLD = Path(__file__).with_name("defaults.json")  # written by hale.cli.defaults
WORDS = ("heights", "near", "two-way", "loops", "block")  # of the options, explained below them

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout, progress on stderr.")
]
Device = Annotated[str, typer.Option("--device", help="auto, cpu, cuda or mps.")]
RunPath = Annotated[Path, typer.Argument(help="Folder of a run.", metavar="RUN")]
Threads = Annotated[
    int | None, typer.Option("--threads", help="CPU threads.", min=1, max=MOST_THREADS)
]
Ranks = Annotated[
    int | None,
    typer.Option(
        "--ranks",
        help="Ask in so many processes of this machine, which share the entities.",
        min=1,
        max=64,
    ),
]
Paths = Annotated[
    bool,
    typer.Option(
        "--paths",
        help="Rank by path rules of train too, as far as validation agrees: a second opinion.",
    ),
]
OutFile = Annotated[
    Path | None,
    typer.Option("--out", help="Write the table to this file: .csv, .tsv or .parquet."),
]
CsvSafe = Annotated[
    bool,
    typer.Option(
        "--csv-safe",
        help="In .csv and .tsv, an apostrophe before names that a spreadsheet would compute "
        "(those that begin with =, +, - or @).",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="A,B,C",
        help="Columns of head, relation and tail, by name or number (person,verb,thing or 1,2,4), "
        "or the order of all three (htr). [default: by the header, else hrt]",
        show_default=False,
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(
        "--weights",
        metavar="[COLUMN]",
        help="Column of weights, by name or number: how much each fact counts in the loss. "
        "[default: none; weight, where no column is named]",
        show_default=False,
    ),
]
Anything = Annotated[
    bool,
    typer.Option(
        "--anything", help="Any entity may answer, not only those seen on that side of a relation."
    ),
]
OfType = Annotated[
    list[str] | None,
    typer.Option(
        "--type", help="Only entities of this type; with several, of one or another of them."
    ),
]
TypeRelation = Annotated[
    str | None,
    typer.Option(
        "--type-relation", help="Take as types the tails of this relation, not those of the run."
    ),
]
Within = Annotated[
    Path | None,
    typer.Option("--within", help="Only entities that this file names, one a line."),
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave out lines that cannot be judged.")]


def option(text: str, default: object, *flags: str) -> Any:
    """An option that is None unless given; its default is told in the help."""
    return typer.Option(*flags, help=f"{text} [default: {default}]", show_default=False)


class SettingsCommand(TyperCommand):
    """A command with options for settings: its help has them under headings.

    Where models and strategies decide a default, the help tells what they decide.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; --weights alone is the column of that name."""
        return super().parse_args(ctx, named_weights(args))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options by group, with the defaults that are decided later."""
        left = [one for one in self.params if BY_SYSTEM in (getattr(one, "help", None) or "")]
        if left:
            told = json.loads(TOLD.read_text(encoding="utf-8"))
            for one in left:
                one.help = one.help.replace(BY_SYSTEM, told[str(one.name)])  # type: ignore[attr-defined]
        records = {str(one.name): one.get_help_record(ctx) for one in self.get_params(ctx)}
        arguments = [str(one.name) for one in self.params if one.param_type_name == "argument"]
        options = [name for name in records if name not in arguments]
        sections = {"Arguments": arguments, **grouped(options, OPTION_GROUPS)}
        for heading, names in sections.items():
            with formatter.section(heading):
                formatter.write_dl([records[name] for name in names if records[name] is not None])
        if len(left) > 1:  # all settings are there, and so are words of our own
            with formatter.section("Words"):
                formatter.write_dl([(word, GLOSSARY[word]) for word in WORDS])


def named_weights(args: list[str]) -> list[str]:
    """The arguments with a column for every --weights that names none."""
    following = [*args, "--"][1:]
    return [
        part
        for one, after in zip(args, following, strict=True)
        for part in ([one, "weight"] if one == "--weights" and after.startswith("-") else [one])
    ]


def settings_options(
    *names: str, texts: Mapping[str, str] = {}, defaults: Mapping[str, str] = {}
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Options for settings (all, unless named) in place of a command's ``**given``.

    A setting's name, flags, type, description and default stand with its field; ``texts`` and
    ``defaults`` replace the last two where a command means something else by it. The command is
    handed those that the user gave. ``hale.cli.groups`` says where help has them.
    """
    chosen = [name for name in Settings.model_fields if not names or name in names]
    assert set(names) <= set(chosen), "every name is that of a setting"

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [*inspect.signature(command, eval_str=True).parameters.values()][:-1]
        made = [_parameter(name, texts.get(name), defaults.get(name)) for name in chosen]

        @functools.wraps(command)
        def called(**values: Any) -> None:
            missing = {name for name in chosen if values[name] is None or values[name] == []}
            command(**{name: value for name, value in values.items() if name not in missing})

        called.__signature__ = inspect.Signature([*own, *made])  # type: ignore[attr-defined]
        called.command_class = SettingsCommand  # type: ignore[attr-defined]
        return called

    return decorate


def flags_of(name: str) -> Flags:
    """How a setting is offered."""
    field = Settings.model_fields[name]
    found = next((one for one in field.metadata if isinstance(one, Flags)), Flags())
    if found.names:
        return found
    word = name.replace("_", "-")
    return replace(found, names=(f"--{word}/--no-{word}" if _type(name) is bool else f"--{word}",))


def as_flag(name: str, value: object) -> str:
    """A setting as it would be given."""
    yes, _, no = flags_of(name).names[0].partition("/")
    if isinstance(value, bool):
        return yes if value else no
    return f"{yes} " + (f"{value:.4g}" if isinstance(value, float) else str(value))


def _parameter(name: str, text: str | None, default: str | None) -> inspect.Parameter:
    """A command's parameter for a setting, None unless given."""
    field, flags = Settings.model_fields[name], flags_of(name)
    told = default or flags.unset or field.default
    info = option(text or str(field.description), told, *flags.names)
    several = get_origin(field.annotation) is tuple and str in get_args(field.annotation)
    typed = list[str] if several else _type(name)
    kind: Any = Annotated[typed | None, info]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)


def _type(name: str) -> type:
    """What is typed for a setting: a number, yes or no; else text, which the setting reads."""
    annotation = Settings.model_fields[name].annotation
    parts = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    if any(get_origin(kind) is Literal for kind in parts):
        return str
    return next((kind for kind in (bool, int, float) if kind in parts), str)

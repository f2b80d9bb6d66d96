"""What the commands share: the app, the consoles, the way errors are told."""

from __future__ import annotations

import functools
import importlib
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeVar

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from hale import __version__
from hale.cli import INTERRUPTED
from hale.cli.asking import refuse_ranks
from hale.cli.controls import PlainConsole, escape_controls, json_line
from hale.cli.groups import COMMAND_GROUPS, grouped
from hale.cli.launch import do_not_try_again, leads
from hale.cli.number_bounds import check_numbers
from hale.errors import GroupError, HaleError, HaleWarning, InputError

if TYPE_CHECKING:
    from hale.data.graph import Graph
    from hale.data.sources.labelled import LabelledTriples
    from hale.runs.run import Run

# The commands and what they do: the first line of their docstrings, so that none of their modules
# has to be imported for help. hale.cli.groups says under which heading help lists them.
COMMANDS = {
    "predict": "Answer queries: tails of (head, relation), heads of (relation, tail), relations of "
    "both.",
    "discover": "Find the most plausible facts that the graph lacks.",
    "find": "Find entities and relations by a part of their name or label.",
    "neighbors": "List the entities whose vectors are nearest to one.",
    "align": "Find the entities of two runs' graphs that are the same, from some known pairs.",
    "why": "Explain a fact: its rank and score, and the known facts and rules that support it.",
    "models": "List the models: query vector, similarity, parameters at N, R and d, strategies.",
    "strategies": "List the training strategies: their losses and the models they go with.",
    "evaluate": "Rank a split of a run's graph: filtered, over all entities, in both directions.",
    "show": "Show a run: its graph, settings, how training went, and its metrics.",
    "datasets": "List the named data sets, their sizes and where they are.",
    "reproduce": "Fill a table or figure of the paper, or a slice of it, and render what is "
    "finished.",
    "calibrate": "Fit probabilities on the validation triples, and keep them with the run.",
    "classify": "Judge triples: true or false, and how sure.",
    "export": "Write entity and relation vectors with their names, or an index, to a folder.",
    "explore": "Open a run in the browser: map, entities, questions, a review of missing facts.",
    "serve": "Answer programs over HTTP: REST below /api/v1, described by /api/v1/openapi.json.",
    "mcp": "Answer agents by the Model Context Protocol: search, facts, predict, why, similar.",
    "train": "Train a model on GRAPH and evaluate it on the test split.",
    "compress": "Train a smaller model of RUN's graph that learns from its answers.",
    "tune": "Search for settings on validation triples, and write the best as a recipe.",
    "recipe": "Show a recipe and check it: what `hale train --recipe FILE` would take from it.",
    "update": "Add the triples of FACTS to RUN, remove others, and train for a short while.",
    "bench": "Measure: the kernel, a step, blocks, ranks, growth, an index, a race with PyKEEN.",
}


# BadParameter is one of several: no such option, an argument too many, ...
USAGE_ERROR: Any = typer.BadParameter.__base__


def load_command(name: str) -> Any:
    """The command ``name``, which stands under its name in the module of its name."""
    found = getattr(importlib.import_module(f"hale.cli.{name}"), name)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(cls=getattr(found, "command_class", None))(found)
        found = alone
    return typer.main.get_command(found)


class LazyCommands(TyperGroup):
    """Knows its commands by name and line; imports the module of the one that is called."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for name, line in COMMANDS.items():
            self.add_command(TyperCommand(name, help=line))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first argument names."""
        if args[0] in COMMANDS:
            refuse_ranks(args[0])
            self.add_command(load_command(args[0]))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the commands under their headings."""
        width = max(len(name) for name in COMMANDS)
        for heading, names in grouped(COMMANDS, COMMAND_GROUPS).items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), COMMANDS[name]) for name in names])

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Read the options before the command."""
        with _plain_usage_errors():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        """Call the command."""
        with _plain_usage_errors():
            return super().invoke(ctx)


@contextmanager
def _plain_usage_errors() -> Iterator[None]:
    """What a usage error repeats of an argument is shown as it is, not obeyed."""
    try:
        yield
    except USAGE_ERROR as error:
        error.message = escape_controls(error.message)
        raise
    except KeyboardInterrupt:
        err.print("interrupted")
        raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    name="hale",
    cls=LazyCommands,
    help="Knowledge-graph embeddings in minutes, and the answers they give.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def version(
    wanted: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Knowledge-graph embeddings in minutes, and the answers they give."""
    if wanted:
        out.print(f"hale {__version__}")
        raise typer.Exit


out = PlainConsole()
err = PlainConsole(stderr=True)

P = ParamSpec("P")
R = TypeVar("R")


def reporting(command: Callable[P, R]) -> Callable[P, R]:
    """Turn hale's errors into one message and an exit status."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with _warnings_told():
                check_numbers(command, kwargs)
                return command(*args, **kwargs)
        except HaleError as error:
            _tell_error(str(error), at_once=isinstance(error, GroupError))
            if isinstance(error, InputError):
                do_not_try_again()
            raise typer.Exit(error.exit_status) from None
        except KeyboardInterrupt:
            err.print("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except OSError as error:  # of a path that no system takes, or a disk that fails
            if error.filename is None or error.strerror is None:
                raise
            _tell_error(f"{_shown(error.filename)}: {error.strerror}.")
            raise typer.Exit(HaleError.exit_status) from None
        except (MemoryError, RuntimeError, ImportError) as error:
            if not _no_memory(error) and "failed to map" not in str(error):
                raise
            _tell_error(NO_MEMORY)
            raise typer.Exit(InputError.exit_status) from None

    return wrapped


ALONE_AFTER = 1.0  # seconds: by then the group has ended if rank 0 met the same


def _tell_error(text: str, *, at_once: bool = False) -> None:
    """The one message of error; of another rank than 0 if it is the only one to meet it."""
    if not leads():
        if not at_once:  # what each rank tells of another
            time.sleep(ALONE_AFTER)
        text = f"rank {os.environ['RANK']}: {text}"
    err.quiet = False
    err.print(f"error: {text}", style="red")


def _shown(path: object) -> str:
    """A path for a message; of a long one the start."""
    text = str(path)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


LONGEST_SHOWN = 300  # letters of a path

NO_MEMORY = (
    "there was not enough memory. What was written before is as it was. A smaller --dim, --block "
    "or --batch-size takes less; hale train --plan tells how much a run takes."
)


def _no_memory(error: BaseException) -> bool:
    from hale.engine.memory import was_refused

    return was_refused(error)


@contextmanager
def _warnings_told() -> Iterator[None]:
    """Print hale's warnings as it prints its errors; Python would add a line of source."""
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Any, category: type[Warning], *place: Any) -> None:
            if issubclass(category, HaleWarning):
                err.print(f"warning: {message}", style="yellow")
            else:
                usual(message, category, *place)

        warnings.showwarning = show  # type: ignore[assignment]
        yield


def load_graph(source: str, **options: Any) -> Graph:
    """Load a graph with bars for what takes long; its notes go to stderr."""
    from hale.cli.progress import loading_bars
    from hale.data.datasets import load

    with warnings.catch_warnings(), loading_bars(err) as (announce, reading):
        warnings.simplefilter("ignore", HaleWarning)
        graph = load(source, announce=announce, reading=reading, **options)
    err.print(repr(graph))
    for note in graph.notes:
        err.print(f"warning: {note}", style="yellow")
    return graph


def print_json(value: dict[str, Any]) -> None:
    """One object, one line, on stdout."""
    sys.stdout.write(json_line(value) + "\n")


def read_labelled_file(path: Path, graph: Graph, skip_bad: bool) -> LabelledTriples:
    """The triples of a file, perhaps with labels; what is left out is told on stderr."""
    from hale.data.sources.labelled import read_labelled

    found = read_labelled(path, graph, skip_bad=skip_bad)
    for note in found.notes:
        err.print(f"warning: {note}", style="yellow")
    for fault in found.faults:
        err.print(f"warning: {path}, left out {fault}", style="yellow")
    return found


def tell_meaning(run: Run, *, held: bool = False) -> None:
    """Say what the probabilities above are shares of; if ``held``, facts of train are there too."""
    from hale.evaluation.calibration import meaning_of

    out.print(meaning_of(run, held=held), style="dim")


def tell_file(run: Path, path: Path, counts: dict[str, int], as_json: bool) -> None:
    """Say what was written where."""
    if as_json:
        print_json({"run": str(run), "out": str(path), **counts})
        return
    what = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    out.print(f"{path}: {what}")

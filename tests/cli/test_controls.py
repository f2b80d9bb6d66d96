"""No control character of data reaches a terminal."""

from __future__ import annotations

import io
import json
import unicodedata
import warnings
from pathlib import Path

import numpy as np
import pytest
from rich.table import Table
from typer.testing import Result

from hale.cli.app import reporting
from hale.cli.controls import PlainConsole, escape_controls, json_line
from hale.cli.progress import loading_bars
from hale.data.graph import Graph, Vocabulary
from hale.errors import HaleWarning
from tests.cli.invoke import FAST, as_json, hale, save_untrained

# Red from here, a bell, red again by C1, and what follows from right to left.
EVIL = "\x1b[31m\x07\x9b31m\u202e"
SHOWN = r"\x1b[31m\x07\x9b31m\u202e"


def controls(text: str) -> set[str]:
    """What a terminal would obey, but for line breaks, by Unicode's own classes."""
    turning = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}
    return {
        c
        for c in text
        if (unicodedata.category(c) in ("Cc", "Cs") and c != "\n")
        or unicodedata.bidirectional(c) in turning
    }


def clean(result: Result, *, shows: str = SHOWN) -> Result:
    assert not controls(result.stdout + result.stderr)
    assert "Traceback" not in result.output
    assert shows in result.output
    return result


def test_every_control_is_escaped_and_nothing_else() -> None:
    every = " ".join(map(chr, range(0x11000)))  # apart: two surrogates would be one
    assert not controls(escape_controls(every))
    kept = "".join(c for c in every if not controls(c))
    assert escape_controls(kept) == kept
    escaped = r"\x09\x1b\x7f\x9b\u202e\udc80"
    assert escape_controls("\t\x1b\x7f\x9b\u202e\udc80\n") == escaped + "\n"
    line = json_line({every: every})
    assert not controls(line)
    assert "\n" not in line
    assert json.loads(line) == {every: every}
    assert json_line("é 日本") == '"é 日本"'


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A run whose folder, graph, names and labels hold controls."""
    monkeypatch.chdir(tmp_path)
    names = [f"{EVIL}{number}" for number in range(12)]
    steps = np.array([[n, 0, (n + 1) % 12] for n in range(12)])
    graph = Graph(
        f"g{EVIL}",
        Vocabulary(names, "entity"),
        Vocabulary([f"r{EVIL}"], "relation"),
        train=steps[:8],
        valid=steps[8:10],
        test=steps[10:],
        labels={names[0]: f"label{EVIL}"},
    )
    save_untrained(Path(f"run{EVIL}"), graph)
    return f"run{EVIL}"


@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", "RUN", "--head", f"{EVIL}0", "--relation", f"r{EVIL}"],
        ["predict", "RUN", "--head", f"label{EVIL}", "--tail", f"{EVIL}1"],
        ["discover", "RUN", "-k", "3"],
        ["discover", "RUN", "-k", "3", "--out", f"o{EVIL}.csv"],
        ["neighbors", "RUN", f"{EVIL}0"],
        ["why", "RUN", f"{EVIL}0", f"r{EVIL}", f"{EVIL}1"],
        ["evaluate", "RUN", "--by-relation"],
        ["show", "RUN"],
        ["calibrate", "RUN", "--negatives", f"t{EVIL}.tsv"],
        ["classify", "RUN", f"t{EVIL}.tsv"],
        ["export", "RUN"],
    ],
)
def test_of_names_in_tables_and_in_json(evil: str, arguments: list[str]) -> None:
    Path(f"t{EVIL}.tsv").write_text(f"{EVIL}0\tr{EVIL}\t{EVIL}2\n{EVIL}3\tr{EVIL}\t{EVIL}7\n")
    asked = [evil if argument == "RUN" else argument for argument in arguments]
    wide = {"COLUMNS": "300"}  # so that no cell is folded
    assert clean(hale(*asked, env=wide)).exit_code == 0
    again = [argument.replace("o\x1b", "p\x1b") for argument in asked]
    extra = ["--overwrite"] if arguments[0] == "export" else []
    found = clean(hale(*again, *extra, "--json"), shows=r"\u001b[31m\u0007\u009b31m\u202e")
    assert as_json(found)["run"] == evil


@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", "RUN", "--head", f"x{EVIL}", "--relation", f"r{EVIL}"],
        ["show", f"nowhere{EVIL}"],
        ["train", f"nowhere{EVIL}.tsv"],
        ["train", "wordnet", "--model", EVIL],
        ["train", "wordnet", "--budget", EVIL],
        ["classify", "RUN", f"nowhere{EVIL}.tsv"],
        ["classify", "RUN", f"t{EVIL}.tsv"],
        [EVIL],
        [f"--{EVIL}"],
        ["show", "run", EVIL],
        ["show", f"--{EVIL}"],
        ["bench", EVIL],
        ["bench", "step", "g", EVIL],
    ],
)
def test_of_arguments_in_errors(evil: str, arguments: list[str]) -> None:
    Path(f"t{EVIL}.tsv").write_text(f"x{EVIL}\tr{EVIL}\t{EVIL}2\n")
    asked = [evil if argument == "RUN" else argument for argument in arguments]
    assert clean(hale(*asked)).exit_code == 2


def test_of_a_graph_that_is_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{EVIL}{n}\tr{EVIL}\t{EVIL}{(n + k) % 9}\n" for n in range(9) for k in (1, 2)]
    Path(f"g{EVIL}.tsv").write_text("".join(rows))
    options = ["--epochs", 1, "--holdout", 0.2, "--out", f"run{EVIL}", *FAST]
    assert clean(hale("train", f"g{EVIL}.tsv", *options)).exit_code == 0


def test_of_a_console_that_is_a_terminal() -> None:
    """Its own colours stay: only what it is given is escaped."""
    console = PlainConsole()
    console.file = io.StringIO()
    console._force_terminal = True
    table = Table(title=EVIL, box=None)
    table.add_column(EVIL)
    table.add_row(EVIL)
    console.print(EVIL)
    console.print(table)
    with loading_bars(console) as (announce, reading):
        announce(f"https://host/{EVIL}")(1, 2)
        reading(f"/folder/{EVIL}")(1 << 26, 1 << 27)
    text = console.file.getvalue()
    assert text.count(SHOWN) >= 5
    assert EVIL not in text
    assert not controls(text) & {"\x07", "\x9b", "\u202e"}


def test_of_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    @reporting
    def command() -> None:
        warnings.simplefilter("always")
        warnings.warn(EVIL, HaleWarning, stacklevel=1)

    command()
    assert capsys.readouterr().err == f"warning: {SHOWN}\n"

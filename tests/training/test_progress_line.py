"""Progress on stderr, in a file, on a terminal and in a notebook."""

from __future__ import annotations

import io
import sys

import pytest

import hale
from hale.data.graph import Graph
from hale.runs.run import Record
from hale.training import progress_line
from hale.training.progress_line import ProgressLine, validation_line
from hale.training.stopping import Clock

RECORD = Record(10, 2.0, 1.5, 0.1, {"alignment": 0.25}, {"mrr": 0.5, "hits@10": 0.75})


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_a_validation() -> None:
    expected = "    1.5 s  epoch    2.0  alignment 0.250  valid MRR 0.500  Hits@10 0.750"
    assert validation_line(RECORD, kept=False) == expected
    assert validation_line(RECORD, kept=True) == expected + "  *"


def test_in_a_file_there_are_lines_alone(graph: Graph, capsys: pytest.CaptureFixture[str]) -> None:
    run = hale.train(graph, dim=4, epochs=4, validate_every=2, progress=True)
    told = capsys.readouterr()
    assert told.out == ""
    assert "\r" not in told.err
    assert told.err.count("valid MRR") == len(run.history) == 2


def test_on_a_terminal_the_line_is_renewed_and_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress_line, "REFRESH_SECONDS", 0.0)
    line = ProgressLine()
    line.stepped(Clock(step=3, seconds=1.2), 0.5, {"alignment": 1.0, "much longer": 2.0})
    line.stepped(Clock(step=4, seconds=1.4), 0.6, {"a": 1.0})
    line.validated(RECORD, kept=True)
    line.validated(RECORD, kept=True)
    first, second, third, *rest = terminal.getvalue()[1:].split("\r")
    assert first == " 50%  1 s  step 3  alignment 1.000  much longer 2.000"
    assert second == " 60%  1 s  step 4  a 1.000".ljust(len(first))
    assert third == f"{validation_line(RECORD, kept=True)}\n" * 2
    assert rest == []


def test_a_notebook_renews_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    monkeypatch.setattr(sys, "stderr", stream)
    ProgressLine().stepped(Clock(step=3), 0.5, {"a": 1.0})
    assert stream.getvalue().startswith("\r 50%")


def test_no_more_often_than_one_can_read(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress_line, "REFRESH_SECONDS", 1e9)
    line = ProgressLine()
    line.shown = 1.0  # a while ago, but not that long
    line.stepped(Clock(step=3), 0.5, {"a": 1.0})
    assert terminal.getvalue() == ""


def test_both_an_observer_and_the_line(graph: Graph, capsys: pytest.CaptureFixture[str]) -> None:
    seen = []

    class Watch:
        def stepped(self, clock: Clock, progress: float, losses: dict[str, float]) -> None:
            seen.append(clock.step)

        def validated(self, record: Record, *, kept: bool) -> None:
            seen.append(record)

    run = hale.train(graph, dim=4, epochs=2, validate_every=2, progress=True, observer=Watch())
    assert seen == [*range(1, run.summary.steps + 1), *run.history]
    assert "valid MRR" in capsys.readouterr().err
    hale.update(run, [("new", "next", "e000")], epochs=1, progress=True)
    assert "valid MRR" in capsys.readouterr().err

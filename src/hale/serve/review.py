"""Review: what people decided about facts, kept in review.jsonl as they decide.

A line a decision, appended and brought to disk before it is answered, so that a kill loses none:

    {"time": ..., "who": ..., "decision": "accept", "head": ..., "relation": ..., "tail": ..., ...}

'undo' takes back the last decision of the same person that still stands, if any does. Nothing is
ever removed from the file. A line that a power cut left unfinished is no decision, and neither is
one whose checksum (runs.seal) differs: who reads the file is told of both. A whole one counts also
without its end of line.
"""

from __future__ import annotations

import io
import json
import threading
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

import polars as pl

from hale.data.files import append_line
from hale.errors import HaleWarning, InputError, RunError, UnknownNameError
from hale.runs.file_names import REVIEW
from hale.runs.lock import deciding
from hale.runs.seal import sealed, unsealed

Decision = Literal["accept", "reject", "skip"]
DECISIONS: tuple[Decision, ...] = get_args(Decision)
UNDO = "undo"
Fact = tuple[str, str, str]  # head, relation, tail, by name
LONGEST_NAME = 100


@dataclass(frozen=True)
class Entry:
    """A decision: who made it when, about which fact, and how sure the run was of it."""

    time: str
    who: str
    decision: str
    head: str
    relation: str
    tail: str
    probability: float | None = None
    score: float | None = None

    @property
    def fact(self) -> Fact:
        """What it is about."""
        return self.head, self.relation, self.tail


class Review:
    """The decisions about one run's facts; ``entries`` are those that stand, in their order."""

    def __init__(self, run: Path) -> None:
        self.path = run / REVIEW
        self._lock = threading.Lock()
        self._entries: list[Entry] = []
        self._read_to = 0
        if rest := self._catch_up():
            self._tell_damaged(rest)

    def decide(
        self,
        fact: Fact,
        decision: str,
        *,
        who: str,
        probability: float | None = None,
        score: float | None = None,
    ) -> Entry:
        """Write down a decision; the same one twice in a row is one."""
        if decision not in DECISIONS:
            raise UnknownNameError("decision", decision, DECISIONS)
        with self._lock:
            mine = _person(who)
            self._catch_up()
            for entry in reversed(self._entries):
                if entry.fact == fact and entry.who == mine:
                    if entry.decision == decision:
                        return entry
                    break
            entry = Entry(_now(), mine, decision, *fact, probability, score)
            self._append({k: v for k, v in asdict(entry).items() if v is not None})
            self._catch_up()
            return entry

    def undo(self, *, who: str) -> Entry | None:
        """Take back the last decision of a person that stands; None where there is none."""
        with self._lock:
            self._catch_up()
            mine = _person(who)
            last = next((e for e in reversed(self._entries) if e.who == mine), None)
            if last is not None:
                self._append({"time": _now(), "who": mine, "decision": UNDO})
                self._catch_up()
            return last

    @property
    def entries(self) -> list[Entry]:
        """The decisions that stand, also those that others wrote into the file."""
        with self._lock:
            self._catch_up()
            return list(self._entries)

    def verdicts(self) -> dict[Fact, Entry]:
        """The last decision about each fact."""
        return {entry.fact: entry for entry in self.entries}

    def facts(self, decision: Decision) -> list[Fact]:
        """The facts last decided so, in the order of their decisions."""
        return [fact for fact, entry in self.verdicts().items() if entry.decision == decision]

    def counts(self) -> dict[str, Counter[str]]:
        """How many facts each person accepted, rejected and skipped."""
        found: dict[str, Counter[str]] = {}
        for entry in self.verdicts().values():
            found.setdefault(entry.who, Counter())[entry.decision] += 1
        return found

    def _append(self, values: dict[str, Any]) -> None:
        """One more line, on disk when this returns."""
        with deciding(self.path.parent):
            append_line(self.path, json.dumps(sealed(values), ensure_ascii=False).encode())

    def _catch_up(self) -> bytes:
        """Take in the lines that are new in the file -> what is unfinished at its end."""
        if not self.path.is_file():
            return b""
        with self.path.open("rb") as file:
            file.seek(self._read_to)
            new = file.read()
        *lines, rest = new.split(b"\n")
        for line in lines:
            self._take(line)
            self._read_to += len(line) + 1
        if not _is_sealed(rest):
            return rest
        self._take(rest)
        self._read_to += len(rest)  # whoever appends begins with an end of line
        return b""

    def _take(self, line: bytes) -> None:
        if not line:
            return
        try:
            values = unsealed(json.loads(line), must=False)
        except ValueError:
            self._tell_damaged(line)
            return
        except RecursionError:
            values = None
        try:
            if values["decision"] == UNDO:
                mine = [n for n, e in enumerate(self._entries) if e.who == values["who"]]
                if mine:
                    del self._entries[mine[-1]]
            else:
                self._entries.append(_checked(Entry(**values)))
        except (KeyError, TypeError):
            raise RunError(
                f"{self.path} holds a line that is no decision: {line[:80]!r}. Move it away."
            ) from None

    def _tell_damaged(self, line: bytes) -> None:
        warnings.warn(
            f"{self.path} has a line that was cut off by a power cut, or is damaged; it counts "
            f"as no decision: {line[:80]!r}",
            HaleWarning,
            stacklevel=3,
        )


def _is_sealed(line: bytes) -> bool:
    """Whether it is a whole line, with its checksum."""
    try:
        return isinstance(unsealed(json.loads(line), must=True), dict)
    except (ValueError, RecursionError):
        return False


def _checked(entry: Entry) -> Entry:
    """The entry, if it is one: TypeError where another kind of value stands."""
    texts = (entry.time, entry.who, entry.decision, *entry.fact)
    numbers = [value for value in (entry.probability, entry.score) if value is not None]
    if not all(isinstance(text, str) for text in texts) or entry.decision not in DECISIONS:
        raise TypeError("no decision about a fact")
    if not all(isinstance(value, int | float) for value in numbers):
        raise TypeError("no number")
    return entry


def facts_as_text(facts: Iterable[Fact]) -> bytes:
    """Facts with tabs and a header, as hale reads them back."""
    from hale.export.table_file import write_table

    text = io.BytesIO()
    columns = dict.fromkeys(("head", "relation", "tail"), pl.String)
    table = pl.DataFrame(list(facts), schema=columns, orient="row")
    write_table(table, text, ".tsv")
    return text.getvalue()


def _person(who: str) -> str:
    name = " ".join(who.split())
    if not name or len(name) > LONGEST_NAME:
        raise InputError(f"Say who decides, in 1 to {LONGEST_NAME} characters.")
    return name


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")

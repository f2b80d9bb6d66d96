"""Decisions: kept at once, taken back, and read back by the commands that take them."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hale.data.sources import read_triples
from hale.data.sources.labelled import read_labelled
from hale.errors import HaleWarning, InputError, RunError, UnknownNameError
from hale.runs.file_names import REVIEW
from hale.runs.run import Run
from hale.runs.seal import sealed
from hale.serve.review import Review, facts_as_text
from tests.serve.conftest import SCRIPT

ONE, TWO, THREE = ("p0", "next", "p6"), ("p1", "next", "p7"), (SCRIPT, "is <b>", "a/b?c#d&e")


@pytest.fixture
def review(tmp_path: Path) -> Review:
    return Review(tmp_path)


def test_a_decision_is_a_line_at_once(review: Review, tmp_path: Path) -> None:
    review.decide(ONE, "accept", who="ada", probability=0.75, score=-0.5)
    review.decide(TWO, "reject", who="ada")
    lines = [json.loads(line) for line in (tmp_path / REVIEW).read_text().splitlines()]
    told = [{k: v for k, v in line.items() if k not in ("time", "checksum")} for line in lines]
    assert told == [
        {
            "who": "ada",
            "decision": "accept",
            "head": "p0",
            "relation": "next",
            "tail": "p6",
            "probability": 0.75,
            "score": -0.5,
        },
        {"who": "ada", "decision": "reject", "head": "p1", "relation": "next", "tail": "p7"},
    ]
    assert Review(tmp_path).verdicts() == review.verdicts()


def test_who_decided_what(review: Review) -> None:
    review.decide(ONE, "accept", who="ada")
    review.decide(TWO, "accept", who=" bob   b ")
    review.decide(THREE, "skip", who="ada")
    review.decide(THREE, "reject", who="bob b")  # the last word about a fact counts
    assert review.counts() == {"ada": {"accept": 1}, "bob b": {"accept": 1, "reject": 1}}
    assert review.facts("accept") == [ONE, TWO]
    assert review.facts("reject") == [THREE]
    assert review.facts("skip") == []


def test_undo_takes_back_the_last_of_the_same_person(review: Review, tmp_path: Path) -> None:
    review.decide(ONE, "accept", who="ada")
    review.decide(TWO, "accept", who="bob")
    review.decide(THREE, "reject", who="ada")
    taken = review.undo(who="ada")
    assert taken is not None
    assert taken.fact == THREE
    assert review.facts("reject") == []
    assert review.undo(who="ada").fact == ONE  # type: ignore[union-attr]
    assert review.undo(who="ada") is None
    assert review.facts("accept") == [TWO]
    assert Review(tmp_path).facts("accept") == [TWO]
    assert len((tmp_path / REVIEW).read_text().splitlines()) == 5  # nothing leaves the file


def test_an_undone_decision_gives_way_to_the_one_before(review: Review) -> None:
    review.decide(ONE, "accept", who="ada")
    review.decide(ONE, "reject", who="ada")
    assert review.facts("reject") == [ONE]
    review.undo(who="ada")
    assert review.facts("accept") == [ONE]


def test_the_same_decision_twice_is_one(review: Review, tmp_path: Path) -> None:
    for _ in range(3):
        review.decide(ONE, "accept", who="ada")
    assert len((tmp_path / REVIEW).read_text().splitlines()) == 1


def test_the_same_decision_by_a_name_with_blanks_is_one(review: Review, tmp_path: Path) -> None:
    for who in ("ada l", " ada  l", "ada l "):
        review.decide(ONE, "accept", who=who)
    assert len((tmp_path / REVIEW).read_text().splitlines()) == 1


def test_an_undo_of_nothing_is_nothing(review: Review, tmp_path: Path) -> None:
    """As two servers write it that undo the same decision at once."""
    review.decide(ONE, "accept", who="ada")
    undo = '{"time": "", "who": "ada", "decision": "undo"}\n'
    with (tmp_path / REVIEW).open("a") as file:
        file.write(undo + undo)
    review.decide(TWO, "accept", who="ada")
    assert review.facts("accept") == Review(tmp_path).facts("accept") == [TWO]


def test_two_servers_of_one_run_see_each_other(review: Review, tmp_path: Path) -> None:
    other = Review(tmp_path)
    review.decide(ONE, "accept", who="ada")
    assert other.facts("accept") == [ONE]
    other.undo(who="ada")
    assert review.facts("accept") == []


def test_a_line_cut_by_a_power_failure_is_no_decision(tmp_path: Path) -> None:
    review = Review(tmp_path)
    review.decide(ONE, "accept", who="ada")
    with (tmp_path / REVIEW).open("ab") as file:
        file.write(b'{"who": "ada", "decis')
    with pytest.warns(HaleWarning, match="cut off by a power cut, or is damaged"):
        again = Review(tmp_path)
    assert again.facts("accept") == [ONE]  # told once
    with pytest.warns(HaleWarning, match="cut off by a power cut, or is damaged"):
        again.decide(TWO, "accept", who="ada")
    assert again.facts("accept") == [ONE, TWO]
    with pytest.warns(HaleWarning, match="cut off by a power cut, or is damaged"):
        assert Review(tmp_path).facts("accept") == [ONE, TWO]


@pytest.mark.parametrize("bit", [0x01, 0x20, 0x80])
def test_a_wrong_last_byte_loses_no_decision_silently(tmp_path: Path, bit: int) -> None:
    review = Review(tmp_path)
    review.decide(ONE, "accept", who="ada")
    review.decide(TWO, "accept", who="ada")
    data = bytearray((tmp_path / REVIEW).read_bytes())
    data[-1] ^= bit
    (tmp_path / REVIEW).write_bytes(data)
    with pytest.warns(HaleWarning, match="is damaged; it counts as no decision"):
        assert Review(tmp_path).facts("accept") == [ONE]


def test_a_whole_decision_counts_without_its_end_of_line(tmp_path: Path) -> None:
    """As a power cut may leave it; what follows begins on a line of its own."""
    review = Review(tmp_path)
    review.decide(ONE, "accept", who="ada")
    review.decide(TWO, "accept", who="ada")
    (tmp_path / REVIEW).write_bytes((tmp_path / REVIEW).read_bytes()[:-1])
    again = Review(tmp_path)
    assert again.facts("accept") == [ONE, TWO]
    again.decide(THREE, "accept", who="ada")
    assert again.facts("accept") == Review(tmp_path).facts("accept") == [ONE, TWO, THREE]


def test_no_room_for_the_lock_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    review = Review(tmp_path)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("hale.runs.lock.acquire", full)
    with pytest.raises(RunError, match="cannot be written: No space left on device"):
        review.decide(ONE, "accept", who="ada")


def test_a_changed_decision_is_told_and_does_not_count(tmp_path: Path) -> None:
    review = Review(tmp_path)
    review.decide(ONE, "accept", who="ada")
    review.decide(TWO, "accept", who="ada")
    whole = (tmp_path / REVIEW).read_text()
    (tmp_path / REVIEW).write_text(whole.replace("p7", "p8"))  # of the second
    with pytest.warns(HaleWarning, match="damaged"):
        assert Review(tmp_path).facts("accept") == [ONE]


@pytest.mark.parametrize(
    "line",
    [
        '{"a": 1}',
        "[" * 100_000,
        '{"time": "t", "who": "w", "decision": "accept", "head": ["h"], "relation": "r", '
        '"tail": "t"}',
        '{"time": "t", "who": "w", "decision": "maybe", "head": "h", "relation": "r", "tail": "t"}',
        '{"time": "t", "who": "w", "decision": "accept", "head": "h", "relation": "r", '
        '"tail": "t", "score": "high"}',
    ],
)
def test_a_line_of_something_else_is_told(tmp_path: Path, line: str) -> None:
    (tmp_path / REVIEW).write_text(line + "\n")
    with pytest.raises(RunError, match="no decision"):
        Review(tmp_path)


def test_a_line_of_something_else_is_told_until_it_is_mended(
    review: Review, tmp_path: Path
) -> None:
    review.decide(ONE, "accept", who="ada")
    kept = (tmp_path / REVIEW).read_text()
    two = json.dumps(sealed(json.loads(kept) | {"head": "another"})) + "\n"
    (tmp_path / REVIEW).write_text(kept + '{"a": 1}\n' + two)
    for _ in range(2):
        with pytest.raises(RunError, match="no decision"):
            _ = review.entries
    (tmp_path / REVIEW).write_text(kept + two)
    assert len(review.entries) == 2


def test_what_is_no_decision_is_refused(review: Review) -> None:
    with pytest.raises(UnknownNameError, match="'aceptt'"):
        review.decide(ONE, "aceptt", who="ada")
    for who in ("", " \n", "x" * 101):
        with pytest.raises(InputError, match="who decides"):
            review.decide(ONE, "accept", who=who)
    assert not review.path.exists()


def test_a_kill_loses_no_decision(tmp_path: Path) -> None:
    """What was answered is on disk, whenever the kill comes."""
    code = (
        "import sys; from pathlib import Path; from hale.serve.review import Review\n"
        "review = Review(Path(sys.argv[1]))\n"
        "for i in range(100_000):\n"
        "    review.decide((f'e{i}', 'r', 'x'), 'accept', who='ada')\n"
        "    print(i, flush=True)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        answered = [int(child.stdout.readline()) for _ in range(25)]
        child.send_signal(signal.SIGKILL)
        answered += [int(line) for line in child.stdout.read().split()]
    kept = Review(tmp_path).facts("accept")
    assert kept[: len(answered)] == [(f"e{i}", "r", "x") for i in answered]
    assert len(kept) <= len(answered) + 1


def test_exports_are_what_the_commands_read(run: Run, review: Review, tmp_path: Path) -> None:
    facts = [ONE, TWO, THREE, ("ünï cödé", "next", "p0")]
    for fact in facts:
        review.decide(fact, "accept", who="ada")
    file = tmp_path / "accepted.tsv"
    file.write_bytes(facts_as_text(review.facts("accept")))
    read = read_triples(file, what="the facts")
    columns = (read.rows[name].to_list() for name in ("head", "relation", "tail"))
    assert list(zip(*columns, strict=True)) == facts
    found = read_labelled(file, run.graph)
    assert found.labels is None
    named = [
        (run.graph.entities[h], run.graph.relations[r], run.graph.entities[t])
        for h, r, t in found.triples.tolist()
    ]
    assert named == facts


def test_a_fact_that_looks_like_a_header_is_a_fact(tmp_path: Path) -> None:
    file = tmp_path / "accepted.tsv"
    file.write_bytes(facts_as_text([("head", "relation", "tail"), ("a", "r", "b")]))
    assert len(read_triples(file, what="the facts").rows) == 2

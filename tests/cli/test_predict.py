"""hale predict as a user meets it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.invoke import as_json, assert_refused, hale


def names(found: dict[str, Any]) -> list[tuple[int, str]]:
    """Ranks and names; scores differ in their last digits with the size of a batch."""
    return [(answer["rank"], answer["entity"]) for answer in found["answers"]]


def test_predict(trained: Path) -> None:
    found = as_json(
        hale("predict", trained, "--head", "e003", "--relation", "next", "-k", 3, "--json")
    )
    assert found["head"] == "e003"
    assert len(found["answers"]) == 3
    assert set(found["answers"][0]) == {"rank", "entity", "label", "score", "known"}
    assert [answer["rank"] for answer in found["answers"]] == [1, 2, 3]
    known = [a["entity"] for a in found["answers"] if a["known"]]
    assert set(known) <= {"e004"}
    table = hale("predict", trained, "--relation", "next", "--tail", "the first", "-k", 24)
    assert table.exit_code == 0
    assert "?  next  e000 (the first)" in table.stdout
    assert len(table.stdout.splitlines()) == 2 + 23, "all but itself"
    anything = hale("predict", trained, "--head", "e003", "--tail", "e003", "--anything", "--json")
    assert as_json(anything)["answers"] == [], "'next' and 'skip' do not loop"


def test_relations_of_two_entities(run: Path) -> None:
    found = as_json(hale("predict", run, "--head", "e003", "--tail", "e004", "--json"))
    assert (found["head"], found["relation"], found["tail"]) == ("e003", None, "e004")
    assert {a["relation"]: a["known"] for a in found["answers"]} == {"next": True, "skip": False}
    shown = hale("predict", run, "--head", "e003", "--tail", "the first")
    assert "e003  ?  e000 (the first)" in shown.stdout
    left = as_json(
        hale("predict", run, "--head", "e003", "--tail", "e004", "--known", "drop", "--json")
    )
    assert [a["relation"] for a in left["answers"]] == ["skip"]


QUERIES = "e003\tnext\t?\n?\tskip\te005\ne001\t?\te002\n"


def test_a_file_of_queries(run: Path) -> None:
    Path("queries.tsv").write_text(QUERIES)
    found = as_json(hale("predict", run, "--queries", "queries.tsv", "-k", 2, "--json"))["queries"]
    asked = [("e003", "next", None), (None, "skip", "e005"), ("e001", None, "e002")]
    assert [(q["head"], q["relation"], q["tail"]) for q in found] == asked
    single = as_json(
        hale("predict", run, "--relation", "skip", "--tail", "e005", "-k", 2, "--json")
    )
    assert names(found[1]) == names(single)
    shown = hale("predict", run, "--queries", "queries.tsv", "-k", 2).stdout.splitlines()
    assert len(shown) == 3 * (2 + 2)  # a title, a header and two answers each


@pytest.mark.parametrize("name", ["answers.csv", "answers.tsv", "answers.parquet"])
def test_answers_to_a_file(run: Path, name: str) -> None:
    Path("queries.tsv").write_text(QUERIES)
    options = ("--queries", "queries.tsv", "-k", 2)
    written = hale("predict", run, *options, "--out", name)
    assert written.stdout == f"{name}: 3 queries, 6 answers\n"
    if name.endswith("parquet"):
        table = pl.read_parquet(name)
    else:
        table = pl.read_csv(name, separator="," if name.endswith("csv") else "\t")
    found = as_json(hale("predict", run, *options, "--json"))["queries"]
    labels = {"e000": "the first", "e001": "twin", "e002": "twin"}
    rows = []
    for query in found:
        asked = next(place for place in ("head", "relation", "tail") if query[place] is None)
        for answer in query["answers"]:
            fact = {**query, asked: answer.get("entity") or answer["relation"]}
            rows.append(
                (
                    *(fact[place] for place in ("head", "relation", "tail")),
                    *(labels.get(fact[place]) for place in ("head", "tail")),
                    asked,
                    answer["rank"],
                    answer["known"],
                )
            )
    assert table.with_columns(pl.col("known").is_not_null()).drop("score").rows() == rows
    scores = [answer["score"] for query in found for answer in query["answers"]]
    assert table["score"].to_list() == pytest.approx(scores, rel=1e-6)


def test_bad_lines_are_all_told_or_skipped(run: Path) -> None:
    Path("queries.tsv").write_text("nonsense\n" + QUERIES + "e03\tnext\t?\n")
    refused = hale("predict", run, "--queries", "queries.tsv")
    assert refused.exit_code == 2
    assert "line 1: expected 3 columns" in refused.stderr
    assert "line 5: Unknown entity 'e03'. Did you mean" in refused.stderr
    assert refused.stdout == ""
    skipped = hale("predict", run, "--queries", "queries.tsv", "--skip-bad", "--json")
    assert len(as_json(skipped)["queries"]) == 3
    assert "warning: queries.tsv, line 1: expected 3 columns" in skipped.stderr
    assert "warning: queries.tsv, line 5: Unknown entity 'e03'" in skipped.stderr


def test_all_queries_of_a_relation(run: Path) -> None:
    arguments = ("predict", run, "--relation", "next", "--all", "-k", 1, "--json")
    tails = as_json(hale(*arguments))["queries"]
    assert [q["head"] for q in tails] == [f"e{n:03}" for n in range(24)]
    assert {q["tail"] for q in tails} == {None}
    heads = as_json(hale(*arguments, "--direction", "head"))["queries"]
    assert [q["tail"] for q in heads] == [f"e{n:03}" for n in range(24)]
    one = as_json(hale("predict", run, "--relation", "next", "--tail", "e007", "-k", 1, "--json"))
    assert names(heads[7]) == names(one)


def test_which_entities_may_answer(typed: Path) -> None:
    def found(*options: object) -> set[str]:
        asked = ("predict", typed, "--head", "e1", "-k", 100, "--json", *options)
        return {answer["entity"] for answer in as_json(hale(*asked))["answers"]}

    towns, others = {"e12", "e13", "e14"}, {f"e{i}" for i in range(17)} - {"e1"}
    assert found("--relation", "lives") == towns
    assert found("--relation", "lives", "--anything") == others
    assert found("--relation", "lives", "--anything", "--type", "person") == {
        f"e{i}" for i in range(12)
    } - {"e1"}
    both = ("--type", "person", "--type", "town")
    assert found("--relation", "lives", *both) == towns
    Path("some.txt").write_text("e13\ne4\n")
    assert found("--relation", "lives", "--within", "some.txt") == {"e13"}
    assert found("--relation", "knows", "--within", "some.txt") == {"e4"}
    at_home = ("--type", "e12", "--type-relation", "lives")
    assert found("--relation", "knows", *at_home) == {f"e{i}" for i in (0, 2, 3, 5, 6, 8, 9, 11)}


LIVES = ["predict", "run", "--head", "e1", "--relation", "lives"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*LIVES, "--type", "twon"], "Unknown type 'twon'. Did you mean 'town'?"),
        ([*LIVES, "--type", "person"], "let anything answer (--anything, anything=True)"),
        ([*LIVES, "--within", "none.txt"], "none.txt: there is no such file"),
        ([*LIVES, "--within", "run"], "run: cannot be read"),
        ([*LIVES, "--within", "run/settings.json"], "line 1: Unknown entity '{'"),
        ([*LIVES, "--type-relation", "lives"], "(--type-relation) goes with a type (--type)"),
        ([*LIVES, "--type", "x", "--type-relation", "livs"], "Did you mean 'lives'"),
    ],
)
def test_limits_that_cannot_be(typed: Path, arguments: list[str], message: str) -> None:
    assert_refused(arguments, message, beside=[typed.name])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predict", "run", "--head", "e003"], "either a head or a tail"),
        (["predict", "run", "--relation", "next"], "--relation goes with --head, --tail or --all"),
        (["predict", "run", "--queries", "q.tsv", "--head", "e003"], "--queries stands alone"),
        (["predict", "run", "--queries", "q.tsv"], "there is no such file"),
        (["predict", "run", "--all"], "--all goes with --relation"),
        (["predict", "run", "--all", "--relation", "next", "--tail", "e003"], "--all goes with"),
        (["predict", "run", "--all", "--relation", "nxt"], "Did you mean 'next'"),
        (
            ["predict", "run", "--all", "--relation", "next", "--direction", "up"],
            "Unknown direction 'up'",
        ),
        (["predict", "run", "--head", "a", "--tail", "b", "--direction", "head"], "--all"),
        (["predict", "run", "--head", "a", "--tail", "b", "--skip-bad"], "--queries"),
        (["predict", "run", "--head", "e003", "--relation", "next", "-k", "0"], "at least 1"),
        (["predict", "run", "--head", "e1", "--tail", "e2", "--known", "dorp"], "mean 'drop'"),
        (["predict", "run", "--head", "e1", "--tail", "e2", "--out", "x.xls"], "Choose from: .csv"),
        (["predict", "run/none", "--head", "e1", "--tail", "e2"], "There is no run"),
        (["predict", "run", "--head", "e003x", "--relation", "next"], "Did you mean 'e003'"),
        (["predict", "run", "--head", "e003", "--relation", "nex"], "Did you mean 'next'"),
    ],
)
def test_bad_input_is_one_message_and_status_2(
    run: Path, arguments: list[str], message: str
) -> None:
    assert_refused(arguments, message, beside=["run"])


@pytest.mark.parametrize("name", ["settings.json", "model.safetensors", "relations.txt"])
def test_a_damaged_run_names_its_file(run: Path, name: str) -> None:
    (run / name).write_bytes(b"\x80junk")
    result = hale("predict", run, "--head", "e003", "--relation", "next")
    assert result.exit_code == 2
    assert name in result.stderr

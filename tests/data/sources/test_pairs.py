"""Pairs of entities of two graphs."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from hale.data.sources.pairs import read_pairs
from hale.errors import InputError
from tests.conftest import ring

LEFT, RIGHT = ring(6), ring(9)


def test_names_of_either_graph_become_ids(tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text("e001\te008\ne005\te000\ne001\te008\n")
    assert read_pairs(file, LEFT, RIGHT).tolist() == [[1, 8], [5, 0]]
    frame = pl.DataFrame({"right": ["e007"], "left": ["e002"]})  # a header tells which is which
    assert read_pairs(frame, LEFT, RIGHT).tolist() == [[2, 7]]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("e001", "e009")], "Unknown entity 'e009'"),
        ([("e008", "e001")], "Unknown entity 'e008'"),
        ([("e001", "e002"), ("e001", "e003")], "The left 'e001' stands in another pair"),
        ([("e001", "e002"), ("e003", "e002")], "The right 'e002' stands in another pair"),
    ],
)
def test_an_unknown_name_and_a_second_counterpart_are_faults(
    rows: list[tuple[str, str]], message: str
) -> None:
    good = [("e004", "e004")]
    table = pl.DataFrame([*rows, *good], schema=["left", "right"], orient="row")
    with pytest.raises(InputError, match=message):
        read_pairs(table, LEFT, RIGHT)
    kept = read_pairs(table, LEFT, RIGHT, skip_bad=True).tolist()
    assert kept[-1] == [4, 4]
    assert len(kept) == len(rows)  # all but the one that is wrong


def test_nothing_left_is_an_error() -> None:
    table = pl.DataFrame([("x", "y")], schema=["left", "right"], orient="row")
    with pytest.raises(InputError, match="holds no pairs"):
        read_pairs(table, LEFT, RIGHT, skip_bad=True)

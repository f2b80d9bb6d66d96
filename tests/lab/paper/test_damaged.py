"""Files of results that are damaged, or somebody else's: told by name, and counted as missing."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hale.errors import HaleWarning
from hale.lab.paper import read_cells
from hale.lab.paper.damaged import read_or_miss
from hale.lab.paper.figures import read_points
from hale.lab.paper.rank_files import (
    Ranks,
    read_ranks,
    read_triples,
    write_ranks,
    write_triples,
)
from tests.conftest import ring

KEPT = Path(__file__).parents[3] / "scripts/fuzz/seeds"
KEY = "wn18rr-hale-rotl-32-s0-x1"


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    """A cell as it lies beside the page, with ranks of five test triples."""
    shutil.copy(KEPT / f"{KEY}.json", tmp_path)
    ranks = np.array([1, 2, 2.5, 4, 1, 1, 1, 5, 2, 10.0])
    write_ranks(tmp_path, KEY, Ranks(ranks, ranks + 0.5, None, ranks[:4]))
    write_triples(tmp_path, "wn18rr", replace(ring(24), test=ring(24).train[:5]))
    return tmp_path


def test_what_is_whole_is_read_without_a_word(cells: Path) -> None:
    assert list(read_cells(cells)) == [KEY]
    ranks, triples = read_ranks(cells, KEY), read_triples(cells, "wn18rr")
    assert ranks is not None
    assert triples is not None
    assert ranks.headline.tolist() == [1, 2, 2.5, 4, 1, 1, 1, 5, 2, 10]
    assert ranks.plain.tolist() == [1.5, 2.5, 3, 4.5, 1.5, 1.5, 1.5, 5.5, 2.5, 10.5]
    assert ranks.ruled is None
    assert ranks.valid.tolist() == [1, 2, 2.5, 4]
    assert triples.relations.tolist() == ring(24).train[:5, 1].tolist()
    assert triples.seen.all()


@pytest.mark.parametrize(
    "change",
    [
        *("", "{", "[]", "5", "null", '"text"', "\ufeff{}"),
        *({"key": "another"}, {"seed": "first"}, {"curve": [{}]}, {"curve": 5}, {"metrics": {}}),
        *({"settings": {"dim": 0}}, {"settings": {"strategy": "none"}}, {"training": {}}),
        *({"training": {"seconds": "long"}}, {"metrics": {"mrr": "good"}}, {"dim": None}),
    ],
    ids=str,
)
def test_a_damaged_cell_counts_as_missing(cells: Path, change: str | dict[str, object]) -> None:
    path = cells / f"{KEY}.json"
    whole = json.loads(path.read_text())
    path.write_text(change if isinstance(change, str) else json.dumps(whole | change))
    with pytest.warns(HaleWarning, match=rf"{KEY}\.json is damaged .* counts as missing"):
        assert read_cells(cells) == {}


@pytest.mark.parametrize(
    "arrays",
    [
        {"headline": np.array([[2, 2]], np.uint16)},
        {"headline": np.array([2, 2, 2], np.uint16)},  # of one direction, and a half
        {"headline": np.array([2, 0], np.uint16)},
        {"headline": np.array([2.0, 2.0])},
        {"headline": np.array([], np.uint16)},
        {"ruled": np.array([2, 2, 2, 2], np.uint16)},  # of other triples
        {"plain_less_headline": np.array([0, 0], np.uint16)},
        {"plain_less_headline": np.array([0, -1], np.int32)},  # a rank of a half
    ],
    ids=str,
)
def test_ranks_that_are_none_count_as_missing(
    cells: Path, arrays: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.uint16]]]
) -> None:
    two = np.array([2, 2], np.uint16)
    whole = {"headline": two, "valid": two, "plain_less_headline": np.array([0, 0], np.int32)}
    path = cells / "ranks" / f"{KEY}.npz"
    np.savez_compressed(path, allow_pickle=False, **whole)
    assert read_ranks(cells, KEY) is not None
    np.savez_compressed(path, allow_pickle=False, **(whole | arrays))
    with pytest.warns(HaleWarning, match=rf"{KEY}\.npz is damaged"):
        assert read_ranks(cells, KEY) is None


@pytest.mark.parametrize("end", [0, 1, 100, -1])
def test_archives_that_are_cut_count_as_missing(cells: Path, end: int) -> None:
    for name in (KEY, "wn18rr"):
        path = cells / "ranks" / f"{name}.npz"
        path.write_bytes(path.read_bytes()[:end])
    with pytest.warns(HaleWarning, match=rf"{KEY}\.npz is damaged"):
        assert read_ranks(cells, KEY) is None
    with pytest.warns(HaleWarning, match=r"wn18rr\.npz is damaged"):
        assert read_triples(cells, "wn18rr") is None


def test_an_archive_that_leads_out_of_itself_counts_as_missing(cells: Path) -> None:
    """Its directory is said to begin before the file; the offset stands 6 bytes from the end."""
    path = cells / "ranks" / f"{KEY}.npz"
    content = bytearray(path.read_bytes())
    content[-6:-2] = (len(content) * 2).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.warns(HaleWarning, match=rf"{KEY}\.npz is damaged"):
        assert read_ranks(cells, KEY) is None


def test_what_nobody_may_read_is_told_as_it_is(tmp_path: Path) -> None:
    def refused(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    def without_a_name(_path: Path) -> None:
        raise OSError(22, "Invalid argument")  # as a seek to nowhere

    with pytest.raises(PermissionError):
        read_or_miss(tmp_path / "a", refused)
    with pytest.warns(HaleWarning, match="Invalid argument"):
        assert read_or_miss(tmp_path / "a", without_a_name) is None


def test_triples_of_relations_without_a_name_count_as_missing(cells: Path) -> None:
    np.savez_compressed(
        cells / "ranks" / "wn18rr.npz",
        allow_pickle=False,
        names=np.array(["r"]),
        relations=np.array([0, 1], np.uint16),
        seen=np.array([True, True]),
    )
    with pytest.warns(HaleWarning, match=r"wn18rr\.npz is damaged"):
        assert read_triples(cells, "wn18rr") is None


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"points": []}', '{"finished": "", "points": [[1]]}',
     '{"finished": "", "points": [["a", "b"]]}', '{"finished": "", "points": [[NaN, 1]]}'],
)  # fmt: skip
def test_points_that_are_none_count_as_missing(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.points.json"
    assert read_points(path) is None
    path.write_text(text)
    with pytest.warns(HaleWarning, match=r"a\.points\.json is damaged"):
        assert read_points(path) is None
    path.write_text('{"finished": "then", "points": [[1, 2]]}')
    kept = read_points(path)
    assert kept is not None
    assert kept["points"].tolist() == [[1.0, 2.0]]

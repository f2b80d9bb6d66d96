"""A table file is whole under its name, or not there."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from hale.errors import InputError, UnknownNameError
from hale.export.table_file import table_file

PARTS = [
    pl.DataFrame({"name": ["a", 'b "x", y'], "score": [1.5, 2.5], "label": [None, "é\tz"]}),
    pl.DataFrame({"name": ["c"], "score": [-0.5], "label": ["[d]"]}),
]


def read(path: Path) -> pl.DataFrame:
    if path.suffix == ".parquet":
        return pl.read_parquet(path, glob=False)
    if path.suffix == ".tsv":
        return pl.read_csv(path, separator="\t", quote_char=None, glob=False)
    return pl.read_csv(path, glob=False)


@pytest.mark.parametrize("name", ["[x].csv", "x.tsv", "[x].parquet"])
def test_parts_become_one_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / "[new]" / name
    with table_file(path) as file:
        for part in PARTS:
            file.add(part)
        assert not path.exists()
    assert file.rows == 3
    expected = pl.concat(PARTS)
    if name == "x.tsv":  # what would part fields becomes a space
        expected = expected.with_columns(pl.col("label").str.replace("\t", " "))
    assert read(path).equals(expected)
    assert [found.name for found in path.parent.iterdir()] == [name]


@pytest.mark.parametrize("name", ["x.csv", "x.parquet"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupted_one_leaves_the_old(
    tmp_path: Path, name: str, error: type[BaseException]
) -> None:
    path = tmp_path / name
    path.write_text("old")

    def broken_off() -> None:
        with table_file(path) as file:
            file.add(PARTS[0])
            raise error

    with pytest.raises(error):
        broken_off()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["x.csv", "x.parquet"])
def test_what_a_kill_left_is_not_taken_up(tmp_path: Path, name: str) -> None:
    left = table_file(tmp_path / name)
    left.__enter__().add(PARTS[0])  # and never left
    with table_file(tmp_path / name) as file:
        file.add(PARTS[1])
    assert read(tmp_path / name).equals(PARTS[1])
    assert [found.name for found in tmp_path.iterdir()] == [name]


def test_faults(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"'\.xlsx'.*\.csv, \.tsv, \.parquet"):
        table_file(tmp_path / "x.xlsx").__enter__()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        table_file(tmp_path / "file" / "x.csv").__enter__()
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        table_file(tmp_path / "folder.csv").__enter__()


def test_what_a_spreadsheet_would_compute_is_text_where_asked(tmp_path: Path) -> None:
    names = ["=HYPERLINK(1)", "+1", "-x", "@sum", " =1", "plain", "a=b", ""]
    table = pl.DataFrame({"head": names, "score": [-1.0] * len(names)})
    for suffix in (".csv", ".tsv"):
        for safe in (False, True):
            target = tmp_path / f"{safe}{suffix}"
            with table_file(target, csv_safe=safe) as file:
                file.add(table)
            told = pl.read_csv(target, separator="," if suffix == ".csv" else "\t")
            begins = [(name or "")[:1] for name in told["head"].to_list()]
            assert ("=" in begins) is not safe
            assert begins.count("'") == (5 if safe else 0)
            assert told["score"].to_list() == [-1.0] * len(names)  # numbers stay numbers

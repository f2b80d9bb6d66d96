"""Lines of files as columns, wherever the file is cut into parts."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hale.data import lines as lines_module
from hale.data.lines import lines_in, read_lines, whole_lines, write_lines


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


@given(st.text("a\n\ré", max_size=30), st.integers(1, 9))
def test_cuts_do_not_matter(text: str, size: int) -> None:
    found = list(whole_lines(cut(text.encode(), size)))
    expected = text.encode().replace(b"\r\n", b"\n").rstrip(b"\n")
    assert b"\n".join(found) == expected
    assert all(part and not part.endswith(b"\n") for part in found)


def test_lines_of_a_text() -> None:
    assert lines_in("a\n\nb\rc").to_list() == ["a", "", "b\rc"]
    assert lines_in("").to_list() == [""]


@pytest.mark.parametrize(
    "texts", [["a"], ["a", "", "é b", "\x85", "x" * 50], [str(i) for i in range(99)]]
)
def test_what_is_written_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, texts: list[str]
) -> None:
    monkeypatch.setattr(lines_module, "PART_BYTES", 7)
    monkeypatch.setattr(lines_module, "PART_LINES", 3)
    write_lines(tmp_path / "x", pl.Series(texts))
    assert (tmp_path / "x").read_bytes() == "".join(text + "\n" for text in texts).encode()
    assert read_lines(tmp_path / "x").to_list() == texts
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_files_of_nothing(tmp_path: Path) -> None:
    write_lines(tmp_path / "x", pl.Series([], dtype=pl.String))
    assert (tmp_path / "x").read_bytes() == b""
    assert read_lines(tmp_path / "x").to_list() == [""]


def test_no_string_of_python_for_each_line(tmp_path: Path) -> None:
    column = pl.select(pl.int_range(300_000).cast(pl.String)).to_series() + "_entity"
    tracemalloc.start()
    write_lines(tmp_path / "x", column)
    peak = tracemalloc.get_traced_memory()[1]
    assert peak < 4_000_000  # 300,000 strings of Python are 18 MB
    assert read_lines(tmp_path / "x").equals(column)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000  # the bytes of the file, three times over

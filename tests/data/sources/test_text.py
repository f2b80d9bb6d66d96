from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hale.data.lines import LONGEST_LINE, PART_BYTES
from hale.data.sources import reader
from hale.data.sources import text as text_module
from hale.data.sources.assemble import codes_of_names
from hale.data.sources.layout import LABELLED, NAMES, TRIPLES, Columns, parse_columns
from hale.data.sources.reader import read_records
from hale.data.sources.triples import read_triples
from hale.errors import InputError, SourceError


@pytest.fixture
def rows(tmp_path: Path) -> Callable[..., list[tuple[str, ...]]]:
    """Reads text from a file of some suffix, in some other respects asked for."""

    def read(text: str | bytes, suffix: str = ".txt", **options: Any) -> list[tuple[str, ...]]:
        path = tmp_path / f"x{suffix}"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_triples(path, **options).rows.rows()

    return read


Rows = Callable[..., list[tuple[str, ...]]]

ABC = [("a", "r", "b"), ("b", "s", "c")]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("a\tr\tb\nb\ts\tc\n", {}),
        ("a\tr\tb\nb\ts\tc", {}),
        ("a\tr\tb\r\nb\ts\tc\r\n\n\n", {}),
        ("\ufeffa\tr\tb\nb\ts\tc\n", {}),
        ("a,r,b\nb,s,c\n", {}),
        ("a, r , b\nb,s,c\n", {"suffix": ".csv"}),
        ('"a",r,"b"\nb,"s",c\n', {"suffix": ".csv"}),
        ("a\tb\tr\nb\tc\ts\n", {"columns": "htr"}),
        ("head\trelation\ttail\na\tr\tb\nb\ts\tc\n", {}),
        ("Subject,Object,Predicate\na,b,r\nb,c,s\n", {}),
        ("one,two,three\na,r,b\nb,s,c\n", {"header": True}),
        ("head,relation,tail\na,b,r\nb,c,s\n", {"columns": "htr"}),
    ],
)
def test_ways_to_write_two_triples(rows: Rows, text: str, options: dict[str, object]) -> None:
    assert rows(text, **options) == ABC


def test_header_words_as_data_on_request(rows: Rows) -> None:
    assert rows("head\trelation\ttail\n", header=False) == [("head", "relation", "tail")]


def test_a_recognised_header_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("s,p,o\na,r,b\n")
    assert read_triples(path).notes == (
        f"{path}: the first line was taken for a header: head is 's', relation is 'p', tail is 'o'",
    )


def test_a_header_finds_its_columns_among_others(tmp_path: Path) -> None:
    """As in a table of answers that hale wrote."""
    path = tmp_path / "x.tsv"
    path.write_text("rank\ttail\tscore\thead\trelation\n1\tb\t-0.5\ta\tr\n")
    found = read_triples(path)
    assert found.rows.rows() == [("a", "r", "b")]
    assert found.notes[1] == f"{path}: left out the columns 'rank', 'score'"


def test_quoted_names_keep_commas_and_tab_files_keep_quotes(rows: Rows) -> None:
    assert rows('"Paris, Texas",in,"the ""big"" one"\n', suffix=".csv") == [
        ("Paris, Texas", "in", 'the "big" one')
    ]
    assert rows('"x\tr\ty"\n') == [('"x', "r", 'y"')]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (b"", None, "is empty"),
        (b" \n\n", None, "is empty"),
        (b"a\tr\tb\nb\ts\n", 2, "expected 3 columns separated by tabs, found 2"),
        (b"a\tr\tb\nb\ts\tc\td\n", 2, "found 4"),
        (
            b"a\tr\tb\nx\ny\nz\n",
            None,
            "3 bad lines.*\n.*line 2: .*found 1: 'x'\n.*line 3",
        ),
        (b"a\tr\tb\n\nb\ts\tc\n", 2, "is blank"),
        (b"a\tr\tb\nb\t\tc\n", 2, "the relation is empty"),
        (b"a\tr\tb\nb\ts\t  \n", 2, "the tail is empty"),
        (b"a\tr\tb\nb\ts\t\xff\xfe\n", 2, "byte 0xff is not UTF-8"),
        (b"a\tr\tb\nb\ts\tc\0\n", 2, "NUL byte"),
        (b"\x7fELF\x00\x01\xff\xfe", None, "binary file"),
        (b"just words\n", 1, "expected 3 columns separated by tabs, found 1"),
        (b"head\trelation\ttail\n", None, "holds no triples"),
    ],
)
def test_faults_name_file_and_line(rows: Rows, text: bytes, line: int | None, message: str) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        rows(text)
    assert caught.value.line == line
    assert ("x.txt: " if line is None else f"x.txt, line {line}: ") in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('"a",r,b\nb,"s"\n', 2, "expected 3 columns separated by commas, found 2"),
        ('"a ",r,b\n"b",s\n', 2, "found 2"),
        ('a,r,b\nb,s,"c\n', 2, "cannot be read as comma-separated text"),
        ('"a\nb",r,c\n', 1, "the head holds a tab or a line break"),
    ],
)
def test_faults_in_quoted_text(rows: Rows, text: str, line: int, message: str) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        rows(text, suffix=".csv")
    assert caught.value.line == line


def test_columns_are_an_order_names_or_numbers() -> None:
    assert parse_columns(None) is None
    order = parse_columns("htr")
    assert order == Columns({"head": 0, "relation": 2, "tail": 1}, exact=True)
    assert parse_columns("head, tail, relation") == order
    named = parse_columns("person, verb, 3rd")
    assert named == Columns({"head": "person", "relation": "verb", "tail": "3rd"})
    assert parse_columns("1,4,2") == Columns({"head": 0, "relation": 3, "tail": 1})
    for bad in ("hr", "hhr", "abc", "head,relation", "a,b,b", "a,,b", "1,2,3,4"):
        with pytest.raises(InputError, match="each once"):
            parse_columns(bad)
    assert TRIPLES.by_header(["a", "r", "b"]) is None
    assert TRIPLES.by_header(["O", " s ", "x", "p"]) == {"head": 1, "relation": 3, "tail": 0}
    assert NAMES.by_header(["id", "name"]) == {"entity": 0, "label": 1}
    assert NAMES.by_header(["label", "name"]) == {"entity": 1, "label": 0}


def test_a_record_over_two_lines_counts_both(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('"a\nx",r,b\nb,s\n')
    with pytest.raises(SourceError) as caught:
        read_triples(path)
    first, second = str(caught.value).splitlines()[1:]
    assert first == "  - line 1: the head holds a tab or a line break"
    assert second == "  - line 3: expected 3 columns separated by commas, found 2: 'b,s'"


def test_memory_is_not_the_line_limit(rows: Rows) -> None:
    lines = "".join(f"e{i}\tr{i % 7}\te{i + 1}\n" for i in range(20_000))
    assert len(rows(lines)) == 20_000


@pytest.mark.parametrize("size", [1, 2, 5, 64])
@pytest.mark.parametrize(
    ("text", "suffix", "counted"),
    [
        ("a\tr\tb\r\n\nb\ts\nhéad\t r\tx \n\t\t\n\n\n", ".txt", (2, [2, 3, 5])),
        ("\ufeffhead,tail,relation\na,b,r\nc,d\n", ".csv", (1, [3])),
        ('a,r,b\nc,d,e\n"x\n\ny",r,"z ""q"""\n\nb,"s"\nb,s,t\n', ".csv", (3, [3, 6, 7])),
        ("no title\nnor here\na,r,b\nb\tr,s,c\n", ".txt", (1, [1, 2, 4])),
        ("\n\na\tr\tb\n", ".txt", (1, [1, 2])),
    ],
)
def test_cuts_into_parts_do_not_matter(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    suffix: str,
    counted: tuple[int, list[int]],
    size: int,
) -> None:
    path = tmp_path / f"x{suffix}"
    path.write_bytes(text.encode())
    whole = read_records(path, TRIPLES)
    monkeypatch.setattr(reader, "read_parts", lambda path, **_: cut(path.read_bytes(), size))
    monkeypatch.setattr(text_module, "PART_RECORDS", size)
    parts = read_records(path, TRIPLES)
    assert parts.rows.rows() == whole.rows.rows()
    assert sorted(parts.faults) == sorted(whole.faults)
    assert parts.notes == whole.notes
    assert (len(whole.rows), [fault.place for fault in sorted(whole.faults)]) == counted


@pytest.mark.parametrize("size", [1, 3, 64])
@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (b"a\tr\tb\nb\ts\t\xff\xfe\n", 2, "byte 0xff is not UTF-8"),
        (b"a\tr\tb\n\n\nb\ts\tc\0\n", 4, "NUL byte"),
        (b" \n\n \n", None, "is empty"),
        (b'a,r,b\n\nx,"y\n', 3, "cannot be read as comma-separated text"),
    ],
)
def test_faults_name_their_line_in_any_part(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: bytes,
    line: int | None,
    message: str,
    size: int,
) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(text)
    monkeypatch.setattr(reader, "read_parts", lambda path, **_: cut(path.read_bytes(), size))
    with pytest.raises(SourceError, match=message) as caught:
        read_triples(path)
    assert caught.value.line == line


def test_the_width_may_be_known_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first row that fits says whether there are labels; what came before is told by it."""
    path = tmp_path / "x.tsv"
    path.write_text("a title\nanother\na\tr\tb\t1\nc\tr\td\n")
    monkeypatch.setattr(reader, "read_parts", lambda path, **_: cut(path.read_bytes(), 4))
    found = read_records(path, LABELLED)
    assert found.rows.drop("place").rows() == [("a", "r", "b", "1")]
    assert [fault.place for fault in sorted(found.faults)] == [1, 2, 4]
    assert all("expected 4 columns" in fault.what for fault in found.faults)
    path.write_text("a title\nanother\n")
    assert all("expected 3 or 4 columns" in f.what for f in read_records(path, LABELLED).faults)


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


def test_reading_is_followed_and_makes_no_string_for_each_line(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_bytes(b"".join(b"e%d\tr\te%d\n" % (i, i % 1000) for i in range(600_000)))
    size = path.stat().st_size
    seen: list[tuple[int, int | None]] = []
    asked: list[str] = []

    def reading(name: str) -> Callable[[int, int | None], None]:
        asked.append(name)
        return lambda done, total: seen.append((done, total))

    tracemalloc.start()
    found = read_triples(path, dtypes=codes_of_names(), reading=reading)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.rows[123_456].row(0) == ("e123456", "r", "e456")
    assert asked == [str(path)]
    assert seen[-1] == (size, size)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert len(seen) > 1
    assert peak < 8 * PART_BYTES  # a few parts, as bytes and as text; the lines are 40 MB more


def test_a_table_of_far_too_many_columns_is_refused_at_once(tmp_path: Path) -> None:
    """The name of each column is looked at for what it says: 200,000 took a minute."""
    path = tmp_path / "wide.csv"
    path.write_text("," * 200_000 + "\n")
    with pytest.raises(SourceError, match=r"has 200,001 columns; a table of facts has 1,024 at"):
        read_triples(path)


def test_a_line_without_an_end_is_refused_before_it_fills_memory(tmp_path: Path) -> None:
    path = tmp_path / "long.tsv"
    path.write_bytes(b"a\tb\tc\n" + b"x" * (4 * LONGEST_LINE))
    tracemalloc.start()
    try:
        with pytest.raises(SourceError, match="holds a line of more than 8 MB"):
            read_triples(path)
        assert tracemalloc.get_traced_memory()[1] < 5 * LONGEST_LINE
    finally:
        tracemalloc.stop()

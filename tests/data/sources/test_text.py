from __future__ import annotations

from pathlib import Path

import pytest

from hale.data.sources.columns import header_roles, parse_columns
from hale.data.sources.text import read_text
from hale.errors import InputError, SourceError


def rows(text: str | bytes, **options: object) -> list[tuple[str, ...]]:
    data = text.encode() if isinstance(text, str) else text
    frame, _ = read_text(data, "x.txt", **options)  # type: ignore[arg-type]
    return frame.rows()


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
        ("a\tb\tr\nb\tc\ts\n", {"columns": ("head", "tail", "relation")}),
        ("head\trelation\ttail\na\tr\tb\nb\ts\tc\n", {}),
        ("Subject,Object,Predicate\na,b,r\nb,c,s\n", {}),
        ("one,two,three\na,r,b\nb,s,c\n", {"header": True}),
        ("head,relation,tail\na,b,r\nb,c,s\n", {"columns": ("head", "tail", "relation")}),
    ],
)
def test_ways_to_write_two_triples(text: str, options: dict[str, object]) -> None:
    assert rows(text, **options) == ABC


def test_header_words_as_data_on_request() -> None:
    assert rows("head\trelation\ttail\n", header=False) == [("head", "relation", "tail")]


def test_a_recognised_header_is_noted() -> None:
    _, notes = read_text(b"s,p,o\na,r,b\n", "x.csv")
    assert notes == ("x.csv: the first line was taken for a header",)


def test_quoted_names_keep_commas_and_tab_files_keep_quotes() -> None:
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
        (b"a\tr\tb\nx\ny\nz\n", 2, "found 1 \\(2 more such lines follow\\)"),
        (b"a\tr\tb\n\nb\ts\tc\n", 2, "is blank"),
        (b"a\tr\tb\nb\t\tc\n", 2, "the relation is empty"),
        (b"a\tr\tb\nb\ts\t  \n", 2, "the tail is empty"),
        (b"a\tr\tb\nb\ts\t\xff\xfe\n", 2, "byte 0xff is not UTF-8"),
        (b"a\tr\tb\nb\ts\tc\0\n", 2, "NUL byte"),
        (b"\x7fELF\x00\x01\xff\xfe", None, "binary file"),
        (b"just words\n", 1, "separated by tabs or commas"),
        (b"head\trelation\ttail\n", None, "holds no triples"),
    ],
)
def test_faults_name_file_and_line(text: bytes, line: int | None, message: str) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        rows(text)
    assert caught.value.line == line
    assert str(caught.value).startswith("x.txt" if line is None else f"x.txt, line {line}: ")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('"a",r,b\nb,"s"\n', 2, "expected 3 columns separated by commas, found 2"),
        ('"a\nx",r,b\nb,s\n', 3, "found 2"),  # a record over two lines counts both
        ('a,r,b\nb,s,"c\n', 2, "cannot be read as comma-separated text"),
        ('"a\nb",r,c\n', 1, "the head holds a tab or a line break"),
    ],
)
def test_faults_in_quoted_text(text: str, line: int, message: str) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        rows(text, suffix=".csv")
    assert caught.value.line == line


def test_column_orders() -> None:
    assert parse_columns(None) is None
    assert parse_columns("htr") == ("head", "tail", "relation")
    assert parse_columns("relation, head, tail") == ("relation", "head", "tail")
    for bad in ("hr", "hhr", "abc", "head,relation"):
        with pytest.raises(InputError, match="each once"):
            parse_columns(bad)
    assert header_roles(["a", "r", "b"]) is None


def test_memory_is_not_the_line_limit(tmp_path: Path) -> None:
    lines = "".join(f"e{i}\tr{i % 7}\te{i + 1}\n" for i in range(20_000))
    assert len(rows(lines)) == 20_000

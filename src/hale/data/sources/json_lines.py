"""JSON lines -> records: an object with named keys on each line, or an array of values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from hale.data.lines import lines_in
from hale.data.sources.arrangement import Arrangement, Asked, arrange_table
from hale.data.sources.faults import Fault, Faults
from hale.data.sources.layout import Layout
from hale.data.sources.records import Records, checked, typed
from hale.errors import SourceError

SUFFIXES = (".jsonl", ".ndjson", ".json")


def from_json_lines(
    texts: Iterable[str],
    source: str,
    layout: Layout,
    asked: Asked,
    dtypes: Mapping[str, pl.DataType],
) -> Records:
    """The records of texts of whole lines; the first line tells the keys."""
    found: Arrangement | None = None
    by_key, place, faults = True, 1, Faults()
    good: list[pl.DataFrame] = []
    for text in texts:
        lines = lines_in(text)
        if found is None:
            names, by_key = _names(text, source)
            found = arrange_table(names, source, layout, asked)
        assert found.places is not None
        keys: dict[str, Any] = {
            role: found.titles[at] if by_key else at for role, at in found.places.items()
        }
        frame = _at_once(lines, place, keys, len(found.titles))
        if frame is None:
            frame, wrong = _one_by_one(lines, place, keys, len(found.titles))
            faults += wrong
        rows, wrong = checked(frame, layout)
        good.append(typed(rows, dtypes))
        faults += wrong
        place += len(lines)
    assert found is not None
    assert found.places is not None
    titles = tuple(found.titles[found.places[role]] for role in layout.required)
    rows = pl.concat(good, rechunk=True)
    return Records(source, "line", rows, faults, notes=found.notes, titles=titles)


def _names(text: str, source: str) -> tuple[list[str], bool]:
    """What the values of the first line are called: keys, or numbers in an array."""
    line = next((line for line in text.split("\n") if line.strip()), "")
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return list(value), True
    if isinstance(value, list) and value and not isinstance(value[0], dict | list):
        return [str(number + 1) for number in range(len(value))], False
    raise SourceError(
        f"is not JSON lines: every line is one object such as "
        f'{{"head": "a", "relation": "r", "tail": "b"}} or one array of names, got {line[:60]!r}',
        source=source,
    )


def _at_once(
    lines: pl.Series, place: int, keys: Mapping[str, Any], width: int
) -> pl.DataFrame | None:
    """The values of all lines by columns; None if any line is not as it should be."""
    by_key = isinstance(next(iter(keys.values())), str)
    dtype: pl.DataType = (
        pl.Struct(dict.fromkeys(keys.values(), pl.String)) if by_key else pl.List(pl.String())
    )
    try:
        values = lines.str.json_decode(dtype)
    except pl.exceptions.PolarsError:
        return None
    if values.null_count():
        return None
    if by_key:
        columns = {role: values.struct.field(key) for role, key in keys.items()}
    elif (values.list.len() == width).all():
        columns = {role: values.list.get(key) for role, key in keys.items()}
    else:
        return None
    frame = pl.DataFrame({role: column.alias(role) for role, column in columns.items()})
    return frame.with_row_index("place", offset=place)


def _one_by_one(
    lines: pl.Series, place: int, keys: Mapping[str, Any], width: int
) -> tuple[pl.DataFrame, Faults]:
    """The values of the lines that can be read, and what is wrong with the others."""
    kind = dict if isinstance(next(iter(keys.values())), str) else list
    rows: list[list[Any]] = []
    wrong: list[Fault] = []
    for number, line in enumerate(lines, start=place):
        fault: str | None = None
        value: Any = None
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            fault = "is blank" if not line.strip() else f"is not JSON: {line[:60]!r}"
        if fault is None and not isinstance(value, kind):
            what = "object" if kind is dict else "array"
            fault = f"expected an {what}, as on the first line, got {line[:60]!r}"
        if fault is None and kind is list and len(value) != width:
            fault = f"expected {width} values, found {len(value)}: {line[:60]!r}"
        if fault is None:
            found = [value.get(key) if kind is dict else value[key] for key in keys.values()]
            fault = next(
                (
                    f"the {role} is {json.dumps(one)[:60]}, which is no name"
                    for role, one in zip(keys, found, strict=True)
                    if isinstance(one, dict | list) or not _is_text(one)
                ),
                None,
            )
        if fault is None:
            texts = [x if x is None or isinstance(x, str) else json.dumps(x) for x in found]
            rows.append([number, *texts])
        else:
            wrong.append(Fault(number, fault))
    schema = {"place": pl.UInt32, **dict.fromkeys(keys, pl.String)}
    return pl.DataFrame(rows, schema=schema, orient="row"), Faults(wrong)


def _is_text(value: object) -> bool:
    """Whether no lone surrogate is in it, which no file can keep."""
    return not isinstance(value, str) or not any("\ud800" <= sign <= "\udfff" for sign in value)

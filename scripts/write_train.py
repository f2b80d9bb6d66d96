"""Write src/hale/training/signature.py: train() with every setting by name, type and default.

    python scripts/write_train.py

Made from ``hale.training.start.train`` and ``Settings``; a test fails when it is stale.
"""

from __future__ import annotations

import inspect
import json
import textwrap
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import BeforeValidator

from hale.settings import BY_SYSTEM, Flags, Settings
from hale.settings.making import aliases
from hale.settings.values import (
    as_text,
    numbers,
    parse_block,
    parse_duration,
    path_as_text,
    paths_as_texts,
)
from hale.training.start import train

TARGET = Path(__file__).parents[1] / "src" / "hale" / "training" / "signature.py"
# What is read by a function may be given in other ways than it is kept.
GIVEN: dict[Any, str] = {
    parse_duration: "float | str",
    as_text: "int | str",
    parse_block: "float | str",
    numbers: "Sequence[float] | str",
    path_as_text: "str | Path",
    paths_as_texts: "str | Path | Sequence[str | Path]",
}

HEAD = '''"""train(): every setting by name. Written by scripts/write_train.py; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from hale.data.graph import Graph
from hale.runs.run import Run
from hale.settings import Settings
from hale.training.observer import Observer
from hale.training.start import train as start


def train(
{parameters}
) -> Run:
    """{doc}
    """
    given = {{
        name: value
        for name, value in locals().items()
        if name in Settings.model_fields and value is not None
    }}
    return start(
{arguments}
        **given,
        **others,
    )
'''


def written() -> str:
    """The whole file."""
    own = [*inspect.signature(train).parameters.values()][:-1]
    lines = [_parameter(one) for one in own]
    lines.insert(2, "    *,")
    lines += [f"    {name}: {type_of(name)} | None = None," for name in Settings.model_fields]
    lines += ["    **others: object,"]
    passed = [f"        {one.name}," for one in own[:2]]
    passed += [f"        {one.name}={one.name}," for one in own[2:]]
    return HEAD.format(
        parameters="\n".join(lines), doc=indented(doc()), arguments="\n".join(passed)
    )


def _parameter(one: inspect.Parameter) -> str:
    default = "" if one.default is one.empty else f" = {one.default!r}"
    return f"    {one.name}: {one.annotation}{default},"


def doc() -> str:
    """What train says of itself, and a line for each setting."""
    own = inspect.getdoc(train)
    assert own is not None
    told = [
        textwrap.fill(
            f"{name} ({type_of(name)}; {default_of(name)}): {field.description}",
            width=92,
            subsequent_indent="    ",
        )
        for name, field in Settings.model_fields.items()
    ]
    words = ", ".join(f"{word}{'_' if word == 'lambda' else ''}" for word in aliases())
    note = textwrap.fill(
        f"Settings, each None unless given, then as told here; {words} are other words for "
        f"{', '.join(aliases().values())}:",
        width=96,
    )
    return "\n".join([own, "", note, "", *told])


def type_of(name: str) -> str:
    """The type of what may be given for a setting, as it is written."""
    field = Settings.model_fields[name]
    parts = get_args(field.annotation) or (field.annotation,)
    if get_origin(field.annotation) is Literal:
        parts = (field.annotation,)
    inner = [meta for part in parts for meta in getattr(part, "__metadata__", ())]
    for one in (*field.metadata, *inner):
        if isinstance(one, BeforeValidator):
            return GIVEN[one.func]
    return " | ".join(_written(part) for part in parts if part is not type(None))


def _written(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return f"Literal[{', '.join(json.dumps(value) for value in get_args(kind))}]"
    return str(kind.__name__)


def default_of(name: str) -> str:
    """What holds where a setting is not given."""
    field = Settings.model_fields[name]
    flags = next((one for one in field.metadata if isinstance(one, Flags)), Flags())
    if flags.unset:
        words = flags.unset.replace("--", "")
        in_general = flags.unset == BY_SYSTEM and field.default is not None
        return f"{words}, in general {field.default!r}" if in_general else words
    return repr(field.default)


def indented(text: str) -> str:
    """A docstring's lines, the first of which follows the quotes."""
    return textwrap.indent(text, "    ", lambda line: bool(line.strip())).strip()


if __name__ == "__main__":
    TARGET.write_text(written(), encoding="utf-8")
    print(TARGET)

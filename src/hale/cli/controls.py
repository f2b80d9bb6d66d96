r"""Control characters of data are shown, never obeyed: a name holding ``\x1b[2J`` clears no screen.

Escaped are C0 but for the line break, DEL, C1, what turns the reading direction (U+202A to U+202E,
U+2066 to U+2069), and halves of surrogate pairs, which no terminal could encode.
"""

from __future__ import annotations

import json
import re
from typing import Any

from rich.console import Console
from rich.text import Text

_CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def escape_controls(text: str) -> str:
    r"""The text with ``\x1b`` and ``\u202e`` for the characters that a terminal would obey."""
    return _CONTROLS.sub(lambda found: _code(found[0]), text)


def _code(character: str) -> str:
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def json_line(value: object) -> str:
    """One line of JSON, readable but for controls, of which json.dumps escapes C0 alone."""
    text = json.dumps(value, ensure_ascii=False)  # controls are inside strings, where \\u can stand
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class PlainConsole(Console):
    """A console to which names are data: no markup, no emoji codes, no controls."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, soft_wrap=True, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Every string passes here on its way: what is printed, and titles and cells of tables."""
        return super().render_str(escape_controls(text), **options)

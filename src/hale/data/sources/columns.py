"""Which of three columns is the head, the relation and the tail."""

from __future__ import annotations

from collections.abc import Sequence

from hale.errors import InputError

ROLES = ("head", "relation", "tail")

# A first row counts as a header only if all three fields are such words, one per role.
HEADER_WORDS: dict[str, str] = {
    **dict.fromkeys(("head", "subject", "source", "from", "h", "s", "subj", "src"), "head"),
    **dict.fromkeys(("relation", "predicate", "edge", "rel", "property", "r", "p"), "relation"),
    **dict.fromkeys(("tail", "object", "target", "to", "t", "o", "obj", "dst"), "tail"),
}


def parse_columns(text: str | None) -> tuple[str, ...] | None:
    """Read an order of columns: 'hrt', 'htr' or 'head,tail,relation'; None stays None."""
    if text is None:
        return None
    parts = [part.strip().lower() for part in text.split(",")] if "," in text else list(text)
    roles = tuple(HEADER_WORDS.get(part, "") for part in parts)
    if sorted(roles) != sorted(ROLES):
        raise InputError(
            f"The order of columns is given by the letters h, r and t, each once, "
            f"got {text!r}; for example 'hrt' or 'htr'."
        )
    return roles


def header_roles(names: Sequence[str]) -> tuple[str, ...] | None:
    """The roles that a header row names, or None when it is not a header."""
    roles = tuple(HEADER_WORDS.get(name.strip().lower(), "") for name in names)
    return roles if sorted(roles) == sorted(ROLES) else None

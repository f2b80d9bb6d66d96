"""Layout: which columns a kind of file has, by their order or by a header."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hale.errors import InputError

ROLES = ("head", "relation", "tail")

# The usual words of headers, by role.
WORDS: dict[str, tuple[str, ...]] = {
    "head": ("head", "subject", "source", "from", "h", "s", "subj", "src"),
    "relation": ("relation", "predicate", "edge", "rel", "property", "r", "p"),
    "tail": ("tail", "object", "target", "to", "t", "o", "obj", "dst"),
}


@dataclass(frozen=True)
class Layout:
    """The columns of a kind of file, in their usual order.

    ``optional`` ones may follow the ``required``. ``words`` are what a header calls them; one that
    names all required columns counts as a header, in any order and with others between them.
    Columns in ``may_be_blank`` may have empty fields.
    """

    one: str  # what a row is
    many: str
    required: tuple[str, ...]
    words: Mapping[str, Sequence[str]]
    optional: tuple[str, ...] = ()
    may_be_blank: frozenset[str] = field(default_factory=frozenset)

    @property
    def widths(self) -> tuple[int, ...]:
        """How many columns there may be without a header."""
        least = len(self.required)
        return tuple(range(least, least + len(self.optional) + 1))

    def by_order(self, width: int, order: Sequence[str] | None = None) -> dict[str, int]:
        """The place of each column in a row of an allowed width, the required ones in an order."""
        roles = (*(order or self.required), *self.optional)
        return {role: place for place, role in enumerate(roles[:width])}

    def by_header(self, names: Sequence[str]) -> dict[str, int] | None:
        """The place of each column that a header names; None where it is not one."""
        folded = [name.strip().lower() for name in names]
        found: dict[str, int] = {}
        for role in (*self.required, *self.optional):
            places = [
                place
                for word in self.words[role]
                for place, name in enumerate(folded)
                if name == word and place not in found.values()
            ]
            if places:
                found[role] = places[0]
        if not all(role in found for role in self.required):
            return None
        others = [place for place in range(len(folded)) if place not in found.values()]
        absent = [role for role in self.optional if role not in found]
        if len(others) == len(absent) == 1:  # whatever it is called
            found[absent[0]] = others[0]
        return found


TRIPLES = Layout("triple", "triples", ROLES, WORDS)
QUERIES = Layout("query", "queries", ROLES, WORDS, may_be_blank=frozenset(ROLES))
LABELLED = Layout(
    "triple",
    "triples",
    ROLES,
    {**WORDS, "label": ("label", "truth")},
    optional=("label",),
)
NAMES = Layout(
    "id and name",
    "names",
    ("entity", "label"),
    {"entity": ("id", "entity", "name"), "label": ("label", "name")},
    may_be_blank=frozenset({"label"}),
)
TYPES = Layout(
    "entity and type",
    "types",
    ("entity", "type"),
    {"entity": ("id", "entity", "name"), "type": ("type", "class", "kind")},
)


def parse_columns(text: str | None) -> tuple[str, ...] | None:
    """Read an order of columns: 'hrt', 'htr' or 'head,tail,relation'; None stays None."""
    if text is None:
        return None
    parts = [part.strip().lower() for part in text.split(",")] if "," in text else list(text)
    roles = tuple(
        next((role for role, words in WORDS.items() if part in words), "") for part in parts
    )
    if sorted(roles) != sorted(ROLES):
        raise InputError(
            f"The order of columns is given by the letters h, r and t, each once, "
            f"got {text!r}; for example 'hrt' or 'htr'."
        )
    return roles

"""Layout: which columns a kind of file has, by their order, by a header or by choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hale.data.sources.headers import WORDS, find_columns
from hale.errors import InputError

ROLES = ("head", "relation", "tail")
LETTERS = {role[0]: role for role in ROLES}

# What hale writes beside triples, which is no label of theirs however few columns there are.
NO_LABELS = ("rank", "score", "probability", "threshold", "verdict", "weight", "known", "asked")

# A column by its place, from 0, or by its name in a header.
Pick = int | str


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

    def by_order(self, width: int) -> dict[str, int]:
        """The place of each column in a row of an allowed width."""
        roles = (*self.required, *self.optional)
        return {role: place for place, role in enumerate(roles[:width])}

    def by_header(self, names: Sequence[str]) -> dict[str, int] | None:
        """The place of each column that a header names; None where it is not one."""
        found = find_columns(names, self.words)
        if not all(role in found for role in self.required):
            return None
        others = [place for place in range(len(names)) if place not in found.values()]
        absent = [role for role in self.optional if role not in found]
        if len(others) == len(absent) == 1 and names[others[0]].strip().lower() not in NO_LABELS:
            found[absent[0]] = others[0]  # whatever it is called
        return found


TRIPLES = Layout("triple", "triples", ROLES, WORDS)
QUERIES = replace(TRIPLES, one="query", many="queries", may_be_blank=frozenset(ROLES))
LABELLED = replace(
    TRIPLES,
    words={
        **WORDS,
        "relation": tuple(word for word in WORDS["relation"] if word != "label"),
        "label": ("label", "truth"),
    },
    optional=("label",),
)
NAMES = Layout(
    "id and name",
    "names",
    ("entity", "label"),
    {"entity": ("id", "entity", "entityid", "name"), "label": ("label", "name")},
    may_be_blank=frozenset({"label"}),
)
TYPES = Layout(
    "entity and type",
    "types",
    ("entity", "type"),
    {"entity": ("id", "entity", "name"), "type": ("type", "class", "kind")},
)

PAIRS = Layout(
    "pair",
    "pairs",
    ("left", "right"),
    {"left": ("left", "first", "source"), "right": ("right", "second", "target")},
)


@dataclass(frozen=True)
class Columns:
    """Which columns a user says are head, relation and tail.

    ``exact`` where they are all there are: an order such as 'htr', not a choice among others.
    """

    picks: Mapping[str, Pick]
    exact: bool = False

    @property
    def by_name(self) -> bool:
        """Whether a header is needed to find them."""
        return any(isinstance(pick, str) for pick in self.picks.values())


def parse_columns(text: str | None) -> Columns | None:
    """What is said of columns; None stays None.

    'htr' is the order of the three; 'person,verb,thing' are the names that the header gives to
    head, relation and tail, and '1,2,4' are their numbers.
    """
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")] if "," in text else list(text)
    words = tuple(LETTERS.get(part.lower(), part.lower()) for part in parts)
    if sorted(words) == sorted(ROLES):
        return Columns({role: words.index(role) for role in ROLES}, exact=True)
    if "," not in text or len(parts) != 3 or len(set(parts)) != 3 or not all(parts):
        raise InputError(
            f"Columns are an order of the letters h, r and t, each once ('hrt', 'htr'), or three "
            f"names or numbers of columns, those of head, relation and tail ('person,verb,thing', "
            f"'1,2,4'), got {text!r}."
        )
    return Columns(dict(zip(ROLES, map(parse_pick, parts), strict=True)))


def parse_pick(text: str) -> Pick:
    """One column: its place by a number from 1, or its name."""
    return int(text) - 1 if text.isascii() and text.isdigit() and int(text) else text

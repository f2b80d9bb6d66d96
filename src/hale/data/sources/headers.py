"""Headers: what the columns of a file are called, and which of them are meant.

A name is read as its words: ``subject_id``, ``subjectId``, ``Subject`` and ``?subject`` all say
subject; ``:START_ID(Person)`` and ``_start``, as Neo4j writes them, say start.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

# What heads and tails are called: a pair of one line goes before words of two.
ENDS = (
    ("head", "tail"),
    ("subject", "object"),
    ("source", "target"),
    ("from", "to"),
    ("start", "end"),
    ("source", "destination"),
    ("origin", "destination"),
    ("src", "dst"),
    ("src", "dest"),
    ("subj", "obj"),
    ("sub", "obj"),
    ("h", "t"),
    ("s", "o"),
    ("s", "t"),
    ("node1", "node2"),  # KGTK
    ("entity1", "entity2"),
    ("arg1", "arg2"),
    ("item", "value"),  # Wikidata's query service
)
RELATION = (
    *("relation", "relationship", "predicate", "property", "edge", "rel", "pred", "prop"),
    *("metaedge", "interaction", "link", "type", "label", "r", "p"),
)
RELATIONS = frozenset(RELATION)
WORDS: dict[str, tuple[str, ...]] = {
    "head": tuple(dict.fromkeys(head for head, _ in ENDS)),
    "relation": RELATION,
    "tail": tuple(dict.fromkeys(tail for _, tail in ENDS)),
}

# Words that say how a column names things, not what they are; ids before readable names.
BY_ID = frozenset(("id", "ids", "iri", "uri", "url", "qid", "pid", "key", "index", "code"))
BY_NAME = frozenset(("name", "label", "title", "text"))
THINGS = frozenset(("node", "entity", "item", "vertex"))
# Neo4j's importer adds the type of a property after a colon.
TYPES = frozenset(
    (
        *("int", "long", "float", "double", "boolean", "byte", "short", "char", "string"),
        *("date", "time", "datetime", "localtime", "localdatetime", "duration", "point"),
    )
)
BEST, BY_IDS, BY_NAMES = range(3)  # how well a name says a word
LONGEST = 200  # letters of a name that says anything of its column


def find_columns(names: Sequence[str], words: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """The column of each role that the names of a header tell: at most one each.

    Heads and tails are looked for in pairs. Of several columns for one role the one that is
    called just so goes before one of ids, and that before one of readable names; then the order
    of the words counts.
    """
    found: dict[str, int] = {}
    ranks = {role: _ranks(names, words[role]) for role in words}
    if "head" in words and "tail" in words:
        pairs = [
            (max(heads[0], tails[0]), number, heads[2], tails[2])
            for number, (head, tail) in enumerate(ENDS)
            for heads in _ranks(names, (head,))[:1]
            for tails in _ranks(names, (tail,))[:1]
            if heads[2] != tails[2]
        ]
        if pairs:
            *_, found["head"], found["tail"] = min(pairs)
    for role, ranked in ranks.items():
        free = [place for *_, place in ranked if place not in found.values()]
        if role not in found and free:
            found[role] = free[0]
    return {role: found[role] for role in words if role in found}


def _ranks(names: Sequence[str], words: Sequence[str]) -> list[tuple[int, int, int]]:
    """The columns that say one of the words, best first: how well, the word, the column."""
    return sorted(
        (level, words.index(word), place)
        for place, name in enumerate(names)
        for level, word in _said(name, words)
    )


def _said(name: str, words: Sequence[str]) -> list[tuple[int, str]]:
    """Which of some words a column's name says, and how well."""
    tokens = _tokens(name)
    plain = [token for token in tokens if token not in BY_ID]
    named = [token for token in plain if token not in BY_NAME]
    found = []
    for level, rest in ((BEST, list(tokens)), (BY_IDS, plain), (BY_NAMES, named)):
        if not RELATIONS & set(words) and set(rest) - THINGS:
            rest = [token for token in rest if token not in THINGS or token in words]
        if not rest:
            continue
        if "".join(rest) in words:
            found.append((level, "".join(rest)))
        elif all(token in words for token in rest):  # edge_property_id
            found.append((level, rest[0]))
    return found[:1]


@lru_cache(maxsize=4096)  # each is asked for every pair of words
def _tokens(name: str) -> tuple[str, ...]:
    """The words of a column's name, in lower case; none of one that is too long to say anything."""
    if len(name) > LONGEST:
        return ()
    bare = re.sub(r"[({\[].*$", "", name.strip().strip("\ufeff\"'"))
    before, colon, after = bare.rpartition(":")
    if colon:
        bare = before if after.lower() in TYPES else after
    bare = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", bare)
    return tuple(token for token in re.split(r"[\W_]+", bare.lower()) if token)

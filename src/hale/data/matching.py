"""Matching: the texts of a column that a person may mean by what they typed.

Case, accents and underscores do not count. Best first:

    exact   the text itself                        dog       dog
    begin   it begins with the words typed         dog       dog.n.01
    word    it has the words typed                 numpy     python3-numpy
    start   it begins with the letters typed       dog       dogma.n.01
    inner   a word in it begins with them          dog       hot-dogger
    part    the letters stand somewhere            dog       underdog
    near    it, or a word of it, is spelt alike    numpi     python3-numpy

and of one kind the shorter first. The column stays in Arrow memory and is read in parts: no Python
string is made but of what is found.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

import numpy as np
import polars as pl

# Texts that are folded at once.
PART = 1 << 18
# Letters of a text that is looked for: nobody types more, and time grows by their square.
LONGEST = 1000
KINDS = ("exact", "begin", "word", "start", "inner", "part", "near")
# Of so many texts all may be near; of more those that have a piece of the text as it was typed.
MOST_COMPARED = 100_000
# Texts that share most pairs of letters with the one typed: so many are compared letter by letter.
MOST_ALIKE = 1000
# 2 M / (a + b), M letters in common of a and b, from which one is taken for the other; a word of
# a longer text counts a little less than the whole of one.
ALIKE, OF_A_WORD = 0.7, 0.95

OTHER = r"[^\p{L}\p{N}]"  # what parts words
WORD = re.compile(r"[^\W_]+")
# Letters that are no letter with an accent, by what people type for them.
PLAIN = {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th"}


class Match(NamedTuple):
    """Where a text stands in its column, how it was found, and what it is ranked by."""

    place: int
    how: str  # one of KINDS
    order: tuple[int, float, int, int]  # kind, unlikeness, letters, place: the least is the best


def best_matches(column: pl.Series, text: str, k: int) -> list[Match]:
    """The k texts of a column that ``text`` is most likely to mean, best first.

    None for a text that is too long to be compared.
    """
    wanted = fold_text(text) if len(text) <= LONGEST else ""
    if not wanted:
        return []
    k = min(k, len(column))
    found: list[Match] = []
    for first, folded in _parts(column):
        found = heapq.nsmallest(k, [*found, *_containing(folded, wanted, first, k)], key=_order)
    if len(found) < k and not any(match.order[0] <= KINDS.index("word") for match in found):
        held = {match.place for match in found}
        near = (match for match in _near(column, wanted) if match.place not in held)
        found += heapq.nsmallest(k - len(found), near, key=_order)
    return found


def beginning_with(column: pl.Series, start: str, k: int) -> list[int]:
    """The places of up to k texts that begin with exactly these letters, the shortest first."""
    places = column.str.starts_with(start).arg_true()
    letters = column.gather(places).str.len_chars()
    order = letters.arg_sort()[:k]
    return [int(place) for place in places.gather(order)]


def fold_text(text: str) -> str:
    """A text as it is compared; one that is no text (a lone surrogate) as it can be."""
    readable = text.encode(errors="replace").decode()
    return str(fold(pl.Series([readable], dtype=pl.String))[0]).strip()


def fold(column: pl.Series) -> pl.Series:
    """Texts in small letters, without accents, with spaces for underscores."""
    small = column.str.to_lowercase()
    odd = (small.str.len_bytes() != small.str.len_chars()).arg_true()  # not of ASCII alone
    if len(odd):
        letters = small.gather(odd).str.replace_many(PLAIN).str.normalize("NFKD")
        small = small.scatter(odd, letters.str.replace_all(r"\p{M}+", "").str.to_lowercase())
    return small.str.replace_all("_", " ", literal=True)


def _parts(column: pl.Series) -> Iterator[tuple[int, pl.Series]]:
    for first in range(0, len(column), PART):
        yield first, fold(column[first : first + PART])


def _order(match: Match) -> tuple[int, float, int, int]:
    return match.order


def _containing(folded: pl.Series, wanted: str, first: int, k: int) -> list[Match]:
    """The k best texts of a part that have the letters in them."""
    places = folded.str.contains(wanted, literal=True).arg_true()
    if not len(places):
        return []
    text = pl.col("text")
    escaped = pl.escape_regex(wanted)
    starts = text.str.starts_with(wanted)
    kinds = (
        pl.when(text == wanted)
        .then(0)
        .when(starts & text.str.contains(f"^{escaped}(?:$|{OTHER})"))
        .then(1)
        .when(text.str.contains(f"(?:^|{OTHER}){escaped}(?:$|{OTHER})"))
        .then(2)
        .when(starts)
        .then(3)
        .when(text.str.contains(f"{OTHER}{escaped}"))
        .then(4)
        .otherwise(5)
    )
    rows = (
        pl.DataFrame({"place": places, "text": folded.gather(places)})
        .select("place", kinds.alias("kind"), text.str.len_chars().alias("letters"))
        .sort("kind", "letters", "place")
        .head(k)
    )
    return [
        Match(first + place, KINDS[kind], (kind, 0.0, letters, first + place))
        for place, kind, letters in rows.iter_rows()
    ]


def _near(column: pl.Series, wanted: str) -> Iterator[Match]:
    """Texts that are spelt alike, or have a word that is; in no order."""
    pairs = sorted({wanted[i : i + 2] for i in range(len(wanted) - 1)})
    if not pairs:
        return
    kept: list[tuple[int, int, int, str]] = []  # pairs in common, minus letters, minus place, text
    for first, folded in _parts(column):
        if len(column) > MOST_COMPARED:
            places = folded.str.contains_any(_pieces(wanted)).arg_true()
        else:
            places = pl.Series(np.arange(len(folded), dtype=np.uint32))
        texts = folded.gather(places)
        common = np.zeros(len(texts), dtype=np.int64)
        for pair in pairs:
            common += texts.str.contains(pair, literal=True).to_numpy()
        letters = texts.str.len_chars().cast(pl.Int64).to_numpy()
        best = np.lexsort((letters, -common))[:MOST_ALIKE]
        if len(column) > MOST_ALIKE:  # fewer are all compared: 'twon' shares no pair with 'town'
            best = best[common[best] > 0]
        fresh = [
            (
                int(common[row]),
                -int(letters[row]),
                -(first + int(places[int(row)])),
                texts[int(row)],
            )
            for row in best.tolist()
        ]
        kept = heapq.nlargest(MOST_ALIKE, [*kept, *fresh])
    compared = SequenceMatcher(None, "", wanted, autojunk=False)
    for _, fewer, before, text in kept:
        likeness = max(
            (share * _likeness(compared, part) for part, share in _words(text)), default=0.0
        )
        if likeness >= ALIKE:
            yield Match(-before, "near", (KINDS.index("near"), 1 - likeness, -fewer, -before))


def _pieces(wanted: str) -> list[str]:
    """Parts of a text, one of which a slip or two leave as it is."""
    slips = 1 if len(wanted) < 8 else 2
    size = -(-len(wanted) // (slips + 1))
    return [wanted[i : i + size] for i in range(0, len(wanted), size)]


def _words(text: str) -> Iterator[tuple[str, float]]:
    """A text and, if it has several words, each of them, with what its likeness counts."""
    yield text, 1.0
    words = WORD.findall(text)
    if len(words) > 1:
        yield from ((word, OF_A_WORD) for word in words)


def _likeness(compared: SequenceMatcher[str], text: str) -> float:
    compared.set_seq1(text)
    if compared.real_quick_ratio() < ALIKE or compared.quick_ratio() < ALIKE:
        return 0.0
    return compared.ratio()

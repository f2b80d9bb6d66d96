"""The text format of word2vec, which gensim and many others read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hale.export.npy import write_lines
from hale.export.text_rows import joined, write_rows
from hale.export.vectors import Floats, Tables


def write_word2vec(tables: Tables, folder: Path) -> None:
    """entities.txt and relations.txt: a line 'count width', then 'word x x ...' a row.

    The format parts fields by spaces, so a space in a name becomes an underscore;
    words that then meet get _2, _3, ... The files *.words.tsv lead from each word
    back to its name. A relation's tables stand side by side.
    """
    for stem, names, rows in (
        ("entities", tables.names, tables.entities),
        ("relations", tables.row_names, joined(tables)),
    ):
        words = words_of(names)
        _write(folder / f"{stem}.txt", words, rows)
        pairs = zip(words, names, strict=True)
        write_lines(folder / f"{stem}.words.tsv", (f"{word}\t{name}" for word, name in pairs))


def words_of(names: Sequence[str]) -> list[str]:
    """A word without spaces for each name, no two alike; names without spaces keep theirs."""
    whole = {name for name in names if not any(map(str.isspace, name))}
    words: dict[str, None] = {}
    for name in names:
        plain = "".join("_" if letter.isspace() else letter for letter in name)
        word, number = plain, 1
        while word in words or (word in whole and word != name):
            number += 1
            word = f"{plain}_{number}"
        words[word] = None
    return list(words)


def _write(path: Path, words: Sequence[str], rows: Floats) -> None:
    with path.open("wb") as file:
        file.write(f"{len(rows)} {rows.shape[1]}\n".encode())
        write_rows(file, rows, separator=" ", words=words)

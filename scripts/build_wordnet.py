"""Build the bundled WordNet data set from the WordNet 3.0 database files.

The input is the folder of `data.*` and `index.*` files that Debian's package `wordnet-base`
installs (their format is wndb(5WN)); the output is train, valid and test triples, readable labels
and the licence of the database. The same input always gives the same bytes.

    python scripts/build_wordnet.py [DICT_FOLDER] [OUTPUT_FOLDER]

Two properties make the result fit for testing link prediction. Each fact is stated once, neither
with its inverse nor, if symmetric, the other way round, so a test triple can't be read off train by
turning it round. And only the core is kept in which every entity has at least three triples, as
little can be learnt about an entity seen in one.
"""

import argparse
import hashlib
import lzma
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import NamedTuple

DEBIAN_DICT = Path("/usr/share/wordnet")
BUNDLED = Path(__file__).resolve().parent.parent / "src" / "hale" / "data" / "datasets" / "wordnet"

CORE_SIZE = 3
HELD_OUT = 2000
SEED = 2022
LABEL_WORDS = 3

PART_OF_FILE = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}

# The symbols left out (hyponyms, holonyms, domain members) are the inverses of some of these, and
# the participle pointer has no counterpart in the usual WordNet graphs.
RELATION_OF_SYMBOL = {
    "@": "hypernym",
    "@i": "instance_hypernym",
    "%p": "part_meronym",
    "%m": "member_meronym",
    "%s": "substance_meronym",
    "+": "derivationally_related_form",
    ";c": "domain_topic",
    ";r": "domain_region",
    ";u": "domain_usage",
    "^": "also_see",
    "$": "verb_group",
    "&": "similar_to",
    "*": "entailment",
    ">": "cause",
    "=": "attribute",
    "!": "antonym",
    "\\": "pertainym",
}

# WordNet states these both ways, except for a few derivations and about a fifth of also_see.
SYMMETRIC = frozenset(
    {
        "derivationally_related_form",
        "also_see",
        "verb_group",
        "similar_to",
        "attribute",
        "antonym",
    }
)

# The part of speech that comes first is the head of a symmetric fact, so that e.g. an attribute
# always leads from noun to adjective: directions left to chance would be noise to a model.
DIRECTION_OF_PARTS = "nvasr"


class Key(NamedTuple):
    """Where a synset stands: an offset is unique only within the file of a part of speech."""

    part: str
    offset: str


class Synset(NamedTuple):
    """One line of a data file, as far as it is used.

    The letter is the part of speech again, but tells satellites (s) from other adjectives (a).
    """

    key: Key
    letter: str
    lemmas: tuple[str, ...]
    pointers: tuple[tuple[str, Key], ...]


class Triple(NamedTuple):
    """A fact between two named synsets."""

    head: str
    relation: str
    tail: str


class Split(NamedTuple):
    """The triples to learn from and those held out."""

    train: list[Triple]
    valid: list[Triple]
    test: list[Triple]


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a database file after its licence, whose lines begin with a blank."""
    with path.open(encoding="ascii") as file:
        yield from (line for line in file if not line.startswith(" "))


def read_licence(path: Path) -> str:
    """Read the licence at the head of a database file, without its line numbers and padding."""
    with path.open(encoding="ascii") as file:
        numbered = [line for line in file if line.startswith(" ")]
    if not numbered:
        raise ValueError(f"{path} does not begin with the licence of WordNet")
    return "".join(re.sub(r"^ +\d+ ?", "", line).rstrip() + "\n" for line in numbered)


def parse_index_line(line: str) -> tuple[str, list[str]]:
    """Return a lemma and the offsets of its synsets, the first sense first."""
    fields = line.split()
    return fields[0], fields[-int(fields[2]) :]


def parse_data_line(line: str, part: str) -> Synset:
    """Read one synset from its line in the data file of `part`.

    A pointer between two words is taken for one between their synsets.
    """
    fields = line.split(" | ", maxsplit=1)[0].split()
    offset, letter, word_count = fields[0], fields[2], int(fields[3], base=16)
    after_words = 4 + 2 * word_count
    words = fields[4:after_words:2]
    after_count = after_words + 1
    after_pointers = after_count + 4 * int(fields[after_words])
    pointer_fields = fields[after_count:after_pointers]
    return Synset(
        key=Key(part, offset),
        letter=letter,
        lemmas=tuple(strip_marker(word) for word in words),
        pointers=tuple(
            (symbol, Key(target_part, target))
            for symbol, target, target_part in zip(
                pointer_fields[0::4], pointer_fields[1::4], pointer_fields[2::4], strict=True
            )
        ),
    )


def strip_marker(word: str) -> str:
    """Drop the mark of the positions an adjective can stand in, as in `galore(ip)`."""
    return re.sub(r"\((?:a|p|ip)\)$", "", word)


def read_synsets(folder: Path) -> dict[str, Synset]:
    """Read every synset under its name, in the order of the files."""
    named: dict[str, Synset] = {}
    for file_part, part in PART_OF_FILE.items():
        senses = dict(map(parse_index_line, read_lines(folder / f"index.{file_part}")))
        for line in read_lines(folder / f"data.{file_part}"):
            synset = parse_data_line(line, part)
            name = name_synset(synset, senses)
            if name in named:
                raise ValueError(f"two synsets are named {name}: {named[name].key}, {synset.key}")
            named[name] = synset
    return named


def name_synset(synset: Synset, senses: Mapping[str, Sequence[str]]) -> str:
    """Name a synset as `dog.n.01`: first lemma, part of speech, which sense of the lemma it is."""
    lemma = synset.lemmas[0].lower()
    offsets = senses.get(lemma, ())
    if synset.key.offset not in offsets:
        raise ValueError(f"the index does not list {synset.key} under its lemma {lemma!r}")
    return f"{lemma}.{synset.letter}.{offsets.index(synset.key.offset) + 1:02d}"


def collect_triples(synsets: Mapping[str, Synset]) -> set[Triple]:
    """Turn the pointers of the wanted kinds into triples.

    The few derivations between two words of one synset become triples that join it to itself.
    """
    name_of_key = {synset.key: name for name, synset in synsets.items()}
    return {
        Triple(head, RELATION_OF_SYMBOL[symbol], name_of_key[target])
        for head, synset in synsets.items()
        for symbol, target in synset.pointers
        if symbol in RELATION_OF_SYMBOL
    }


def direction(name: str) -> tuple[int, str]:
    """Sort key that says which end of a symmetric fact is the head: the lesser."""
    return DIRECTION_OF_PARTS.index(name.rsplit(".", maxsplit=2)[1]), name


def keep_one_direction(triples: Set[Triple]) -> set[Triple]:
    """Drop one of the two triples of each symmetric fact that is stated both ways.

    With both kept, a test triple would only need turning round to be found in train. A fact stated
    one way stays as it stands.
    """

    def is_repeated(triple: Triple) -> bool:
        return (
            triple.relation in SYMMETRIC
            and Triple(triple.tail, triple.relation, triple.head) in triples
            and direction(triple.tail) < direction(triple.head)
        )

    return {triple for triple in triples if not is_repeated(triple)}


def count_ends(triples: Iterable[Triple]) -> Counter[str]:
    """Count the triples each entity is an end of."""
    return Counter(end for triple in triples for end in (triple.head, triple.tail))


def keep_core(triples: Set[Triple], size: int) -> set[Triple]:
    """Keep the largest part in which every entity is an end of at least `size` triples."""
    core = set(triples)
    while True:
        degrees = count_ends(core)
        sparse = {entity for entity, degree in degrees.items() if degree < size}
        if not sparse:
            return core
        core = {
            triple for triple in core if triple.head not in sparse and triple.tail not in sparse
        }


def split_triples(triples: Set[Triple], held_out: int, seed: int) -> Split:
    """Hold out `held_out` triples for valid and as many for test, by chance.

    A triple is passed over when it is the last in train to show one of its ends or its relation:
    nothing could be learnt about them. One that joins an entity to itself is no test of a model.
    """
    ends = count_ends(triples)
    relations = Counter(triple.relation for triple in triples)
    held: list[Triple] = []
    for triple in sorted(triples, key=lambda triple: draw(triple, seed)):
        if len(held) == 2 * held_out:
            break
        shown = min(ends[triple.head], ends[triple.tail], relations[triple.relation])
        if shown > 1 and triple.head != triple.tail:
            held.append(triple)
            ends.subtract((triple.head, triple.tail))
            relations.subtract((triple.relation,))
    if len(held) < 2 * held_out:
        raise ValueError(f"only {len(held)} of {2 * held_out} triples can be held out")
    return Split(
        train=sorted(triples - set(held), key=file_order),
        valid=sorted(held[0::2], key=file_order),
        test=sorted(held[1::2], key=file_order),
    )


def draw(triple: Triple, seed: int) -> bytes:
    """Return the lot of a triple in the draw for the split.

    A hash, as Python promises the same numbers for a seed only from `random.random`, and as adding
    or losing a triple should not change the lots of the others.
    """
    return hashlib.sha256("\t".join((str(seed), *triple)).encode()).digest()


def file_order(triple: Triple) -> tuple[str, str, str]:
    """Sort key of the triples in a file: runs of one relation and one tail compress best."""
    return triple.relation, triple.tail, triple.head


def label_synset(synset: Synset) -> str:
    """Say in plain words what a synset means, by its first few lemmas."""
    return ", ".join(lemma.replace("_", " ") for lemma in synset.lemmas[:LABEL_WORDS])


def pack(rows: Iterable[Sequence[str]]) -> bytes:
    """Compress rows of tab-separated fields."""
    text = "".join("\t".join(row) + "\n" for row in rows)
    return lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)


def build(dict_folder: Path, core_size: int, held_out: int, seed: int) -> dict[str, bytes]:
    """Return the contents of the files of the data set, by file name."""
    synsets = read_synsets(dict_folder)
    triples = keep_core(keep_one_direction(collect_triples(synsets)), core_size)
    split = split_triples(triples, held_out, seed)
    entities = sorted(count_ends(triples))
    return {
        "train.txt.xz": pack(split.train),
        "valid.txt.xz": pack(split.valid),
        "test.txt.xz": pack(split.test),
        "labels.tsv.xz": pack((entity, label_synset(synsets[entity])) for entity in entities),
        "LICENSE": read_licence(dict_folder / "data.noun").encode(),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Build the data set as the command line says and report the size of each file."""
    parser = argparse.ArgumentParser(description="Build the bundled WordNet data set.")
    parser.add_argument(
        "dict_folder",
        nargs="?",
        type=Path,
        default=DEBIAN_DICT,
        help="folder of the WordNet 3.0 database files (default: %(default)s)",
    )
    parser.add_argument(
        "output_folder",
        nargs="?",
        type=Path,
        default=BUNDLED,
        help="folder to write to (default: that of the bundled data set)",
    )
    options = parser.parse_args(arguments)
    files = build(options.dict_folder, CORE_SIZE, HELD_OUT, SEED)
    options.output_folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (options.output_folder / name).write_bytes(content)
        print(f"{name}: {len(content):,} bytes")


if __name__ == "__main__":
    main()

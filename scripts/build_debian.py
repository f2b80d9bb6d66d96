"""Build a large real graph from the indices of the Debian archive: packages, files, folders.

    python scripts/build_debian.py small  FOLDER      packages alone
    python scripts/build_debian.py medium FOLDER      and the files of some: 10^6 entities
    python scripts/build_debian.py large  FOLDER      and the files of all, up to 10^7 entities

The input is what apt has fetched (/var/lib/apt/lists) or, by --from, any folder of index files:
`Packages`, which tells of every package, and `Contents-*`, which tells of every file; plain or
packed as .lz4, .gz or .xz. The output is train, valid and test triples and about.json, which
says what was read and what came of it. The same input always gives the same bytes. None of it
belongs into the repository.

Kinds of entities never share a name: `vlc` is a package, `section:games`, `source:vlc`,
`maintainer:...`, `host:...`, `tag:...` and `suffix:.png` are what they say, `/usr/bin/vlc` is a
file and `/usr/bin/` a folder; `src:/debian/rules` is a file of source packages.
"""

import argparse
import gzip
import hashlib
import io
import json
import lzma
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple, cast
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt
import polars as pl

APT_LISTS = Path("/var/lib/apt/lists")
APT_HELPER = "/usr/lib/apt/apt-helper"
LIMITS = {"small": 0, "medium": 1_000_000, "large": 10_000_000}
HELD_OUT = 5000
SEED = 2022
BLOCK_BYTES = 1 << 26
BLOCK_ROWS = 1 << 20

# Left out are Priority, Architecture and Multi-Arch: with one value for nearly every package, or
# two, they teach nothing and are guessed by any model.
PACKAGE_FIELDS = {
    "Depends": "depends",
    "Pre-Depends": "pre_depends",
    "Recommends": "recommends",
    "Suggests": "suggests",
    "Enhances": "enhances",
    "Conflicts": "conflicts",
    "Breaks": "breaks",
    "Replaces": "replaces",
    "Provides": "provides",
}
OTHER_FIELDS = ("Package", "Source", "Section", "Maintainer", "Homepage", "Tag")
RELATIONS = (
    *PACKAGE_FIELDS.values(),
    *("source", "section", "maintainer", "homepage", "tag"),
    *("contained_in", "shipped_by", "has_suffix"),
)
ROOTS = ("/", "src:/")
UNFIT = "[\0\t\r\x85\u2028\u2029]"  # what a name in a file of triples cannot hold

NO_PACKAGES = """\
There is no Packages index in {folder}.
On Debian, `apt-get update` fetches it to {lists}. Elsewhere, give --from a folder with the
Packages.xz of any Debian release (dists/RELEASE/main/binary-amd64)."""
NO_CONTENTS = """\
There is no Contents index in {folder}, and {size} is made of packages and their files.
On Debian, `apt-get install apt-file && apt-get update` configures apt for them and fetches them;
with `Types: deb deb-src` in the sources the files of source packages come as well. Elsewhere, put
the Contents-all.gz and Contents-amd64.gz of the release into the folder. Or build 'small'."""

Ids = npt.NDArray[np.uint32]
Numbers = npt.NDArray[np.int64]
Fact = tuple[str, str, str]


class Split(NamedTuple):
    """Which facts, by number, are learnt from and which are held out."""

    train: Numbers
    valid: Numbers
    test: Numbers


class Facts(NamedTuple):
    """Facts in columns of ids; `entities` and RELATIONS have the names."""

    entities: pl.Series
    head: Ids
    relation: Ids
    tail: Ids


# Index files


def find_indices(folder: Path, kind: str) -> list[Path]:
    """The index files of a kind ('Packages', 'Contents-[a-z0-9]+'), as apt or a mirror names them.

    Those of the installer, `Contents-udeb-*`, do not match.
    """
    pattern = re.compile(rf"(.*_)?{kind}(\.lz4|\.gz|\.xz)?")
    files = folder.iterdir() if folder.is_dir() else ()
    return sorted(path for path in files if pattern.fullmatch(path.name))


def origin(path: Path) -> str:
    """What an index is called in its archive: release, component and file, without the server."""
    return path.name.rpartition("_dists_")[2].replace("_", "/")


@contextmanager
def unpacked(path: Path) -> Iterator[IO[bytes]]:
    """Open an index for reading, whatever packs it."""
    if path.suffix == ".lz4":
        with unpacked_by_command(path) as stream:
            yield stream
    elif path.suffix in (".gz", ".xz"):
        with cast(
            IO[bytes], gzip.open(path) if path.suffix == ".gz" else lzma.open(path)
        ) as stream:
            yield stream
    else:
        with path.open("rb") as stream:
            yield stream


@contextmanager
def unpacked_by_command(path: Path) -> Iterator[IO[bytes]]:
    """Open an .lz4 file, which Python cannot: by lz4, or by the helper that comes with apt."""
    if lz4 := shutil.which("lz4"):
        command = [lz4, "-dcq", str(path)]
    elif Path(APT_HELPER).exists():
        command = [APT_HELPER, "cat-file", str(path)]
    else:
        sys.exit(f"{path.name} is packed by lz4, which is not here; install it or unpack the file.")
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: S603
        assert process.stdout is not None
        yield process.stdout
    if process.returncode:
        sys.exit(f"{path} cannot be unpacked; fetch it again by `apt-get update`.")


# Packages


def stanzas(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """The wanted fields of each stanza; a line that begins with a blank continues a field."""
    wanted = {*PACKAGE_FIELDS, *OTHER_FIELDS}
    stanza: dict[str, str] = {}
    field = ""
    for line in lines:
        if not line.strip():
            if stanza:
                yield stanza
            stanza, field = {}, ""
        elif line[0] in " \t":
            if field in wanted:
                stanza[field] += " " + line.strip()
        else:
            field, _, value = line.partition(":")
            if field in wanted:
                stanza[field] = value.strip()
    if stanza:
        yield stanza


def packages_of(field: str) -> list[str]:
    """The names in 'a (>= 1) | b, c:any [amd64]': versions, architectures and profiles dropped.

    An alternative counts like what it is an alternative to.
    """
    found = (re.match(r"\s*([A-Za-z0-9][A-Za-z0-9+.-]*)", part) for part in re.split("[,|]", field))
    return [match[1] for match in found if match]


def facts_of(stanza: Mapping[str, str]) -> Iterator[Fact]:
    """What a stanza says of its package; never that a package stands in a relation to itself."""
    package = stanza["Package"]
    for field, relation in PACKAGE_FIELDS.items():
        for other in packages_of(stanza.get(field, "")):
            if other != package:
                yield package, relation, other
    yield package, "source", "source:" + (stanza.get("Source") or package).split(" ")[0]
    if section := stanza.get("Section"):
        yield package, "section", f"section:{section}"
    if maintainer := stanza.get("Maintainer", "").partition("<")[0].strip(' "'):
        yield package, "maintainer", f"maintainer:{maintainer}"
    if host := host_of(stanza.get("Homepage", "")):
        yield package, "homepage", f"host:{host}"
    for tag in filter(None, re.split(r"[,\s]+", stanza.get("Tag", ""))):
        yield package, "tag", f"tag:{tag}"


def host_of(address: str) -> str:
    """The host of a home page, without the www; nothing for what is no address."""
    try:
        return (urlsplit(address).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def package_facts(indices: Iterable[Path]) -> pl.DataFrame:
    """The facts of all stanzas; what several versions of a package say is put together."""
    facts: dict[Fact, None] = {}
    for path in indices:
        with unpacked(path) as stream:
            lines = io.TextIOWrapper(stream, encoding="utf-8", errors="replace")
            for stanza in stanzas(lines):
                facts |= dict.fromkeys(facts_of(stanza))
    table = pl.DataFrame(list(facts), schema=["head", "relation", "tail"], orient="row")
    return table.filter(~pl.any_horizontal(pl.col("head", "tail").str.contains(UNFIT)))


# Contents


def shipped_files(path: Path) -> Iterator[pl.DataFrame]:
    """Columns file and package of a Contents index, some hundred thousand rows at a time.

    A line is a path, which may hold blanks, then blanks or a tab, then 'section/package,...'.
    """
    of_sources = origin(path).partition(".")[0].endswith("Contents-source")
    root, kind = ("src:/", "source:") if of_sources else ("/", "")
    parts = pl.col("line").str.extract_groups(r"^(?:\./)?(.*\S)\s+(\S+)$")
    with unpacked(path) as stream:
        for block in line_blocks(stream):
            lines = pl.Series("line", [block.decode("utf-8", "replace")]).str.split("\n").explode()
            yield (
                pl.DataFrame(lines)
                .select(parts.struct.rename_fields(["file", "package"]).alias("parts"))
                .unnest("parts")
                .drop_nulls()
                .filter((pl.col("file") != "FILE") & ~pl.col("file").str.contains(UNFIT))
                .with_columns(
                    (root + pl.col("file")).str.replace_all("//+", "/").alias("file"),
                    pl.col("package").str.split(","),
                )
                .explode("package")
                .with_columns((kind + pl.col("package").str.replace("^.*/", "")).alias("package"))
            )


def line_blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """Whole lines, about BLOCK_BYTES of them at a time."""
    rest = b""
    while block := stream.read(BLOCK_BYTES):
        whole, end, rest = (rest + block).rpartition(b"\n")
        if end:
            yield whole
    if rest:
        yield rest


def choose_packages(indices: Sequence[Path], room: int) -> list[str]:
    """As many packages as there is room for their files and folders, binary before source ones.

    They come in an order of chance that is the same everywhere, and whole, so that what a package
    ships stays together. A folder that two share counts twice: the room is used up nearly.
    """
    sizes: Counter[str] = Counter()
    for path in indices:
        for files in shipped_files(path):
            folder = parent(pl.col("file"))
            size = files.group_by("package").agg(pl.col("file").n_unique() + folder.n_unique())
            sizes.update(dict(size.iter_rows()))
    chosen = []
    for package in sorted(sizes, key=lambda name: (name.startswith("source:"), lot(name))):
        if sizes[package] <= room:
            room -= sizes[package]
            chosen.append(package)
    return chosen


def lot(name: str) -> bytes:
    """The place of a package in the order of chance."""
    return hashlib.sha256(name.encode()).digest()


def parent(names: pl.Expr) -> pl.Expr:
    """The folder that files and folders stand in, '/usr/bin/' for '/usr/bin/vlc'."""
    return names.str.replace("[^/]+/*$", "")


def folders_above(files: pl.Series) -> pl.Series:
    """All folders that the files are in, up to the roots."""
    levels = [files]
    while len(levels[-1]):
        below = pl.DataFrame({"name": levels[-1]}).filter(~pl.col("name").is_in(ROOTS))
        levels.append(below.select(parent(pl.col("name"))).to_series().unique())
    return pl.concat(levels[1:]).unique()


def file_facts(indices: Sequence[Path], chosen: Collection[str]) -> dict[str, pl.DataFrame]:
    """Pairs of head and tail by relation: what the chosen packages ship, and where it lies."""
    packages = pl.Series(sorted(chosen), dtype=pl.String).implode()
    blocks = (block for path in indices for block in shipped_files(path))
    shipped = pl.concat([b.filter(pl.col("package").is_in(packages)) for b in blocks]).unique()
    files = shipped["file"].unique()
    names = pl.concat([files, folders_above(files)])
    lying = pl.DataFrame({"head": names}).filter(~pl.col("head").is_in(ROOTS))
    suffix = pl.col("head").str.extract(r"[^/.](\.[A-Za-z][A-Za-z0-9]{0,7})$").str.to_lowercase()
    return {
        "contained_in": lying.with_columns(parent(pl.col("head")).alias("tail")),
        "shipped_by": shipped.rename({"file": "head", "package": "tail"}),
        "has_suffix": pl.DataFrame({"head": files})
        .with_columns(("suffix:" + suffix).alias("tail"))
        .drop_nulls(),
    }


# Ids, splits, files


def number(pairs: Mapping[str, pl.DataFrame]) -> Facts:
    """Number the names in sorted order: from here on ten million facts are a few arrays."""
    ends = [table[end].unique() for table in pairs.values() for end in ("head", "tail")]
    entities = pl.concat(ends).unique().sort()
    names = pl.Enum(entities)
    tables = [
        table.select(
            pl.lit(RELATIONS.index(relation), dtype=pl.UInt32).alias("relation"),
            pl.col("head", "tail").cast(names).to_physical().cast(pl.UInt32),
        )
        for relation, table in pairs.items()
    ]
    facts = pl.concat(tables).sort("relation", "head", "tail")
    return Facts(entities, *(facts[column].to_numpy() for column in ("head", "relation", "tail")))


def split_facts(facts: Facts, held_out: int, seed: int) -> Split:
    """Hold out `held_out` facts for valid and as many for test, by chance.

    In a random order, the first fact of every entity and of every relation stays in train, so
    nothing held out is unseen there; where too few are left, both splits shrink alike.
    """
    order = np.random.default_rng(seed).permutation(len(facts.head))
    stays = np.zeros(len(order), dtype=bool)
    stays[first_places([facts.head, facts.tail], len(facts.entities), order)] = True
    stays[first_places([facts.relation], len(RELATIONS), order)] = True
    free = order[~stays]
    held_out = min(held_out, len(free) // 2)
    valid, test = free[:held_out], free[held_out : 2 * held_out]
    learnt = np.ones(len(order), dtype=bool)
    learnt[valid] = learnt[test] = False
    return Split(np.flatnonzero(learnt), np.sort(valid), np.sort(test))


def first_places(columns: Sequence[Ids], count: int, order: Numbers) -> Numbers:
    """Where in the order each of `count` ids is first met in any of the columns."""
    never = len(order)
    first = np.full(count, never, dtype=np.int64)
    for ids in columns:
        met = np.full(count, never, dtype=np.int64)
        # Of several values for one id the last is kept: written backwards, that is the first.
        met[ids[order[::-1]]] = np.arange(never)[::-1]
        np.minimum(first, met, out=first)
    return first[first < never]


def write_facts(facts: Facts, chosen: Numbers, path: Path) -> str:
    """Write the chosen facts by name, some at a time, and return the SHA-256 of the file."""
    digest = hashlib.sha256()
    relations = pl.Series(RELATIONS)
    with path.open("wb") as file:
        for begin in range(0, len(chosen), BLOCK_ROWS):
            part = chosen[begin : begin + BLOCK_ROWS]
            table = pl.DataFrame(
                {
                    "head": facts.entities.gather(facts.head[part]),
                    "relation": relations.gather(facts.relation[part]),
                    "tail": facts.entities.gather(facts.tail[part]),
                }
            )
            text = table.write_csv(separator="\t", include_header=False, quote_style="never")
            digest.update(text.encode())
            file.write(text.encode())
    return digest.hexdigest()


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def build(source: Path, size: str, output: Path, held_out: int, seed: int) -> dict[str, object]:
    """Write the graph of a size to a folder, and return what about.json says of it."""
    packages = find_indices(source, "Packages")
    contents = find_indices(source, "Contents-[a-z0-9]+") if LIMITS[size] else []
    if not packages:
        sys.exit(NO_PACKAGES.format(folder=source, lists=APT_LISTS))
    if LIMITS[size] and not contents:
        sys.exit(NO_CONTENTS.format(folder=source, size=size))
    table = package_facts(packages)
    pairs = {
        str(name): part for (name,), part in table.partition_by("relation", as_dict=True).items()
    }
    if contents:
        taken = pl.concat([table["head"], table["tail"]]).n_unique()
        pairs |= file_facts(contents, choose_packages(contents, LIMITS[size] - taken))
    facts = number(pairs)
    split = split_facts(facts, held_out, seed)
    output.mkdir(parents=True, exist_ok=True)
    about: dict[str, object] = {
        "size": size,
        "seed": seed,
        "entities": len(facts.entities),
        "facts": len(facts.head),
        "relations": {name: len(pairs[name]) for name in RELATIONS if name in pairs},
        "splits": {name: len(part) for name, part in split._asdict().items()},
        "from": {origin(path): sha256_of(path) for path in (*packages, *contents)},
        "files": {
            f"{name}.txt": write_facts(facts, part, output / f"{name}.txt")
            for name, part in split._asdict().items()
        },
    }
    (output / "about.json").write_text(json.dumps(about, indent=1) + "\n")
    return about


def main(arguments: Sequence[str] | None = None) -> None:
    """Build the graph as the command line says and report its size."""
    parser = argparse.ArgumentParser(description="Build a graph from Debian's package indices.")
    parser.add_argument("size", choices=LIMITS, help="packages alone, or with files of some or all")
    parser.add_argument("output", type=Path, help="folder to write to")
    parser.add_argument(
        "--from",
        dest="source",
        type=Path,
        default=APT_LISTS,
        metavar="FOLDER",
        help="folder of index files (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=SEED, help="of the split (%(default)s)")
    parser.add_argument(
        "--held-out", type=int, default=HELD_OUT, help="facts in valid and in test (%(default)s)"
    )
    asked = parser.parse_args(arguments)
    about = build(asked.source, asked.size, asked.output, asked.held_out, asked.seed)
    print(f"{asked.output}: {about['facts']:,} facts of {about['entities']:,} entities")
    for name, count in cast(dict[str, int], about["relations"]).items():
        print(f"  {name:<14}{count:>12,}")


if __name__ == "__main__":
    main()

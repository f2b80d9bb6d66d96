"""The builder of graphs from Debian's indices, on a few packages worked out by hand."""

import gzip
import importlib.util
import io
import json
import lzma
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import polars as pl
import pytest

import hale

SCRIPT = Path(__file__).parents[2] / "scripts" / "build_debian.py"


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_debian", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


debian = load_script()

PACKAGES = """\
Package: player
Source: media (1.2-3)
Version: 1.2-3+b1
Maintainer: "Ann Ö. Example" <ann@example.org>
Architecture: amd64
Depends: libc6 (>= 2.34), gui-a (>= 5~rc1) | gui-b,
 python3:any (<< 4), helper [amd64] <!nocheck>
Breaks: player (<< 1), old-player
Provides: video-player (= 1.2)
Homepage: https://www.example.org/player?x=1
Tag: interface::graphical, role::program,
 use::playing
Section: video
Description: plays
 Depends: on nothing, as this is prose

Package: libc6
Priority: optional
Maintainer: Libraries Team <team@example.org>
Section: libs
Homepage: https://[broken
Pre-Depends: libgcc-s1
"""
PACKAGE_FACTS = {
    ("player", "depends", "libc6"),
    ("player", "depends", "gui-a"),
    ("player", "depends", "gui-b"),
    ("player", "depends", "python3"),
    ("player", "depends", "helper"),
    ("player", "breaks", "old-player"),
    ("player", "provides", "video-player"),
    ("player", "source", "source:media"),
    ("player", "section", "section:video"),
    ("player", "maintainer", "maintainer:Ann Ö. Example"),
    ("player", "homepage", "host:example.org"),
    ("player", "tag", "tag:interface::graphical"),
    ("player", "tag", "tag:role::program"),
    ("player", "tag", "tag:use::playing"),
    ("libc6", "pre_depends", "libgcc-s1"),
    ("libc6", "source", "source:libc6"),
    ("libc6", "section", "section:libs"),
    ("libc6", "maintainer", "maintainer:Libraries Team"),
}

# Columns are filled up with blanks, at least one; names may hold blanks and have no suffix.
CONTENTS = """\
FILE                                                    LOCATION
bin/player                                              video/player
usr/share/player/My Song.OGG                            video/player
usr/share/player/a.tar.gz video/player,non-free/libs/libc6
usr/share/player                                        libs/libc6
"""
CONTENTS_SOURCE = "debian/rules\tmedia,libc6\nREADME\tmedia\n"
FILE_FACTS = {
    ("/bin/player", "contained_in", "/bin/"),
    ("/bin/", "contained_in", "/"),
    ("/usr/share/player/My Song.OGG", "contained_in", "/usr/share/player/"),
    ("/usr/share/player/a.tar.gz", "contained_in", "/usr/share/player/"),
    # A link in one package is a folder in another.
    ("/usr/share/player", "contained_in", "/usr/share/"),
    ("/usr/share/player/", "contained_in", "/usr/share/"),
    ("/usr/share/", "contained_in", "/usr/"),
    ("/usr/", "contained_in", "/"),
    ("/bin/player", "shipped_by", "player"),
    ("/usr/share/player/My Song.OGG", "shipped_by", "player"),
    ("/usr/share/player/a.tar.gz", "shipped_by", "player"),
    ("/usr/share/player/a.tar.gz", "shipped_by", "libc6"),
    ("/usr/share/player", "shipped_by", "libc6"),
    ("/usr/share/player/My Song.OGG", "has_suffix", "suffix:.ogg"),
    ("/usr/share/player/a.tar.gz", "has_suffix", "suffix:.gz"),
}
SOURCE_FACTS = {
    ("src:/debian/rules", "contained_in", "src:/debian/"),
    ("src:/debian/", "contained_in", "src:/"),
    ("src:/README", "contained_in", "src:/"),
    ("src:/debian/rules", "shipped_by", "source:media"),
    ("src:/debian/rules", "shipped_by", "source:libc6"),
    ("src:/README", "shipped_by", "source:media"),
}


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    """Indices as apt names them, each packed another way, and files that are none."""
    folder = tmp_path / "lists"
    folder.mkdir()
    start = "example.org_debian_dists_woody_main_"
    (folder / f"{start}binary-amd64_Packages").write_text(PACKAGES)
    (folder / f"{start}Contents-all.gz").write_bytes(gzip.compress(CONTENTS.encode()))
    (folder / f"{start}Contents-source.xz").write_bytes(lzma.compress(CONTENTS_SOURCE.encode()))
    (folder / f"{start}Contents-udeb-all").write_text("bin/tiny debian-installer/tiny\n")
    (folder / "example.org_debian_dists_woody_InRelease").write_text("Contents-all\n")
    return folder


def read(folder: Path, split: str) -> list[tuple[str, ...]]:
    text = (folder / f"{split}.txt").read_text()
    return [tuple(line.split("\t")) for line in text.splitlines()]


def all_facts(folder: Path) -> list[tuple[str, ...]]:
    return [fact for split in ("train", "valid", "test") for fact in read(folder, split)]


@pytest.mark.parametrize(
    ("field", "names"),
    [
        ("a (>= 1) | b, c:any", ["a", "b", "c"]),
        ("libstdc++6 (>= 4.1~rc1), g++-12 | 2to3", ["libstdc++6", "g++-12", "2to3"]),
        ("a [amd64 !i386] <!cross>,", ["a"]),
        ("", []),
    ],
)
def test_names_in_a_field(field: str, names: list[str]) -> None:
    assert debian.packages_of(field) == names


def test_stanzas_end_with_a_blank_line_or_the_file() -> None:
    found = list(debian.stanzas(io.StringIO("\n\nPackage: a\nTag: x,\n\ty\n\n\nPackage: b")))
    assert found == [{"Package": "a", "Tag": "x, y"}, {"Package": "b"}]


def test_small_has_packages_alone(lists: Path, tmp_path: Path) -> None:
    debian.main(["small", str(tmp_path / "out"), "--from", str(lists)])
    found = all_facts(tmp_path / "out")
    assert set(found) == PACKAGE_FACTS
    assert len(found) == len(PACKAGE_FACTS)


def test_large_has_every_file_and_folder(lists: Path, tmp_path: Path) -> None:
    debian.main(["large", str(tmp_path / "out"), "--from", str(lists)])
    found = all_facts(tmp_path / "out")
    assert set(found) == PACKAGE_FACTS | FILE_FACTS | SOURCE_FACTS
    assert len(found) == len(set(found))


def test_two_releases_say_a_fact_once(lists: Path, tmp_path: Path) -> None:
    for name in ("binary-amd64_Packages", "Contents-all.gz"):
        shutil.copy(
            lists / f"example.org_debian_dists_woody_main_{name}",
            lists / f"example.org_debian_dists_woody-updates_main_{name}",
        )
    debian.main(["large", str(tmp_path / "out"), "--from", str(lists)])
    assert len(all_facts(tmp_path / "out")) == len(PACKAGE_FACTS | FILE_FACTS | SOURCE_FACTS)


def test_the_folder_is_a_graph_that_hale_reads(lists: Path, tmp_path: Path) -> None:
    debian.main(["large", str(tmp_path / "out"), "--from", str(lists), "--held-out", "3"])
    graph = hale.load(tmp_path / "out")
    about = json.loads((tmp_path / "out" / "about.json").read_text())
    assert len(graph.entities) == about["entities"]
    assert (len(graph.train), len(graph.valid), len(graph.test)) == (
        about["facts"] - 6,
        3,
        3,
    )
    assert graph.notes == (), "no repeats, and nothing held out that train lacks"


def test_what_about_says(lists: Path, tmp_path: Path) -> None:
    debian.main(["large", str(tmp_path / "out"), "--from", str(lists), "--held-out", "2"])
    about = json.loads((tmp_path / "out" / "about.json").read_text())
    facts = PACKAGE_FACTS | FILE_FACTS | SOURCE_FACTS
    assert about["facts"] == len(facts)
    assert about["entities"] == len({end for head, _, tail in facts for end in (head, tail)})
    assert about["relations"]["contained_in"] == 11
    assert about["relations"]["shipped_by"] == 8
    assert about["splits"] == {"train": len(facts) - 4, "valid": 2, "test": 2}
    assert sorted(about["from"]) == [
        "woody/main/Contents-all.gz",
        "woody/main/Contents-source.xz",
        "woody/main/binary-amd64/Packages",
    ]
    for name, digest in about["files"].items():
        assert debian.sha256_of(tmp_path / "out" / name) == digest


def test_the_same_input_gives_the_same_bytes(lists: Path, tmp_path: Path) -> None:
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        debian.main(["large", str(tmp_path / name), "--from", str(lists), "--seed", seed])
    first, again, other = ((tmp_path / name / "test.txt").read_bytes() for name in "abc")
    assert first == again != other


def test_medium_takes_whole_packages_until_there_is_no_room(
    lists: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = len({end for head, _, tail in PACKAGE_FACTS for end in (head, tail)})
    # player ships 3 files in 2 folders; libc6 2 files in 2; the sources 2 in 2 and 1 in 1.
    for room, taken in ((3, {"source:libc6"}), (4, {"libc6"}), (100, None)):
        monkeypatch.setitem(debian.LIMITS, "medium", ends + room)
        output = tmp_path / str(room)
        debian.main(["medium", str(output), "--from", str(lists)])
        shipped = {tail for _, relation, tail in all_facts(output) if relation == "shipped_by"}
        assert shipped == (taken or {"player", "libc6", "source:media", "source:libc6"})


def test_blocks_end_between_lines(
    lists: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debian, "BLOCK_BYTES", 10)
    monkeypatch.setattr(debian, "BLOCK_ROWS", 4)
    debian.main(["large", str(tmp_path / "out"), "--from", str(lists)])
    assert set(all_facts(tmp_path / "out")) == PACKAGE_FACTS | FILE_FACTS | SOURCE_FACTS


def test_names_that_would_break_a_line_are_left_out(lists: Path, tmp_path: Path) -> None:
    bad = "bin/tab\tbed  video/player\nbin/line\u2028d  video/player\nbin//twice  video/player\n"
    (lists / "Contents-amd64").write_text(bad)
    debian.main(["large", str(tmp_path / "out"), "--from", str(lists)])
    more = {("/bin/twice", "contained_in", "/bin/"), ("/bin/twice", "shipped_by", "player")}
    assert set(all_facts(tmp_path / "out")) == PACKAGE_FACTS | FILE_FACTS | SOURCE_FACTS | more


def numbered(triples: list[tuple[int, int, int]], entities: int) -> object:
    columns = np.array(triples, dtype=np.uint32).T
    return debian.Facts(pl.Series([f"e{i}" for i in range(entities)]), *columns)


@pytest.mark.parametrize("seed", range(20))
def test_split_leaves_every_entity_and_relation_in_train(seed: int) -> None:
    # A triangle, the only fact of entity 3, and the only fact of relation 1.
    triples = [(0, 0, 1), (1, 0, 2), (2, 0, 0), (0, 0, 3), (0, 1, 1)]
    split = debian.split_facts(numbered(triples, 4), 1, seed)
    assert len(split.valid) == len(split.test) == 1 or len(split.train) == 5
    assert sorted([*split.train, *split.valid, *split.test]) == [0, 1, 2, 3, 4]
    assert {3, 4} <= set(split.train)
    ends = {end for i in split.train for end in (triples[i][0], triples[i][2])}
    assert ends == {0, 1, 2, 3}


def test_split_holds_out_by_chance_as_many_as_asked() -> None:
    draws = np.random.default_rng(0)
    triples = [tuple(row) for row in draws.integers(0, (20, 5, 20), (400, 3)).tolist()]
    splits = [debian.split_facts(numbered(triples, 20), 50, seed) for seed in range(4)]
    assert all(len(split.valid) == len(split.test) == 50 for split in splits)
    assert len({tuple(split.test) for split in splits}) == 4
    # Held out anywhere in the file, not from one end of it.
    assert all(100 < split.test.mean() < 300 for split in splits)


def test_lz4_is_unpacked_by_a_command(lists: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = lists / "Packages.lz4"
    if shutil.which("lz4"):
        done = subprocess.run(["lz4", "-c"], input=b"text\n", capture_output=True, check=True)
        path.write_bytes(done.stdout)
        with debian.unpacked(path) as stream:
            assert stream.read() == b"text\n"
        path.write_bytes(done.stdout[:9])
        with pytest.raises(SystemExit, match="fetch it again"), debian.unpacked(path) as stream:
            stream.read()
    monkeypatch.setattr(debian, "APT_HELPER", "/nowhere")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(SystemExit, match="packed by lz4"), debian.unpacked(path):
        pass


def test_without_indices_it_says_how_to_get_them(lists: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="There is no Packages index in .*nowhere") as caught:
        debian.main(["small", str(tmp_path / "out"), "--from", str(tmp_path / "nowhere")])
    assert "apt-get update" in str(caught.value)
    for path in lists.glob("*Contents*"):
        path.unlink()
    with pytest.raises(SystemExit, match="medium is made of packages and their files") as caught:
        debian.main(["medium", str(tmp_path / "out"), "--from", str(lists)])
    assert "apt-get install apt-file" in str(caught.value)
    assert not (tmp_path / "out").exists()

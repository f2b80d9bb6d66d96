"""The builder of the bundled data set, on a WordNet of 27 synsets worked out by hand."""

import importlib.util
import lzma
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "build_wordnet.py"


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_wordnet", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


wordnet = load_script()
T = wordnet.Triple

LICENCE = """\
  1 Permission to use this is granted, provided that you
  2 agree to 1 condition.
  3
  4 All rights reserved.
"""

# Offsets are repeated between files on purpose, and the senses of "dog" are in another order in the
# index than in the data file. The real files end their lines in two blanks, which the fixture adds.
FILES = {
    "data.noun": """\
00000010 05 n 01 animal 0 001 ~ 00000020 n 0000 | a living thing
00000020 05 n 04 Dog 0 domestic_dog 0 Canis_familiaris 0 pooch 0 004 @ 00000010 n 0000 \
#m 00000030 n 0000 %p 00000040 n 0000 + 00000010 v 0101 | a pet; "it + barked"
00000030 14 n 01 pack 0 001 %m 00000020 n 0000 | a group
00000040 05 n 01 tail 0 001 #p 00000020 n 0000 | an appendage
00000050 05 n 01 Rex 0 001 @i 00000020 n 0000 | a famous one
00000060 27 n 01 ice 0 001 %s 00000070 n 0000 | a solid
00000070 27 n 01 water 0 001 #s 00000060 n 0000 | a liquid
00000080 09 n 01 physics 0 002 -c 00000050 a 0000 + 00000130 n 0101 | a science
00000090 18 n 02 frump 0 dog 0 000 | a dull person
00000095 18 n 01 dog 0 000 | a fellow
00000100 17 n 02 isle 0 islet 0 002 + 00000100 n 0102 + 00000100 n 0201 | a small island
00000110 07 n 01 size 0 002 = 00000010 a 0000 = 00000030 a 0000 | a magnitude
00000120 10 n 01 slang 0 001 -u 00000060 a 0000 | informal language
00000130 18 n 01 physicist 0 001 + 00000080 n 0101 | a scientist
00000140 15 n 01 Scotland 0 001 -r 00000060 a 0000 | a country
""",
    "data.verb": """\
00000010 32 v 0a bark 0 b 0 c 0 d 0 e 0 f 0 g 0 h 0 i 0 j 0 001 + 00000020 n 0101 \
02 + 02 00 + 08 00 | make a noise
00000020 29 v 01 snore 0 001 * 00000030 v 0000 01 + 02 00 | breathe noisily
00000030 29 v 01 sleep 0 000 01 + 02 00 | be asleep
00000040 39 v 01 show 0 001 > 00000050 v 0000 01 + 08 00 | make visible
00000050 39 v 01 see 0 001 $ 00000060 v 0000 01 + 08 00 | perceive
00000060 39 v 01 find 0 001 $ 00000050 v 0000 01 + 08 00 | perceive after a search
""",
    "data.adj": """\
00000010 00 a 01 big 0 003 = 00000110 n 0000 & 00000020 a 0000 ! 00000030 a 0101 | large
00000020 00 s 01 galore(ip) 0 001 & 00000010 a 0000 | in great numbers
00000030 00 a 02 Small(p) 0 little 1 003 = 00000110 n 0000 ! 00000010 a 0101 \
^ 00000060 a 0000 | not big
00000050 01 a 01 physical 0 002 \\ 00000080 n 0101 ;c 00000080 n 0000 | of physics
00000060 01 a 01 wee 0 002 ;r 00000140 n 0000 ;u 00000120 n 0000 | small in Scotland
""",
    "data.adv": """\
00000010 02 r 01 physically 0 001 \\ 00000050 a 0101 | in a physical way
""",
    "index.noun": """\
animal n 1 1 ~ 1 0 00000010
canis_familiaris n 1 4 @ #m %p + 1 0 00000020
dog n 3 4 @ #m %p + 3 1 00000090 00000020 00000095
domestic_dog n 1 4 @ #m %p + 1 0 00000020
frump n 1 0 1 0 00000090
ice n 1 1 %s 1 0 00000060
isle n 1 1 + 1 0 00000100
islet n 1 1 + 1 0 00000100
pack n 1 1 %m 1 0 00000030
physicist n 1 1 + 1 0 00000130
physics n 1 2 - + 1 0 00000080
pooch n 1 4 @ #m %p + 1 0 00000020
rex n 1 1 @ 1 0 00000050
scotland n 1 1 - 1 0 00000140
size n 1 1 = 1 0 00000110
slang n 1 1 - 1 0 00000120
tail n 1 1 #p 1 0 00000040
water n 1 1 #s 1 0 00000070
""",
    "index.verb": """\
bark v 1 1 + 1 0 00000010
find v 1 1 $ 1 0 00000060
see v 1 1 $ 1 0 00000050
show v 1 1 > 1 0 00000040
sleep v 1 0 1 0 00000030
snore v 1 1 * 1 0 00000020
""",
    "index.adj": """\
big a 1 3 = & ! 1 0 00000010
galore a 1 1 & 1 0 00000020
little a 1 3 = ! ^ 1 0 00000030
physical a 1 2 \\ ; 1 0 00000050
small a 1 3 = ! ^ 1 0 00000030
wee a 1 1 ; 1 0 00000060
""",
    "index.adv": """\
physically r 1 1 \\ 1 0 00000010
""",
}

ONE_WAY = {
    T("dog.n.02", "hypernym", "animal.n.01"),
    T("rex.n.01", "instance_hypernym", "dog.n.02"),
    T("dog.n.02", "part_meronym", "tail.n.01"),
    T("pack.n.01", "member_meronym", "dog.n.02"),
    T("ice.n.01", "substance_meronym", "water.n.01"),
    T("snore.v.01", "entailment", "sleep.v.01"),
    T("show.v.01", "cause", "see.v.01"),
    T("physical.a.01", "pertainym", "physics.n.01"),
    T("physical.a.01", "domain_topic", "physics.n.01"),
    T("physically.r.01", "pertainym", "physical.a.01"),
    T("wee.a.01", "domain_region", "scotland.n.01"),
    T("wee.a.01", "domain_usage", "slang.n.01"),
    # Symmetric by kind, but stated in this direction only.
    T("small.a.01", "also_see", "wee.a.01"),
    # Two words of one synset, each derived from the other.
    T("isle.n.01", "derivationally_related_form", "isle.n.01"),
}
SYMMETRIC = {
    T("dog.n.02", "derivationally_related_form", "bark.v.01"),
    T("physicist.n.01", "derivationally_related_form", "physics.n.01"),
    T("find.v.01", "verb_group", "see.v.01"),
    T("big.a.01", "similar_to", "galore.s.01"),
    T("size.n.01", "attribute", "big.a.01"),
    T("size.n.01", "attribute", "small.a.01"),
    T("big.a.01", "antonym", "small.a.01"),
}


@pytest.fixture
def dict_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "dict"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text((LICENCE + text).replace("\n", "  \n"), encoding="ascii")
    return folder


def unpack(content: bytes) -> list[tuple[str, ...]]:
    return [tuple(line.split("\t")) for line in lzma.decompress(content).decode().splitlines()]


def test_names_follow_first_lemma_letter_and_sense(dict_folder: Path) -> None:
    names = set(wordnet.read_synsets(dict_folder))
    assert len(names) == 27
    # The first sense of "dog" is a synset with another first lemma, so dog.n.01 does not exist.
    assert {name for name in names if name.startswith("dog")} == {"dog.n.02", "dog.n.03"}
    assert {"frump.n.01", "rex.n.01", "galore.s.01", "small.a.01", "physically.r.01"} <= names


def test_a_repeated_name_is_an_error(dict_folder: Path) -> None:
    with (dict_folder / "data.noun").open("a", encoding="ascii") as file:
        file.write("00000010 05 n 01 animal 0 000 | again  \n")
    with pytest.raises(ValueError, match=r"two synsets are named animal\.n\.01"):
        wordnet.read_synsets(dict_folder)


def test_a_lemma_missing_from_the_index_is_an_error(dict_folder: Path) -> None:
    with (dict_folder / "data.adv").open("a", encoding="ascii") as file:
        file.write("00000020 02 r 01 soon 0 000 | in a while  \n")
    with pytest.raises(ValueError, match="under its lemma 'soon'"):
        wordnet.read_synsets(dict_folder)


def test_every_wanted_pointer_becomes_a_triple(dict_folder: Path) -> None:
    triples = wordnet.collect_triples(wordnet.read_synsets(dict_folder))
    turned = {T(tail, relation, head) for head, relation, tail in SYMMETRIC}
    assert triples == ONE_WAY | SYMMETRIC | turned
    assert {triple.relation for triple in triples} == set(wordnet.RELATION_OF_SYMBOL.values())


def test_a_symmetric_fact_is_kept_in_one_direction(dict_folder: Path) -> None:
    triples = wordnet.collect_triples(wordnet.read_synsets(dict_folder))
    assert wordnet.keep_one_direction(triples) == ONE_WAY | SYMMETRIC


def test_two_facts_of_a_one_way_relation_may_oppose_each_other() -> None:
    triples = {T("a.n.01", "domain_topic", "b.n.01"), T("b.n.01", "domain_topic", "a.n.01")}
    assert wordnet.keep_one_direction(triples) == triples


@pytest.mark.parametrize(
    ("size", "kept"),
    [
        (1, {"ab", "bc", "ca", "cd", "de", "fg"}),
        # Without e, d has one triple left and goes as well.
        (2, {"ab", "bc", "ca", "fg"}),
        (3, {"fg"}),
        (4, set()),
    ],
)
def test_core(size: int, kept: set[str]) -> None:
    once = {T(pair[0], "r", pair[1]) for pair in ("ab", "bc", "ca", "cd", "de")}
    thrice = {T("f", relation, "g") for relation in ("r", "s", "t")}
    core = wordnet.keep_core(once | thrice, size)
    assert {triple.head + triple.tail for triple in core} == kept


AB, BC, CA = T("a", "r", "b"), T("b", "r", "c"), T("c", "r", "a")
ONLY_OF_D, ONLY_OF_S = T("a", "r", "d"), T("a", "s", "b")
SMALL_GRAPH = {AB, BC, CA, ONLY_OF_D, ONLY_OF_S}


@pytest.mark.parametrize("seed", range(20))
def test_split_leaves_every_entity_and_relation_in_train(seed: int) -> None:
    split = wordnet.split_triples(SMALL_GRAPH, 1, seed)
    # Of BC and CA one must stay for c, so the other and AB are all that can be held out.
    assert {*split.valid, *split.test} in ({AB, BC}, {AB, CA})
    assert len(split.valid) == len(split.test) == 1
    assert {*split.train, *split.valid, *split.test} == SMALL_GRAPH
    assert len(split.train) == 3


def test_split_depends_on_the_seed() -> None:
    assert len({str(wordnet.split_triples(SMALL_GRAPH, 1, seed)) for seed in range(20)}) > 1


def test_split_of_too_small_a_graph_is_an_error() -> None:
    with pytest.raises(ValueError, match="only 2 of 4"):
        wordnet.split_triples(SMALL_GRAPH, 2, 0)


def test_files_of_the_core(dict_folder: Path) -> None:
    files = wordnet.build(dict_folder, core_size=2, held_out=0, seed=0)
    assert {name: unpack(files[name]) for name in files if name.endswith(".xz")} == {
        "train.txt.xz": [
            ("big.a.01", "antonym", "small.a.01"),
            ("size.n.01", "attribute", "big.a.01"),
            ("size.n.01", "attribute", "small.a.01"),
            ("isle.n.01", "derivationally_related_form", "isle.n.01"),
            ("physical.a.01", "domain_topic", "physics.n.01"),
            ("physical.a.01", "pertainym", "physics.n.01"),
        ],
        "valid.txt.xz": [],
        "test.txt.xz": [],
        "labels.tsv.xz": [
            ("big.a.01", "big"),
            ("isle.n.01", "isle, islet"),
            ("physical.a.01", "physical"),
            ("physics.n.01", "physics"),
            ("size.n.01", "size"),
            ("small.a.01", "Small, little"),
        ],
    }


def test_files_of_the_whole(dict_folder: Path) -> None:
    files = wordnet.build(dict_folder, core_size=1, held_out=1, seed=0)
    valid, test = unpack(files["valid.txt.xz"]), unpack(files["test.txt.xz"])
    # Only pertainym, derivation and attribute have two triples, and one of each must stay; the
    # derivations and the other pertainym are the only triples of one of their ends.
    assert len(valid) == len(test) == 1
    assert ("physical.a.01", "pertainym", "physics.n.01") in valid + test
    assert {relation for _, relation, _ in valid + test} == {"pertainym", "attribute"}
    assert {*unpack(files["train.txt.xz"]), *valid, *test} == ONE_WAY | SYMMETRIC
    labels = unpack(files["labels.tsv.xz"])
    # Without triples are frump.n.01 and dog.n.03.
    assert len(labels) == 25
    assert ("dog.n.02", "Dog, domestic dog, Canis familiaris") in labels


def test_the_licence_is_that_of_the_database(dict_folder: Path) -> None:
    assert wordnet.read_licence(dict_folder / "data.noun") == (
        "Permission to use this is granted, provided that you\n"
        "agree to 1 condition.\n"
        "\n"
        "All rights reserved.\n"
    )


def test_the_command_writes_the_files(
    dict_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wordnet, "CORE_SIZE", 1)
    monkeypatch.setattr(wordnet, "HELD_OUT", 1)
    output = tmp_path / "made" / "wordnet"
    wordnet.main([str(dict_folder), str(output)])
    contents = {path.name: path.read_bytes() for path in output.iterdir()}
    assert contents == wordnet.build(dict_folder, core_size=1, held_out=1, seed=wordnet.SEED)
    assert sorted(contents) == [
        "LICENSE",
        "labels.tsv.xz",
        "test.txt.xz",
        "train.txt.xz",
        "valid.txt.xz",
    ]

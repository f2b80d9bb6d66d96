"""Everything of hale that reads what others wrote, each as a function of bytes."""

from __future__ import annotations

import atexit
import json
import shutil
import warnings
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from kept_readers import answered, kept_readers
from world import make_world

Read = Callable[[bytes], object]


@dataclass(frozen=True)
class Reader:
    """``read`` takes any bytes, and may raise hale's errors and no others; ``seeds`` are good."""

    name: str
    seeds: tuple[bytes, ...]
    read: Read


def in_process(here: Path) -> Callable[[list[str]], None]:
    """Calls a command in a folder, which must succeed."""
    from hale.cli.app import app

    def hale(argv: list[str]) -> None:
        import os

        before = Path.cwd()
        os.chdir(here)
        try:
            app(argv, standalone_mode=False)
        finally:
            os.chdir(before)

    return hale


def world_in(work: Path) -> Path:
    """A small world below a folder, made by hale in this process."""
    world = work / "world"
    world.mkdir()
    make_world(world, in_process(world))
    return world


def make_readers(world: Path, place: Path) -> dict[str, Reader]:
    """All readers, over a small world; inputs lie in an empty folder."""
    _keep_trial()
    makers = (_sources, _beside_a_run, _folders, _asked)
    found = {reader.name: reader for make in makers for reader in make(world, place)}
    return found | {kept.name: Reader(*kept) for kept in kept_readers(world, place)}


def _keep_trial() -> None:
    """One process tries all Parquet files: to start one for each would take most of the time."""
    from hale.data.sources import parquet
    from hale.data.sources.trial import Trial

    kept = Trial()
    atexit.register(kept.__exit__)
    vars(parquet)["Trial"] = lambda: nullcontext(kept)


def _sources(world: Path, place: Path) -> list[Reader]:
    """Files of facts, by their suffix, and files that name what is in a graph."""
    from hale.data.datasets.cache import _member
    from hale.data.sources.graph_files import read_graph

    def graph(name: str) -> Read:
        path = place / name

        def read(data: bytes) -> object:
            path.write_bytes(data)
            return read_graph(path)

        return read

    def tar(data: bytes) -> object:
        path = place / "facts.tar.gz"  # a damaged one is thrown away
        path.write_bytes(data)
        return _member(path, "train.txt")

    text = (world / "graph.tsv").read_bytes()
    made = {
        "text": (".txt", [text, text.replace(b"\t", b" "), b"\xef\xbb\xbf" + text]),
        "tsv": (".tsv", [text, b"head\trelation\ttail\tweight\na\tb\tc\t0.5\n"]),
        "csv": (".csv", [(world / "graph.csv").read_bytes(), b'"a""b","c\nd",e\r\nf;g;h\n']),
        "json lines": (".jsonl", [_json_lines(text)]),
        "parquet": (".parquet", [(world / "graph.parquet").read_bytes()]),
        "n-triples": (".nt", [(world / "graph.nt").read_bytes(), RDF]),
        "n-quads": (".nq", [(world / "graph.nt").read_bytes(), RDF]),
        "turtle": (".ttl", [(world / "graph.ttl").read_bytes(), RDF]),
        "trig": (".trig", [(world / "graph.ttl").read_bytes()]),
        "rdf/xml": (".rdf", [RDF_XML]),
        "gzip": (".tsv.gz", [(world / "graph.tsv.gz").read_bytes()]),
        "bzip2": (".tsv.bz2", [(world / "graph.tsv.bz2").read_bytes()]),
        "xz": (".tsv.xz", [(world / "graph.tsv.xz").read_bytes()]),
        "zstd": (".tsv.zst", [_zstd(text)]),
        "zip": (".zip", [(world / "graph.zip").read_bytes()]),
    }
    readers = [
        Reader(name, tuple(seeds), graph(f"facts{suffix}"))
        for name, (suffix, seeds) in made.items()
    ]
    return [*readers, Reader("tar", ((world / "graph.tar.gz").read_bytes(),), tar)]


def _beside_a_run(world: Path, place: Path) -> list[Reader]:
    """What is given to a command beside a run."""
    from hale.answers.queries import read_queries
    from hale.data.sources.labelled import read_labelled
    from hale.data.sources.pairs import read_pairs
    from hale.data.sources.triples import read_labels, read_types
    from hale.evaluation.limits import candidates_of
    from hale.runs.run import load_run
    from hale.runs.systems import complete
    from hale.settings.recipes.from_file import read_given_recipe

    graph = load_run(world / "run").graph

    def by(name: str, read: Callable[[Path], object]) -> Read:
        path = place / name

        def from_bytes(data: bytes) -> object:
            path.write_bytes(data)
            return read(path)

        return from_bytes

    def pairs(path: Path) -> object:
        return read_pairs(path, graph, graph)

    def recipe(path: Path) -> object:
        read_given_recipe(path)
        return complete(graph, recipe=str(path))

    def seeds(*names: str) -> tuple[bytes, ...]:
        return tuple((world / name).read_bytes() for name in names)

    return [
        Reader("queries", seeds("queries.tsv"), by("q.tsv", lambda p: read_queries(p, graph))),
        Reader("queries, csv", seeds("queries.csv"), by("q.csv", lambda p: read_queries(p, graph))),
        Reader("claims", seeds("judged.tsv"), by("c.tsv", lambda p: read_labelled(p, graph))),
        Reader("align's pairs", seeds("pairs.tsv"), by("p.tsv", pairs)),
        Reader("labels", (b"e000\tthe first\n",), by("labels.tsv", read_labels)),
        Reader("types", (b"e000\tperson\ne001\ttown\n",), by("types.tsv", read_types)),
        Reader("within", seeds("some.txt"), by("w.txt", lambda p: candidates_of(graph, within=p))),
        Reader("recipe", seeds("recipe.toml"), by("r.toml", recipe)),
    ]


def _folders(world: Path, place: Path) -> list[Reader]:
    """Folders of several files, of which one is replaced: the first byte says which."""
    import numpy as np

    from hale.evaluation.calibration import load_calibration
    from hale.export.index import open_index
    from hale.runs.run import load_run
    from hale.serve.review import Review
    from hale.training.start import train

    def run(folder: Path) -> object:
        loaded = load_run(folder)
        load_calibration(loaded)
        return loaded.as_dict(), repr(loaded)

    def review(folder: Path) -> object:
        found = Review(folder)
        return found.counts(), found.undo(who="me")

    def index(folder: Path) -> object:
        found = open_index(folder)
        return found.search(np.zeros((1, 4), np.float32), k=3)

    def resumed(folder: Path) -> object:
        return train(None, out=folder, resume=True)

    with_review = place / "with-review"
    with_review.mkdir()
    (with_review / "review.jsonl").write_text("".join(json.dumps(row) + "\n" for row in REVIEWED))
    return [
        _folder("run", world / "sure", place, run),
        _folder("run, resumed", world / "run", place, resumed),
        _folder("review.jsonl", with_review, place, review),
        _folder("about.json", world / "vectors", place, _about, only="about.json"),
        _folder("index", world / "index", place, index),
    ]


def _about(folder: Path) -> object:
    from hale.export.about import is_taken, read_about

    return is_taken(folder, overwrite=True), read_about(folder)


def _folder(
    name: str, base: Path, place: Path, read: Callable[[Path], object], *, only: str = ""
) -> Reader:
    there = sorted(file.name for file in base.iterdir() if only in ("", file.name))
    folder = place / name
    shutil.copytree(base, folder)
    whole = {file.name: file.read_bytes() for file in base.iterdir() if file.is_file()}

    def from_bytes(data: bytes) -> object:
        replaced = there[data[0] % len(there)] if data else there[0]
        for file, content in whole.items():
            wanted = data[1:] if file == replaced else content
            if not (folder / file).is_file() or (folder / file).read_bytes() != wanted:
                (folder / file).write_bytes(wanted)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read(folder)

    seeds = tuple(bytes([i]) + whole[file] for i, file in enumerate(there))
    return Reader(name, seeds, from_bytes)


def _asked(world: Path, _place: Path) -> list[Reader]:
    """Bodies and addresses of REST: status 500 or an exception is a fault."""
    from starlette.testclient import TestClient

    from hale.runs.run import load_run
    from hale.serve.app import create_app

    app = create_app(load_run(world / "sure"), token="t" * 40)
    head = {"Authorization": f"Bearer {'t' * 40}", "Content-Type": "application/json"}
    client = TestClient(app, base_url="http://127.0.0.1:8000", headers=head, follow_redirects=False)
    paths = ("predict", "classify")

    def body(data: bytes) -> object:
        which = paths[data[0] % len(paths)] if data else paths[0]
        return answered(client.post(f"/api/v1/{which}", content=data[1:]))

    def address(data: bytes) -> object:
        text = "".join(chr(byte) if byte in PLAIN else f"%{byte:02X}" for byte in data)
        return answered(client.get(f"/api/v1/{text}"))

    bodies = [
        (0, {"queries": [{"head": "e000", "relation": "next"}], "k": 2, "known": "drop"}),
        (0, {"queries": [{"relation": "next", "tail": "e001"}], "within": ["e000", "e002"]}),
        (1, {"triples": [FACT, FACT | {"label": False}]}),
    ]
    named = "&".join(f"{place}={name}" for place, name in FACT.items())
    asked = (
        *("predict?head=e000&relation=next&k=3", "predict?relation=next&tail=e001&known=drop"),
        *("search?q=e0&k=5", "entities/e000?k=2", f"why?{named}", "discover?k=2&relation=next"),
        *("neighbors/e000?k=2&metric=cosine", "run", "relations", "vectors/e000", "openapi.json"),
    )
    return [
        Reader("REST bodies", tuple(bytes([i]) + json.dumps(b).encode() for i, b in bodies), body),
        Reader("REST addresses", tuple(one.encode() for one in asked), address),
    ]


def _json_lines(text: bytes) -> bytes:
    rows = [line.split("\t") for line in text.decode().splitlines()]
    values = [{"head": h, "relation": r, "tail": t} for h, r, t in rows]
    return "".join(json.dumps(value) + "\n" for value in values).encode()


def _zstd(text: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor().compress(text)


RDF = (
    b"<http://x/a> <http://x/r> <http://x/b> .\n_:c <http://x/r> _:d .\n<http://x/a> "
    b'<http://www.w3.org/2000/01/rdf-schema#label> "A \\u00e9 \\n"@en .\n'
)
RDF_XML = (
    b'<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    b'xmlns:x="http://x/"><rdf:Description rdf:about="http://x/a"><x:r rdf:resource="http://x/b"/>'
    b"</rdf:Description></rdf:RDF>"
)
FACT = {"head": "e000", "relation": "next", "tail": "e001"}
REVIEWED: list[Mapping[str, object]] = [
    {"time": "2026-01-01T00:00:00", "who": "me", "decision": "accept", **FACT, "score": -1.5},
    {"time": "2026-01-01T00:00:01", "who": "me", "decision": "undo"},
]
PLAIN = bytes(byte for byte in range(33, 127) if byte not in b'#%"<>')  # of an address

"""A small world for commands: graphs in all formats, runs whole and broken, files of all kinds."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

Row = tuple[str, str, str]
QUICK = ["--dim", "4", "--batch-size", "32", "--queries", "8", "--threads", "1"]
# By what a parameter is called: what fits it. All else is drawn from everything that is there.
FITS: dict[str, tuple[str, ...]] = {
    "RUN": ("run", "run", "sure", "dotted"),
    "RUN_A": ("run", "sure"),
    "RUN_B": ("run", "dotted"),
    "GRAPH": ("graph", "graph.tsv", "graph.csv", "graph.parquet", "graph.nt", "graph.ttl"),
    "FACTS": ("new.tsv", "graph.csv"),
    "REMOVE": ("gone.tsv",),
    "TRIPLES": ("graph.tsv", "judged.tsv"),
    "NEGATIVES": ("new.tsv", "judged.tsv"),
    "QUERIES": ("queries.tsv", "queries.csv", "8", "16"),
    "SEEDS": ("pairs.tsv", "1"),
    "WITHIN": ("some.txt",),
    "FILE": ("recipe.toml", "paper", "wn18rr"),
    "RECIPE": ("recipe.toml", "paper", "none", "auto"),
    "HEAD": ("e000", "e001", "the first"),
    "TAIL": ("e002", "e003"),
    "ENTITY": ("e000", "e004"),
    "RELATION": ("next", "skip"),
    "TEXT": ("e0", "first", "next"),
    "TEACHER": ("run", "sure"),
    "OUT_FOLDER": ("made", "run", "deep/er/made"),
    "FOLDER": ("made", "search"),
    "TARGET": ("made", "vectors"),
    "RESULTS": ("results",),
    "WORK": ("cells",),
    "OUT_FILE": ("made.csv", "made.tsv", "made.parquet", "made.json", "deep/er/made.csv"),
    "PLOT": ("made.svg", "made.png"),
    "TRAIN": ("graph/train.txt",),
    "VALID": ("graph/valid.txt",),
    "TEST": ("graph/test.txt",),
    "BUDGET": ("0.1s", "0.2s"),
    "HOST": ("127.0.0.1", "localhost", "0.0.0.0"),  # noqa: S104
    "TOKEN": ("a-long-enough-token-of-mine-0123456789",),
    "PORT": ("0",),
}
RECIPE = "entities = 24\ntrain = 38\n[hale.rotl]\nlearning_rate = 0.05\ngamma = 6.0\n"


def ring(size: int = 24) -> dict[str, list[Row]]:
    """The facts of a ring by split: `next` leads one place on, `skip` two."""
    names = [f"e{i:03}" for i in range(size)]
    facts = [
        (names[i], relation, names[(i + step) % size])
        for relation, step in (("next", 1), ("skip", 2))
        for i in range(size)
    ]
    valid, test = facts[::10], facts[5::10]
    return {
        "train": [fact for fact in facts if fact not in valid and fact not in test],
        "valid": valid,
        "test": test,
    }


def make_world(here: Path, hale: Callable[[list[str]], None]) -> None:
    """Fill an empty folder; ``hale`` calls a command there, which must succeed."""
    splits = ring()
    _files(here, splits)
    hale(["train", "graph", "--epochs", "2", *QUICK, "--out", "run"])
    hale(["train", "graph", "--epochs", "2", "--model", "distmult", *QUICK, "--out", "dotted"])
    hale(["discover", "run", "-k", "30", "--out", "graph.parquet"])
    shutil.copytree(here / "run", here / "sure")
    hale(["calibrate", "sure"])
    hale(["export", "run", "--out", "vectors"])
    hale(["export", "run", "--format", "index", "--out", "index"])
    _broken_runs(here)


def _files(here: Path, splits: dict[str, list[Row]]) -> None:
    graph = here / "graph"
    graph.mkdir()
    for split, rows in splits.items():
        (graph / f"{split}.txt").write_text(lines(rows))
    (graph / "labels.tsv").write_text("e000\tthe first\n")
    rows = splits["train"]
    text = lines(rows)
    (here / "graph.tsv").write_text(text)
    (here / "graph.csv").write_text("head,relation,tail\n" + lines(rows, ","))
    (here / "graph.nt").write_text(ntriples(rows))
    (here / "graph.ttl").write_text(turtle(rows))
    data = text.encode()
    packed = {".gz": gzip.compress(data), ".bz2": bz2.compress(data), ".xz": lzma.compress(data)}
    for ending, content in packed.items():
        (here / f"graph.tsv{ending}").write_bytes(content)
    (here / "graph.zip").write_bytes(zipped({"train.txt": text.encode()}))
    (here / "graph.tar.gz").write_bytes(gzip.compress(tarred({"train.txt": text.encode()})))
    (here / "new.tsv").write_text(lines([(f"n{i}", "next", f"e{i:03}") for i in range(5)]))
    (here / "gone.tsv").write_text(lines(rows[:5]))
    judged = [f"{h}\t{r}\t{t}\t{i % 2}\n" for i, (h, r, t) in enumerate(rows)]
    (here / "judged.tsv").write_text("".join(judged))
    (here / "queries.tsv").write_text("e000\tnext\t?\n?\tskip\te003\ne000\t?\te001\n")
    (here / "queries.csv").write_text("head,relation,tail\ne000,next,\n,skip,e003\n")
    (here / "pairs.tsv").write_text("".join(f"e{i:03}\te{i:03}\n" for i in range(6)))
    (here / "some.txt").write_text("e000\ne001\ne002\n")
    (here / "recipe.toml").write_text(RECIPE)
    # What nobody means to give.
    (here / "empty").write_text("")
    (here / "folder").mkdir()
    (here / "noise.bin").write_bytes(bytes(range(256)) * 8)
    (here / "noise.parquet").write_bytes(b"PAR1" + bytes(range(256)) + b"PAR1")
    (here / "noise.csv").write_bytes(b'head,relation,tail\n"a,b,c\n\x00\xff,,\n')
    (here / "wide.tsv").write_text("a\tb\tc\td\te\tf\n" * 3)
    (here / "utf16.tsv").write_bytes(text.encode("utf-16"))
    (here / "long.tsv").write_text("x" * 100_000 + "\tnext\te000\n")
    (here / "odd.toml").write_text('lr = "many"\n[hale]\nrotl = 3\n')
    (here / "odd.json").write_text('{"a": [1, 2')
    (here / "nowhere").symlink_to("gone-away")
    (here / "läufe – ☃").mkdir()


def _broken_runs(here: Path) -> None:
    """Copies of the run with one thing wrong each."""

    def copy(name: str) -> Path:
        return Path(shutil.copytree(here / "run", here / name))

    weights = (here / "run/model.safetensors").read_bytes()
    (copy("torn") / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    (copy("bare") / "model.safetensors").unlink()
    (copy("nameless") / "entities.txt").unlink()
    (copy("mixed") / "relations.txt").write_text("next\n")
    (copy("curly") / "settings.json").write_text("{")
    settings = json.loads((here / "run/settings.json").read_text())
    (copy("other") / "settings.json").write_text(json.dumps(settings | {"settings": []}))
    (copy("listed") / "settings.json").write_text("[]")
    (copy("unruly") / "metrics.json").write_text('{"test": 3, "valid": {"mrr": "high"}}')
    (copy("unsure") / "calibration.json").write_text('{"version": 1}')
    (copy("blank") / "history.jsonl").write_text("\n{}\n[]\n")
    flipped = bytearray(weights)
    flipped[-3] ^= 0x40
    (copy("flipped") / "model.safetensors").write_bytes(flipped)


def lines(rows: Iterable[Row], between: str = "\t") -> str:
    """Rows of text."""
    return "".join(between.join(row) + "\n" for row in rows)


def ntriples(rows: Iterable[Row]) -> str:
    """Rows as N-Triples."""
    return "".join(f"<http://x/{h}> <http://x/{r}> <http://x/{t}> .\n" for h, r, t in rows)


def turtle(rows: Iterable[Row]) -> str:
    """Rows as Turtle."""
    body = "".join(f"x:{h} x:{r} x:{t} .\n" for h, r, t in rows)
    return f"@prefix x: <http://x/> .\n{body}"


def zipped(files: dict[str, bytes]) -> bytes:
    """A zip archive."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target.getvalue()


def tarred(files: dict[str, bytes]) -> bytes:
    """A tar archive."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return target.getvalue()

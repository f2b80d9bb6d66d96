"""Files and folders of every format and packing -> the same graph."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import zstandard

from hale.data.sources import read_graph
from hale.errors import InputError, MissingExtraError, SourceError

TRIPLES = [("a", "r", "b"), ("b", "r", "c"), ("c", "s", "a"), ("c", "r", "d"), ("d", "s", "a")]
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


def written(form: str) -> bytes:
    if form == ".parquet":
        import io

        buffer = io.BytesIO()
        frame = pl.DataFrame(TRIPLES, schema=["subject", "predicate", "object"], orient="row")
        frame.select("object", "subject", "predicate").write_parquet(buffer)
        return buffer.getvalue()
    if form in (".nt", ".ttl"):
        lines = [f"<http://x/{h}> <http://x/{r}> <http://x/{t}> ." for h, r, t in TRIPLES]
        label = "http://www.w3.org/2000/01/rdf-schema#label"
        lines.append(f'<http://x/a> <{label}> "the a"@en .')
        lines.append(f'<http://x/a> <{label}> "das A"@de .')
        lines.append('<http://x/a> <http://x/age> "7" .')
        return "\n".join(lines).encode()
    separator = "," if form == ".csv" else "\t"
    return "".join(separator.join(triple) + "\n" for triple in TRIPLES).encode()


@pytest.mark.parametrize("form", [".txt", ".tsv", ".csv", ".parquet", ".nt", ".ttl"])
@pytest.mark.parametrize("packing", PACKERS)
def test_every_format_and_packing(tmp_path: Path, form: str, packing: str) -> None:
    path = tmp_path / f"facts{form}{packing}"
    path.write_bytes(PACKERS[packing](written(form)))
    graph = read_graph(path, holdout=0)
    prefix = "http://x/" if form in (".nt", ".ttl") else ""
    assert graph.name == "facts"
    assert graph.entities.names == tuple(prefix + name for name in "abcd")
    assert graph.relations.names == (prefix + "r", prefix + "s")
    expected = sorted([("abcd".index(h), "rs".index(r), "abcd".index(t)) for h, r, t in TRIPLES])
    assert sorted(map(tuple, graph.train.tolist())) == expected
    if prefix:
        assert graph.label("http://x/a") == "the a"
        assert any("2 statements with a literal were left out" in note for note in graph.notes)


def folder(tmp_path: Path, **files: str) -> Path:
    for name, text in files.items():
        (tmp_path / f"{name}.txt").write_text(text)
    return tmp_path


def test_a_folder_with_labels(tmp_path: Path) -> None:
    folder(tmp_path, train="a\tr\tb\nb\tr\ta\n", valid="a\tr\ta\n", test="b\tr\tb\n")
    (tmp_path / "labels.tsv").write_text("a\tAnna\nz\tnobody\n")
    graph = read_graph(tmp_path)
    assert (len(graph.train), len(graph.valid), len(graph.test)) == (2, 1, 1)
    assert graph.label("a") == "Anna"
    assert graph.label("b") is None
    assert graph.notes == ()


def test_notes_on_repeats_leaks_and_unseen_names(tmp_path: Path) -> None:
    folder(
        tmp_path,
        train="a\tr\tb\nb\tr\ta\na\tr\tb\na\tr\tb\n",
        valid="a\tr\tb\nb\tr\tb\n",
        test="a\tr\tx\ny\tq\ta\na\tr\ta\n",
    )
    graph = read_graph(tmp_path)
    assert graph.notes == (
        "train: 2 repeated triples dropped",
        "valid: 1 triple also in train (kept)",
        "test: 2 triples with 2 entities and 1 relation that train lacks (kept and scored)",
    )
    assert len(graph.test) == 3


def test_held_out_of_a_single_file_is_all_seen_in_train(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    triples = {
        (f"e{a}", f"r{r}", f"e{b}")
        for a, r, b in zip(
            rng.integers(0, 60, 400), rng.integers(0, 5, 400), rng.integers(0, 60, 400), strict=True
        )
    } | {("lonely", "r0", "e1"), ("e2", "rare", "e3")}
    (tmp_path / "g.tsv").write_text("".join("\t".join(t) + "\n" for t in sorted(triples)))
    graph = read_graph(tmp_path / "g.tsv", holdout=0.2, seed=1)
    share = round(0.2 * len(triples))
    assert (len(graph.valid), len(graph.test)) == (share, share)
    assert len(graph.train) == len(triples) - 2 * share
    for split in (graph.valid, graph.test):
        assert np.isin(split[:, [0, 2]], graph.train[:, [0, 2]]).all()
        assert np.isin(split[:, 1], graph.train[:, 1]).all()
    again = read_graph(tmp_path / "g.tsv", holdout=0.2, seed=1)
    other = read_graph(tmp_path / "g.tsv", holdout=0.2, seed=2)
    assert np.array_equal(again.test, graph.test)
    assert not np.array_equal(other.test, graph.test)


def test_repeats_in_a_single_file_are_counted(tmp_path: Path) -> None:
    (tmp_path / "g.tsv").write_text("a\tr\tb\nb\tr\ta\na\tr\tb\na\tr\tb\n")
    assert "g.tsv: 2 repeated triples dropped" in read_graph(tmp_path / "g.tsv").notes


def test_a_file_with_nothing_to_spare_stays_whole(tmp_path: Path) -> None:
    (tmp_path / "tree.tsv").write_text("a\tr\tb\nc\tr\td\n")
    graph = read_graph(tmp_path / "tree.tsv", holdout=0.3)
    assert (len(graph.train), len(graph.valid), len(graph.test)) == (2, 0, 0)
    assert "there is no test split, so nothing to evaluate the run on" in graph.notes
    with pytest.raises(InputError, match="below 0.5"):
        read_graph(tmp_path / "tree.tsv", holdout=0.5)


def test_faults_of_folders_and_files(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="the folder has no train file"):
        read_graph(tmp_path)
    with pytest.raises(SourceError, match="no such file"):
        read_graph(tmp_path / "missing.txt")
    folder(tmp_path, train="a\tr\tb\n", valid="")
    with pytest.raises(SourceError, match=r"valid\.txt: is empty"):
        read_graph(tmp_path)
    (tmp_path / "valid.txt").unlink()
    (tmp_path / "train.csv").write_text("a,r,b\n")
    with pytest.raises(SourceError, match=r"train\.txt and train\.csv; keep one"):
        read_graph(tmp_path)


@pytest.mark.parametrize("name", ["x.txt.gz", "x.txt.xz", "x.txt.zst", "x.parquet"])
def test_damaged_files(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"not what it says\xff\x00")
    with pytest.raises(SourceError, match=r"is not a (whole|readable)") as caught:
        read_graph(tmp_path / name)
    assert str(caught.value).startswith(str(tmp_path / name))


@pytest.mark.parametrize("packing", [".gz", ".xz", ".zst"])
def test_truncated_files(tmp_path: Path, packing: str) -> None:
    whole = PACKERS[packing]("".join(f"e{i}\tr\te{i * 7 % 1000}\n" for i in range(3000)).encode())
    (tmp_path / f"x.txt{packing}").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SourceError, match="is not a whole"):
        read_graph(tmp_path / f"x.txt{packing}")


def test_rdf_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.nt"
    path.write_text("<http://x/a> <http://x/r> <http://x/b> .\nnonsense\n")
    with pytest.raises(SourceError) as caught:
        read_graph(path)
    assert caught.value.line == 2
    path.write_text('<http://x/a> <http://x/r> "only a literal" .\n')
    with pytest.raises(SourceError, match="holds no triples"):
        read_graph(path)
    with pytest.raises(InputError, match="neither columns nor a header"):
        read_graph(path, columns="htr")
    monkeypatch.setitem(__import__("sys").modules, "pyoxigraph", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'hale-kge\[rdf\]'"):
        read_graph(path)


def test_labels_with_faults(tmp_path: Path) -> None:
    folder(tmp_path, train="a\tr\tb\n")
    (tmp_path / "labels.tsv").write_text("a\tAnna\nb Bert\n")
    with pytest.raises(SourceError, match="expected 2 columns .*, found 1") as caught:
        read_graph(tmp_path)
    assert caught.value.line == 2

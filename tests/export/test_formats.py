from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from hale.data import files
from hale.errors import EvaluationError, InputError, UnknownNameError
from hale.export import FORMATS, export_run
from hale.export.about import read_about
from hale.export.vectors import tables_of
from hale.export.word2vec import words_of
from hale.models import make_model
from hale.runs.run import Run
from tests.line_run import line_run


@pytest.fixture
def run() -> Run:
    made = line_run()
    torch.manual_seed(0)
    made.model = make_model("rotl", made.graph.size, 4)
    return made


def lines(path: Path) -> list[str]:
    return path.read_text().removesuffix("\n").split("\n")


def test_npy(run: Run, tmp_path: Path) -> None:
    export_run(run, tmp_path / "x")
    tables = tables_of(run)
    np.testing.assert_array_equal(np.load(tmp_path / "x/entities.npy"), tables.entities)
    for name, rows in tables.relations.items():
        np.testing.assert_array_equal(np.load(tmp_path / f"x/relations.{name}.npy"), rows)
    assert lines(tmp_path / "x/entities.txt") == list(run.graph.entities.names)
    assert lines(tmp_path / "x/relations.txt") == ["next", "twice", "next^-1", "twice^-1"]
    assert lines(tmp_path / "x/labels.tsv") == ["p1\tone", "p2\ttwo words"]


def test_parquet_and_csv(run: Run, tmp_path: Path) -> None:
    export_run(run, tmp_path / "p", form="parquet")
    export_run(run, tmp_path / "c", form="csv")
    tables = tables_of(run)
    whole = pl.read_parquet(tmp_path / "p/entities.parquet")
    np.testing.assert_array_equal(whole["vector"].to_numpy(), tables.entities)
    assert whole["label"].to_list()[:3] == [None, "one", "two words"]
    flat = pl.read_csv(tmp_path / "c/entities.csv")
    assert flat.columns == ["id", "name", "label", *(f"vector_{i}" for i in range(4))]
    as_read = flat.select("^vector_.*$").to_numpy().astype(np.float32)
    np.testing.assert_array_equal(as_read, tables.entities)
    relations = pl.read_parquet(tmp_path / "p/relations.parquet")
    assert relations["name"].to_list() == ["next", "twice"] * 2
    assert relations["direction"].to_list() == ["forward"] * 2 + ["reciprocal"] * 2
    np.testing.assert_array_equal(relations["shift"].to_numpy(), tables.relations["shift"])
    flat = pl.read_csv(tmp_path / "c/relations.csv")
    np.testing.assert_array_equal(
        flat["turn_3"].to_numpy().astype(np.float32), tables.relations["turn"][:, 3]
    )


def test_word2vec(run: Run, tmp_path: Path) -> None:
    export_run(run, tmp_path / "x", form="word2vec")
    tables = tables_of(run)
    for stem, count, width in (("entities", 20, 4), ("relations", 4, 4 + 4 + 1 + 1)):
        first, *rows = lines(tmp_path / f"x/{stem}.txt")
        assert first == f"{count} {width}"
        assert {len(row.split(" ")) for row in rows} == {1 + width}
        assert len(rows) == count
    _, row, *_ = lines(tmp_path / "x/entities.txt")
    assert row.split(" ")[0] == "p0"
    as_read = np.array(row.split(" ")[1:], dtype=np.float32)
    np.testing.assert_array_equal(as_read, tables.entities[0])


def test_words_without_spaces() -> None:
    names = ["a b", "a_b", "a\u00a0b", "c", "a b_2"]
    found = words_of(names)
    assert found == ["a_b_2", "a_b", "a_b_3", "c", "a_b_2_2"]
    assert words_of(["next^-1", "next^-1"]) == ["next^-1", "next^-1_2"]


def test_tensorboard(run: Run, tmp_path: Path) -> None:
    export_run(run, tmp_path / "x", form="tensorboard")
    vectors = np.loadtxt(tmp_path / "x/vectors.tsv", delimiter="\t", dtype=np.float32)
    np.testing.assert_array_equal(vectors, tables_of(run).entities)
    metadata = lines(tmp_path / "x/metadata.tsv")
    assert metadata[:3] == ["name\tlabel", "p0\tp0", "p1\tone"]
    assert len(metadata) == 1 + len(vectors)
    assert len(lines(tmp_path / "x/relations.metadata.tsv")) == 4
    config = (tmp_path / "x/projector_config.pbtxt").read_text()
    for line in config.split("\n"):
        if "_path" in line:
            assert (tmp_path / "x" / line.split('"')[1]).exists()


@pytest.mark.parametrize("form", FORMATS)
def test_about(run: Run, tmp_path: Path, form: str) -> None:
    about = export_run(run, tmp_path / "x", form=form)
    assert json.loads((tmp_path / "x/about.json").read_text()) == about
    assert read_about(tmp_path / "x")["format"] == form
    assert about["tables"]["entities"] == [20, 4]
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_what_is_there_stays(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "x"
    export_run(run, target)
    before = (target / "entities.npy").read_bytes()
    with pytest.raises(InputError, match="x exists"):
        export_run(run, target, form="csv")
    assert (target / "entities.npy").read_bytes() == before
    export_run(run, target, form="csv", overwrite=True)
    assert not (target / "entities.npy").exists()
    assert (target / "entities.csv").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="not an export"):
        export_run(run, tmp_path / "mine", overwrite=True)
    (tmp_path / "file").write_text("dear")
    with pytest.raises(InputError, match="not an export"):
        export_run(run, tmp_path / "file", overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "mine", "x"]


def test_a_failure_leaves_the_old_export(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_run(run, tmp_path / "x")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", fail)
    with pytest.raises(InputError, match="No space left"):
        export_run(run, tmp_path / "x", overwrite=True)
    assert len(lines(tmp_path / "x/entities.txt")) == 20
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_faults(run: Run, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'parquet'"):
        export_run(run, tmp_path / "x", form="parket")
    with pytest.raises(InputError, match="not an export"):
        read_about(tmp_path)
    with torch.no_grad():
        run.model.entity.weight[0] = torch.nan
    with pytest.raises(EvaluationError, match="not finite"):
        export_run(run, tmp_path / "x")
    assert not any(tmp_path.iterdir())


def test_a_rename_that_fails_brings_the_old_export_back(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_run(run, tmp_path / "x")
    rename = Path.rename

    def fail(self: Path, target: Path) -> Path:
        if self.suffix == ".new":
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(files, "_exchange", lambda *_: False)  # as on a system without it
    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(InputError, match="Input/output error"):
        export_run(run, tmp_path / "x", form="csv", overwrite=True)
    assert (tmp_path / "x/entities.npy").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_an_export_says_which_relations_do_not_loop(tmp_path: Path) -> None:
    run = line_run()
    assert export_run(run, tmp_path / "free")["without_loops"] == []
    run.model = make_model("transe", run.graph.size, 6, loops=False)
    assert run.model.may_loop is not None
    run.model.may_loop[1::2] = False
    about = export_run(run, tmp_path / "bound")
    assert about["without_loops"] == [run.graph.relations[1]]


def test_an_export_says_who_stands_back(tmp_path: Path) -> None:
    """'twice' has 15 facts, each with a tail and a head of its own, of 20 entities: p = 1/17."""
    run = line_run()
    assert export_run(run, tmp_path / "alone")["cardinality"] == {}
    run.settings = run.settings.model_copy(update={"cardinality": True})
    about = export_run(run, tmp_path / "ruled")
    seen = (15 + 1) / (20 + 2)
    delta = math.log((16 / 17) / (1 - seen)) - math.log((1 / 17) / seen)
    assert about["cardinality"]["twice"] == {"tails": round(delta, 4), "heads": round(delta, 4)}


def test_an_export_after_a_replacement_that_was_killed(tmp_path: Path) -> None:
    run = line_run()
    export_run(run, tmp_path / "x")
    (tmp_path / "x").rename(tmp_path / ".x.old")  # killed between its two renames
    export_run(run, tmp_path / "x", overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_csv_safe_is_for_csv(run: Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="csv_safe .* the format is npy"):
        export_run(run, tmp_path / "x", form="npy", csv_safe=True)
    assert not (tmp_path / "x").exists()
    export_run(run, tmp_path / "c", form="csv", csv_safe=True)
    export_run(run, tmp_path / "d", form="csv")
    # no name of this graph is a formula, so nothing changes
    assert (tmp_path / "c/entities.csv").read_bytes() == (tmp_path / "d/entities.csv").read_bytes()

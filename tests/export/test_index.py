from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from hale.answers.predictor import predict
from hale.errors import InputError, MissingExtraError, WriteError
from hale.export import export_run, open_index, query_vectors
from hale.export.index import Lifted, build, search
from hale.models import make_model
from hale.runs.run import Run
from tests.line_run import line_run


@pytest.fixture
def run() -> Run:
    made = line_run(200)
    torch.manual_seed(0)
    made.model = make_model("rotl", made.graph.size, 8)
    return made


def test_gives_the_answers_of_predict(run: Run, tmp_path: Path) -> None:
    export_run(run, tmp_path / "x", form="index")
    index = open_index(tmp_path / "x", expansion=200)
    heads = ["p3", "p77"]
    entities, scores = index.search(query_vectors(run, head=heads, relation="twice"), 5)
    assert entities.shape == scores.shape == (2, 5)
    for row, head in enumerate(heads):
        exact = predict(run, head=head, relation="twice", k=5)
        assert {index.names[i] for i in entities[row]} == {a.entity for a in exact}
        np.testing.assert_allclose(scores[row], [a.score for a in exact], atol=1e-5)
    heads_of, _ = index.search(query_vectors(run, relation="next", tail="p9"), 2)
    near = [index.names[i] for i in heads_of[0] if index.names[i] != "p9"]  # no head of itself
    assert near[0] == predict(run, relation="next", tail="p9", k=1)[0].entity


def test_most_of_the_answers_without_looking_at_all(run: Run, tmp_path: Path) -> None:
    export_run(run, tmp_path / "x", form="index")
    heads = run.graph.entities.names
    queries = query_vectors(run, head=heads, relation="next")
    near, _ = open_index(tmp_path / "x", expansion=40).search(queries, 5)
    exact, _ = open_index(tmp_path / "x", expansion=200).search(queries, 5)
    shared = [len(set(a) & set(b)) / 5 for a, b in zip(near.tolist(), exact.tolist(), strict=True)]
    assert np.mean(shared) > 0.9


def test_ctrl_c_within_the_library_is_ctrl_c() -> None:
    """usearch raises a RuntimeError of its own once a signal's handler has raised anything."""

    def press(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    rows = np.random.default_rng(0).normal(size=(50_000, 64)).astype(np.float32)
    before = signal.signal(signal.SIGALRM, press)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            build(Lifted(rows, "l2sq"))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Refused:
    """An index whose file the disk does not take, or takes in part."""

    def __init__(self, told: str, size: int, written: int) -> None:
        self.told, self.serialized_length, self.written = told, size, written

    def save(self, path: str) -> None:
        Path(path).write_bytes(b"x" * self.written)
        if self.told:
            raise RuntimeError(self.told)


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (Refused("No space left on device", 9, 4), "No space left on device"),
        (Refused("", 9, 4), "some of its bytes are missing"),  # what closing the file told nobody
    ],
)
def test_a_disk_that_refuses_an_index_is_one_error(
    refused: Refused, message: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hale.export.index.build", lambda _lifted: refused)
    with pytest.raises(WriteError, match=f"x cannot be written: {message}"):
        export_run(run, tmp_path / "x", form="index")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("expansion", "k", "exact"),
    [(199, 5, False), (200, 5, True), (10, 199, False), (10, 200, True)],
)
def test_exact_where_all_are_candidates(expansion: int, k: int, exact: bool) -> None:
    class Index:
        expansion_search = expansion

        def __len__(self) -> int:
            return 200

        def search(self, queries: object, k: int, *, threads: int, exact: bool) -> Any:
            told.append(exact)
            return SimpleNamespace(keys=np.zeros((1, k)), distances=np.zeros((1, k)))

    told: list[bool] = []
    search(Index(), np.zeros((1, 8), dtype=np.float32), k)
    assert told == [exact]


def test_heights_go_with_the_vectors(tmp_path: Path) -> None:
    run = line_run(200)
    run.model = make_model("rotl", run.graph.size, 8, heights=True)
    export_run(run, tmp_path / "x", form="index")
    queries = query_vectors(run, head="p3", relation="twice")
    assert queries.shape == (1, 9)
    entities, scores = open_index(tmp_path / "x", expansion=200).search(queries, 5)
    exact = predict(run, head="p3", relation="twice", k=5)
    assert [run.graph.entities[i] for i in entities[0]] == [a.entity for a in exact]
    np.testing.assert_allclose(scores[0], [a.score for a in exact], atol=1e-5)


def test_more_than_all_gives_all(run: Run, tmp_path: Path) -> None:
    export_run(run, tmp_path / "x", form="index")
    found, _ = open_index(tmp_path / "x", expansion=1).search(np.zeros((1, 8)), 10**6)
    assert sorted(found[0].tolist()) == list(range(200))


@pytest.mark.parametrize("similarity", ["l2", "dot"])
@pytest.mark.parametrize("with_bias", [False, True])
def test_a_lifted_index_scores_as_the_model_would(
    run: Run, tmp_path: Path, similarity: str, with_bias: bool
) -> None:
    """Against -||q - e||^2 + b and <q, e> + b, written out."""
    bias = torch.linspace(-1, 2, 200)[torch.randperm(200)] if with_bias else None
    run.model = make_model("distmult", run.graph.size, 4, similarity=similarity, biases=with_bias)
    if bias is not None:
        with torch.no_grad():
            run.model.tail_bias.weight[:, 0] = bias
    export_run(run, tmp_path / "x", form="index")
    query = query_vectors(run, head="p5", relation="next")
    found, scores = open_index(tmp_path / "x", expansion=200).search(query, 7)
    expected = []
    for i, e in enumerate(run.model.entities().tolist()):
        pairs = list(zip(query[0].tolist(), e, strict=True))
        near = -sum((a - b) ** 2 for a, b in pairs)
        alike = near if similarity == "l2" else sum(a * b for a, b in pairs)
        expected.append((alike + (0 if bias is None else float(bias[i])), i))
    expected.sort(reverse=True)
    assert found[0].tolist() == [i for _, i in expected[:7]]
    np.testing.assert_allclose(scores[0], [score for score, _ in expected[:7]], atol=1e-5)


def test_hyperbolic_models_are_refused_with_the_reason(run: Run, tmp_path: Path) -> None:
    run.model = make_model("roth", run.graph.size, 4)
    with pytest.raises(InputError, match="depends on the relation.*npy or parquet"):
        export_run(run, tmp_path / "x", form="index")
    assert not any(tmp_path.iterdir())
    export_run(run, tmp_path / "x", form="npy")


@pytest.mark.parametrize("name", ["entities.usearch", "entities.txt"])
def test_a_wrong_byte_is_noticed_before_the_index_is_walked(
    run: Run, tmp_path: Path, name: str
) -> None:
    export_run(run, tmp_path / "x", form="index")
    file = tmp_path / "x" / name
    whole = file.read_bytes()
    for place in range(0, len(whole), max(1, len(whole) // 40)):
        changed = bytearray(whole)
        changed[place] ^= 1
        file.write_bytes(changed)
        with pytest.raises(InputError, match=r"damaged: export it again"):
            open_index(tmp_path / "x")
    file.write_bytes(whole)
    open_index(tmp_path / "x")


def test_faults(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export_run(run, tmp_path / "x", form="index")
    export_run(run, tmp_path / "n", form="npy")
    index = open_index(tmp_path / "x")
    with pytest.raises(InputError, match=r"shape \(m, 8\), got \(1, 7\)"):
        index.search(np.zeros((1, 7)))
    with pytest.raises(InputError, match="at least 1"):
        index.search(np.zeros((1, 8)), 0)
    with pytest.raises(InputError, match="format 'npy', not 'index'"):
        open_index(tmp_path / "n")
    with pytest.raises(InputError, match="not an export"):
        open_index(tmp_path)
    (tmp_path / "x/entities.txt").write_text("p0\n")
    with pytest.raises(InputError, match="damaged"):
        open_index(tmp_path / "x")
    (tmp_path / "x/entities.usearch").write_bytes(b"nothing")
    with pytest.raises(InputError, match="cannot be read|damaged"):
        open_index(tmp_path / "x")
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'hale-kge\[index\]'"):
        export_run(run, tmp_path / "y", form="index")
    assert not (tmp_path / "y").exists()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("index", None),
        ("index", {}),
        ("index", [1]),
        ("without_loops", 3),
        ("expansion_search", "many"),
        ("sha256", 5),
    ],
)
def test_what_about_json_lacks_is_told(run: Run, tmp_path: Path, key: str, value: object) -> None:
    export_run(run, tmp_path / "x", form="index")
    file = tmp_path / "x/about.json"
    about = json.loads(file.read_text())
    if key in about["index"]:
        about["index"][key] = value
    else:
        about[key] = value
    file.write_text(json.dumps(about))
    with pytest.raises(InputError, match=r"about.json does not tell how to search"):
        open_index(tmp_path / "x")


def test_an_about_json_of_brackets_is_told(run: Run, tmp_path: Path) -> None:
    export_run(run, tmp_path / "x", form="index")
    (tmp_path / "x/about.json").write_text("[" * 100_000)
    with pytest.raises(InputError, match="cannot be read"):
        open_index(tmp_path / "x")


def test_a_file_name_in_about_json_leads_nowhere_else(run: Run, tmp_path: Path) -> None:
    """Who sends an export cannot have another file of the reader's opened."""
    export_run(run, tmp_path / "x", form="index")
    export_run(run, tmp_path / "y", form="index")
    about = json.loads((tmp_path / "x" / "about.json").read_text())
    about["index"]["file"] = "../y/entities.usearch"
    (tmp_path / "x" / "about.json").write_text(json.dumps(about))
    (tmp_path / "x" / "entities.usearch").unlink()
    with pytest.raises(InputError, match="The index .*x is damaged|cannot be read"):
        open_index(tmp_path / "x")

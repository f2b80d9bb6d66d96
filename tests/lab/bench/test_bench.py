"""The benchmarks run and give the rows that they promise; no test asserts a time."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from hale.cli.app import app
from hale.data.datasets import load
from hale.data.graph import SPLITS, Graph
from hale.engine import current, uniformity
from hale.engine.activations import Hanon
from hale.lab.bench import growth
from hale.lab.bench.curves import quality_at, reached
from hale.lab.bench.growth import measure, plot_growth, synthetic
from hale.lab.bench.kernel import _plain, kernel_rows
from hale.lab.bench.race import run
from hale.lab.bench.timing import in_turns


def bench(*arguments: str | Path) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["bench", *map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_the_rivals_compute_the_same() -> None:
    generator = torch.Generator().manual_seed(0)
    queries, entities = (0.3 * torch.randn(n, 8, generator=generator) for n in (5, 200))
    scale = torch.rand(5, generator=generator)
    expected = uniformity(queries, entities, scale, Hanon(beta=3.0, gamma=6.0))
    torch.testing.assert_close(_plain(queries, entities, scale), expected)


def test_kernel_rows(tmp_path: Path) -> None:
    options = ["--n", "300", "--d", "8,16", "--rounds", "2", "--rivals", "autograd,tiles,native"]
    found = bench("kernel", "-m", "5", *options, "--out", tmp_path / "k.json")
    rows = found["rows"]
    assert [(row["rival"], row["d"]) for row in rows] == [
        (rival, d) for d in (8, 16) for rival in ("autograd", "tiles", "native")
    ]
    for row in rows:
        assert set(row) >= {"rival", "m", "n", "d", "median_ms", "best_ms", "gflops"}
        assert row["best_ms"] <= row["median_ms"]
        assert row["gflops"] == pytest.approx(6e-9 * 5 * 300 * row["d"] / (row["best_ms"] / 1e3))
        assert row["share_of_peak"] == pytest.approx(row["gflops"] / row["peak_gflops"])
    assert json.loads((tmp_path / "k.json").read_text()) == found


def test_rivals_take_turns() -> None:
    order: list[str] = []
    calls = {name: lambda name=name: order.append(name) for name in "ab"}
    in_turns(calls, rounds=3, warm_up=1, between=lambda: order.append("|"))
    assert "".join(order) == "abab|ab|ab|"


def test_unknown_rivals_are_refused() -> None:
    for command in (["kernel", "--rivals", "nativ"], ["race", "wordnet", "--rivals", "hal"]):
        result = CliRunner().invoke(app, ["bench", *command])
        assert result.exit_code == 2
        assert "Did you mean" in result.stderr
    assert CliRunner().invoke(app, ["bench", "kernel", "--n", "many"]).exit_code == 2
    assert CliRunner().invoke(app, ["bench", "race", "wordnet", "--metric", "mr"]).exit_code == 2


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    draws = np.random.default_rng(0)
    for split, count in (("train", 300), ("valid", 20), ("test", 20)):
        rows = [f"e{a}\tr{a % 3}\te{b}\n" for a, b in draws.integers(0, 40, (count, 2))]
        (tmp_path / f"{split}.txt").write_text("".join(rows))
    return tmp_path


def test_step_rows(folder: Path) -> None:
    asked = ("--dim", "8", "--batch-size", "64", "--queries", "8")
    rows = bench("step", folder, *asked, "--block", "39")["rows"]
    times = {row["part"]: row["median_ms"] for row in rows}
    assert list(times)[-2:] == ["all kernels", "whole step"]
    if current().name == "native":
        assert {"draw_block", "leave", "step"} < set(times)
    parts = [time for name, time in times.items() if name not in ("all kernels", "whole step")]
    assert times["all kernels"] == pytest.approx(sum(parts))
    ratio = times["whole step"] / times["all kernels"]
    assert rows[0]["step_over_kernels"] == pytest.approx(ratio)
    whole = bench("step", folder, *asked, "--block", "all")["rows"]
    assert "step" not in {row["part"] for row in whole}


def test_block_rows(tmp_path: Path) -> None:
    rows = bench("block", "--n", "300", "--dim", "4", "--block", "30,60", "--draws", "200")["rows"]
    kinds = {(row["activation"], row["gamma"]) for row in rows}
    assert kinds >= {("hanon", 5.0), ("hanon", 10.0), ("halin", 5.0), ("identity", None)}
    for row in rows:
        assert abs(row["bias"]) < 6 * row["standard_error"] + 1e-9
        if row["bound"] is not None:
            assert row["largest_spread"] < 1.2 * row["bound"], "of so few draws"
    smaller, larger = rows[:2]
    assert (smaller["block"], larger["block"]) == (30, 60)
    assert larger["spread"] < smaller["spread"]
    assert smaller["bound"] == pytest.approx(math.sinh(2.5) * math.sqrt(9 / 299) / 0.99)
    for sizes in ("many", "300", "0,30", "-5"):
        refused = CliRunner().invoke(app, ["bench", "block", "--n", "300", "--block", sizes])
        assert refused.exit_code == 2


def test_evaluate_rows(folder: Path) -> None:
    (row,) = bench("evaluate", folder, "--dim", "8")["rows"]
    assert row["ranks"] == 40
    assert row["best_s"] <= row["median_s"]
    assert row["peak_mb"] > 0


@pytest.mark.parametrize(
    "asked",
    [
        ["growth", "--dim", "3", "--most", "1000"],
        ["ranks", "--dim", "3"],
        ["ranks", "--batch-size", "4", "--queries", "100"],
        ["ranks", "--ranks", "65"],
        ["ranks", "--n", "0"],
    ],
)
def test_what_no_process_could_measure_is_told_before_any_is_started(
    monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    monkeypatch.setattr("subprocess.Popen", lambda *_, **__: pytest.fail("a process was started"))
    refused = CliRunner().invoke(app, ["bench", *asked])
    assert refused.exit_code == 2
    assert "Traceback" not in refused.output


def test_growth(tmp_path: Path) -> None:
    graph = synthetic(50)
    assert graph.size == (50, 20)
    assert list(graph.entities.names[:2]) == ["00", "01"]
    rows = [measure(size, 8, 4, block, 2) for block in ("80", "all") for size in (100, 200)]
    assert [(row["block"], row["n"]) for row in rows] == [
        ("80", 100),
        ("80", 200),
        ("all", 100),
        ("all", 200),
    ]
    plot_growth(rows, tmp_path / "growth.png")
    assert (tmp_path / "growth.png").read_bytes().startswith(b"\x89PNG")


def test_growth_measures_in_processes_of_their_own() -> None:
    rows = bench("growth", "--most", "1000", "--dim", "8", "--queries", "4")["rows"]
    assert [(row["block"], row["n"]) for row in rows] == [("4096", 1000), ("all", 1000)]


def test_growth_ends_where_a_step_would_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    def fake(
        _: object, size: int, dim: int, queries: int, block: str, steps: int
    ) -> dict[str, Any]:
        return {"block": block, "n": size, "median_ms": 5.0 if block == "8" else 0.01 * size}

    monkeypatch.setattr(growth, "make_settings", lambda **values: None)
    monkeypatch.setattr(growth, "build_model", lambda *_: None)
    monkeypatch.setattr(growth, "apart", fake)
    # With all entities a step takes 0.1, 1 and would take 10 s.
    rows = growth.growth_rows(sizes=(10**4, 10**5, 10**6), block="8", longest=9.0)
    assert [(row["block"], row["n"]) for row in rows] == [
        *(("8", 10**size) for size in (4, 5, 6)),
        *(("all", 10**size) for size in (4, 5)),
    ]
    once = growth.growth_rows(sizes=(10,), block="all")
    assert [row["block"] for row in once] == ["all"], "not twice"


CURVE = [
    {"seconds": 10.0, "mrr": 0.1},
    {"seconds": 20.0, "mrr": 0.3},
    {"seconds": 31.0, "mrr": 0.2},
]


def test_reading_a_curve() -> None:
    assert reached(CURVE, "mrr", 0.3) == 20.0
    assert reached(CURVE, "mrr", 0.2) == pytest.approx(15.0), "half way between two validations"
    assert reached(CURVE, "mrr", 0.05) == pytest.approx(5.0), "from nothing at the start"
    assert reached(CURVE, "mrr", 0.31) is None
    assert quality_at(CURVE, "mrr", 5) == pytest.approx(0.05), "from nothing at the start"
    assert quality_at(CURVE, "mrr", 15) == pytest.approx(0.2), "half way between two validations"
    assert quality_at(CURVE, "mrr", 20) == pytest.approx(0.3)
    assert quality_at(CURVE, "mrr", 32) == 0.2, "31 s is near enough"
    assert quality_at(CURVE, "mrr", 60) is None, "the run did not last that long"


def test_hale_races_alone(folder: Path, tmp_path: Path) -> None:
    found = bench(
        *("race", folder, "--seconds", "1", "--dim", "8", "--rivals", "hale", "--target", "0.001"),
        *("--plot", tmp_path / "race.png"),
    )
    (row,) = found["rows"]
    assert row["rival"] == "hale"
    assert 0 < row["seconds_to_target"] <= row["curve"][0]["seconds"]
    assert (tmp_path / "race.png").read_bytes().startswith(b"\x89PNG")


def test_an_unknown_graph_is_told_once() -> None:
    done = CliRunner().invoke(app, ["bench", "race", "nowhere", "--rivals", "hale"])
    assert done.exit_code == 2
    assert "Traceback" not in done.output


def test_kernel_rows_from_python() -> None:
    rows = kernel_rows(m=2, sizes=[50], dims=[3], rounds=1, rivals=["native"])
    assert [row["rival"] for row in rows] == ["native"]


class Rival(torch.nn.Module):
    """PyKEEN's model as far as a race uses one: it knows every fact of a graph by heart."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.facts = [tuple(row) for split in SPLITS for row in graph.split(split).tolist()]
        self.shape = len(graph.entities)

    def score_t(self, pairs: torch.Tensor) -> torch.Tensor:
        """(head, relation) -> scores of all tails."""
        scores = torch.zeros(len(pairs), self.shape)
        for i, pair in enumerate(map(tuple, pairs.tolist())):
            scores[i, [t for h, r, t in self.facts if (h, r) == pair]] = 1
        return scores

    def score_h(self, pairs: torch.Tensor) -> torch.Tensor:
        """(relation, tail) -> scores of all heads."""
        scores = torch.zeros(len(pairs), self.shape)
        for i, pair in enumerate(map(tuple, pairs.tolist())):
            scores[i, [h for h, r, t in self.facts if (r, t) == pair]] = 1
        return scores


@pytest.fixture
def pykeen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """A stand-in for PyKEEN; what it is asked for."""
    asked: list[dict[str, Any]] = []

    def make(name: str, **options: Any) -> Rival:
        asked.append({"model": name, **options})
        return Rival(load(folder))

    class Loop:
        def __init__(self, **options: Any) -> None:
            asked[-1] |= {"loop": type(self).__name__, "optimizer": options["optimizer"]}

        def train(self, *, callbacks: Any, batch_size: int, num_epochs: int, **_: Any) -> None:
            asked[-1] |= {"batch_size": batch_size}
            for _epoch in range(num_epochs):
                callbacks.pre_batch()
                callbacks.post_batch()

    parts: dict[str, dict[str, Any]] = {
        "pykeen": {},
        "pykeen.losses": {
            "NSSALoss": lambda **options: options,
            "CrossEntropyLoss": lambda: "cross entropy",
        },
        "pykeen.models": {"model_resolver": SimpleNamespace(make=make)},
        "pykeen.training": {
            "SLCWATrainingLoop": type("Sampled", (Loop,), {}),
            "LCWATrainingLoop": type("All", (Loop,), {}),
        },
        "pykeen.training.callbacks": {"TrainingCallback": object},
        "pykeen.triples": {"CoreTriplesFactory": lambda *given: given},
    }
    for name, members in parts.items():
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
        parent, _, last = name.rpartition(".")
        if parent:
            monkeypatch.setattr(sys.modules[parent], last, module, raising=False)
    return asked


@pytest.mark.filterwarnings("ignore::hale.errors.HaleWarning")  # the drawn facts repeat
@pytest.mark.parametrize(
    ("rival", "model", "width", "loop"),
    [
        ("pykeen-mure-adversarial", "MuRE", 8, "Sampled"),
        ("pykeen-rotate-adversarial", "RotatE", 4, "Sampled"),  # of complex numbers
        ("pykeen-mure-1vsall", "MuRE", 8, "All"),
    ],
)
def test_a_rival_is_as_wide_as_hale_and_ranked_in_both_directions(
    folder: Path,
    pykeen: list[dict[str, Any]],
    rival: str,
    model: str,
    width: int,
    loop: str,
) -> None:
    """It knows all facts in both directions: nothing but a known answer beats a target."""
    curve = run(rival, str(folder), 0.05, 8, 1, 20, "mrr", 0.5)
    (asked,) = pykeen
    assert (asked["model"], asked["embedding_dim"], asked["loop"]) == (model, width, loop)
    triples, num_entities, num_relations = asked["triples_factory"]
    graph = load(folder)
    assert np.array_equal(triples.numpy(), graph.train)
    assert (num_entities, num_relations) == graph.size
    assert curve[-1]["count"] == 40
    assert [point["mrr"] for point in curve] == [1.0] * len(curve)

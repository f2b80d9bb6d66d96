"""The measurement of scale, on a toy graph: what it runs, keeps and writes."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "scale.py"


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmark_scale", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


scale = load_script()
QUICK = scale.Size((None,), ("--dim", "8", "--epochs", "1"), ("--epochs", "1"))


@pytest.fixture
def graphs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the graph 'toy', which is the only size, and results that go elsewhere."""
    folder = tmp_path / "graphs" / "toy"
    folder.mkdir(parents=True)
    draws = np.random.default_rng(0)
    for split, count in (("train", 300), ("valid", 20), ("test", 20)):
        rows = [f"e{a}\tr{a % 3}\te{b}\n" for a, b in draws.integers(0, 40, (count, 2))]
        (folder / f"{split}.txt").write_text("".join(rows))
    about = {"entities": 40, "facts": 340, "splits": {}, "from": {"a/Packages": "0"}}
    (folder / "about.json").write_text(json.dumps(about))
    monkeypatch.setattr(scale, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(scale, "SIZES", {"toy": QUICK})
    monkeypatch.setattr(scale, "NEW_FACTS", 5)
    return folder.parent


def test_all_commands_are_measured_and_kept(
    graphs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["--graphs", str(graphs), "--runs", str(tmp_path / "runs")]
    scale.main(options)
    (cells,) = json.loads((tmp_path / "results" / "scale.json").read_text()).values()
    assert list(cells) == ["graph", *scale.COMMANDS]
    assert cells["graph"] == {"entities": 40, "facts": 340, "splits": {}}
    for command in scale.COMMANDS:
        assert cells[command]["seconds"] > 0
        assert cells[command]["peak_mb"] > 50, "torch alone takes more"
    train = cells["train"]
    assert 0 < train["load_seconds"] < train["seconds"]
    assert train["steps_a_second"] == pytest.approx(train["steps"] / train["training_seconds"])
    assert 0 < train["curve"][-1]["mrr"] <= 1
    assert cells["evaluate"]["mrr"] == pytest.approx(train["mrr"])
    assert cells["evaluate"]["count"] > 0
    page = (tmp_path / "results" / "scale.md").read_text()
    assert "| toy, block by default | 40 | 340 |" in page
    assert f"| {train['mrr']:.4f} |" in page

    # What is finished is not run again, and what is not is.
    def fake(arguments: list[str]) -> dict[str, Any]:
        ran.append(arguments[0])
        return {"seconds": 1.0, "peak_mb": 1.0, "answer": {}}

    ran: list[str] = []
    monkeypatch.setattr(scale, "measure", fake)
    scale.main(options)
    assert ran == []
    file = tmp_path / "results" / "scale.json"
    found = json.loads(file.read_text())
    del found["toy, block by default"]["predict"]
    file.write_text(json.dumps(found))
    scale.main(options)
    assert ran == ["predict"]


def test_a_run_that_is_measured_again_is_measured_whole(
    graphs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = []

    def fake(arguments: list[str]) -> dict[str, Any]:
        ran.append(arguments[0])
        run = tmp_path / "runs" / "toy-block-by-default"
        run.mkdir(parents=True, exist_ok=True)
        (run / "history.jsonl").write_text("")
        training = {"steps": 4, "epochs": 1.0, "seconds": 2.0}
        answer = {"mrr": 0.1, "hits@10": 0.2, "count": 40, "settings": {}, "training": training}
        return {"seconds": 1.0, "peak_mb": 1.0, "answer": answer}

    monkeypatch.setattr(scale, "measure", fake)
    options = ["toy", "--graphs", str(graphs), "--runs", str(tmp_path / "runs")]
    scale.main(options)
    scale.main([*options, "--again"])
    assert ran == [*scale.COMMANDS, *scale.COMMANDS]
    (cells,) = json.loads((tmp_path / "results" / "scale.json").read_text()).values()
    assert cells["train"]["steps_a_second"] == 2.0


def test_what_a_user_types(graphs: Path, tmp_path: Path) -> None:
    train, evaluate, predict, update = scale.commands(
        QUICK, "4096", graphs / "toy", tmp_path / "run"
    )
    assert train[-6:] == ["--block", "4096", "--dim", "8", "--epochs", "1"]
    assert evaluate == ["evaluate", str(tmp_path / "run")]
    head, relation, _ = (graphs / "toy" / "test.txt").read_text().split("\n")[0].split("\t")
    assert predict[2:6] == ["--head", head, "--relation", relation]
    assert update[:3] == ["update", str(tmp_path / "run"), str(tmp_path / "new-facts.tsv")]


def test_a_command_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="nowhere"):
        scale.measure(["evaluate", str(tmp_path / "nowhere")])


def test_graphs_that_are_not_there_are_asked_for(
    tmp_path: Path, graphs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, words in (
        (["toy", "--graphs", str(tmp_path)], "build_debian.py toy"),
        (["tiny"], "there is no tiny; there are toy"),
        (["--render"], "nothing is measured yet"),
    ):
        with pytest.raises(SystemExit):
            scale.main(arguments)
        assert words in capsys.readouterr().err


def test_points_of_a_curve() -> None:
    curve = [{"seconds": float(i)} for i in range(1, 25)]
    assert [point["seconds"] for point in scale.some(curve)] == [4, 8, 12, 16, 20, 24]
    assert scale.some(curve[:2]) == curve[:2]
    assert scale.some([]) == []

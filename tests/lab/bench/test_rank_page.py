"""The page of what ranks cost, from figures made by the model itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hale.lab.bench.rank_costs import Costs
from hale.lab.bench.rank_page import costs_of, observed, plot_ranks, write_page

COSTS = Costs(computing=0.02, round=0.001, message=2e-4)


def row(
    ranks: int, *, entities: int = 1000, hosts: bool = False, sent: float = 1e4
) -> dict[str, Any]:
    made: dict[str, Any] = {
        "ranks": ranks,
        "entities": entities,
        "dim": 32,
        "batch": 1024,
        "queries": 100,
        "block": "4096",
        "rows": entities // ranks,
        "sent_bytes": sent * (ranks - 1),
        "formula_bytes": 1e4 * (ranks - 1),
        "rounds": 9.0 if ranks > 1 else 0.0,
        "memory_mb": 300.0,
        "hosts": "netem" if hosts else None,
        "line": {"latency_ms": 1.0, "megabits": 1000.0} if hosts else None,
        "median_ms": 1.0,
    }
    return made | {"median_ms": 1e3 * COSTS.step(observed(made, 2))}


def result() -> dict[str, Any]:
    local = [row(1), row(2), row(2, entities=10_000, sent=1.02e4)]
    far = row(16, hosts=True)
    far["median_ms"] *= 2
    hosts = [*(row(ranks, hosts=True) for ranks in (1, 2, 4, 8)), far]
    machine = {"cpu": "a processor", "cores": 2, "torch": "2"}
    process = row(1) | {"threads": 2, "median_ms": local[1]["median_ms"] / 1.25, "memory_mb": 400.0}
    return {"machine": machine, "local": local, "hosts": hosts, "process": [process]}


def test_the_page_says_what_it_cannot_show(tmp_path: Path) -> None:
    write_page(result(), tmp_path / "ranks.md", "../images/ranks.png")
    page = (tmp_path / "ranks.md").read_text()
    assert "2 cores do not get faster with more than 2 ranks" in page
    assert "Simulated" in page
    assert "made by netem" in page
    assert "| 2 | 10,000 | 32 | 4096 | 5,000 |" in page
    assert "| 1.25 | 400 | 300 | 0.75 |" in page  # two ranks beside one process
    assert "10.2 | 10.0 | +2.0 %" in page
    assert (
        "From 1,000 to 10,000 entities, the bytes that 2 ranks send a step differ by 2.0 %" in page
    )
    assert "](../images/ranks.png)" in page


def test_more_than_eight_ranks_are_foretold(tmp_path: Path) -> None:
    """The model is not fitted on 16, which take twice as long as it says."""
    found = costs_of(result()["hosts"], 2)
    assert found is not None
    assert found.message == pytest.approx(COSTS.message)
    write_page(result(), tmp_path / "ranks.md", None)
    lines = (tmp_path / "ranks.md").read_text().splitlines()
    assert [line.endswith("-50 % | foretold |") for line in lines if line.startswith("| 16 |")][-1]
    assert sum(line.endswith("| +0 % | fitted |") for line in lines) == 4
    # Two ranks with a core each, by hand: 20 / 2 + 9 (0.1 + 1 + 0.2) + 10 KB at 1.25 GB/s, in ms.
    (told,) = [line for line in lines if line.startswith("| a step by the model, ms |")]
    assert told.split(" | ")[1] == "21.7"
    assert "| rounds | 9 | 9 | 9 | 9 |" in lines


def test_three_rows_are_too_few_for_a_model(tmp_path: Path) -> None:
    few = result() | {"hosts": result()["hosts"][:3]}
    assert costs_of(few["hosts"], 2) is None
    write_page(few, tmp_path / "ranks.md", None)
    assert "Too few" in (tmp_path / "ranks.md").read_text()


def test_it_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot_ranks(result(), tmp_path / "ranks.png")
    assert (tmp_path / "ranks.png").read_bytes().startswith(b"\x89PNG")

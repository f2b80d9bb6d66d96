"""Event files, read back by TensorBoard itself."""

from __future__ import annotations

from pathlib import Path

import pytest

import hale
from hale.data.graph import Graph
from tests.training.tracking.test_tracker import FAST

pytest.importorskip("tensorboard", reason="the extra tensorboard is not installed")
pytestmark = pytest.mark.filterwarnings("ignore:::tensorboard", "ignore::DeprecationWarning")


def test_events_are_those_of_the_run(graph: Graph, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = hale.train(graph, out=tmp_path / "x", track="tensorboard", validate_every=2, **FAST)
    events = EventAccumulator(str(tmp_path / "x" / "tensorboard"))
    events.Reload()
    told = [(event.step, event.value) for event in events.Scalars("valid/mrr")]
    assert [step for step, _ in told] == [record.step for record in run.history]
    assert [value for _, value in told] == pytest.approx(
        [record.metrics["mrr"] for record in run.history]
    )
    assert {"loss/alignment", "loss/uniformity", "learning_rate"} <= set(events.Tags()["scalars"])
    assert b'"dim": 8' in events.Tensors("settings/text_summary")[0].tensor_proto.string_val[0]
    assert hale.load_run(tmp_path / "x").summary == run.summary  # the folder is still a run

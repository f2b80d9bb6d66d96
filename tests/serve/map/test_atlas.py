"""The layout that is shown, and the better one that a process makes."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hale.runs.file_names import MAP
from hale.serve.map.atlas import Atlas
from hale.serve.map.first_sight import SETTINGS, first_sight


def finished(atlas: Atlas) -> dict[str, object]:
    late = time.monotonic() + 120
    while atlas.status()["working"] and time.monotonic() < late:
        time.sleep(0.05)
    return atlas.status()


def test_components_first_then_tsne_kept_with_the_run(folder: Path) -> None:
    pytest.importorskip("openTSNE")
    atlas = Atlas(folder, first_sight(folder))
    assert atlas.layout.kind == "pca"
    before = atlas.status()
    assert before["working"]  # the page looks again
    atlas.improve()
    assert finished(atlas)["text"] == "10 entities by t-SNE"
    assert atlas.layout.kind == "tsne"
    assert atlas.version != before["version"]
    assert (folder / MAP).is_file()
    again = Atlas(folder, first_sight(folder))
    assert again.layout.kind == "tsne"
    assert not again.status()["working"]
    again.improve()  # nothing is left to do
    assert again.status()["version"] == atlas.version


def test_what_goes_wrong_is_told_and_the_map_stays(folder: Path) -> None:
    atlas = Atlas(folder, first_sight(folder))
    (folder / "model.safetensors").unlink()
    atlas.improve()
    status = finished(atlas)
    assert "no layout by t-SNE: " in str(status["text"])
    assert "model.safetensors" in str(status["text"])
    assert atlas.layout.kind == "pca"


@pytest.fixture
def at_work(folder: Path) -> Iterator[tuple[Atlas, subprocess.Popen[str]]]:
    """A map whose better layout is never done: what it is read from never comes."""
    atlas = Atlas(folder, first_sight(folder))
    (folder / SETTINGS).unlink()
    os.mkfifo(folder / SETTINGS)
    atlas.improve()
    assert atlas._child is not None
    yield atlas, atlas._child
    atlas._child.kill()
    finished(atlas)


def test_its_process_ends_with_whoever_started_it(
    at_work: tuple[Atlas, subprocess.Popen[str]],
) -> None:
    """A kill of the server closes its stdin, and nothing else tells it."""
    _, child = at_work
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.5)
    assert child.stdin is not None
    child.stdin.close()
    assert child.wait(60) == 1


def test_closing_ends_its_process(at_work: tuple[Atlas, subprocess.Popen[str]]) -> None:
    atlas, child = at_work
    assert child.poll() is None
    atlas.close()
    assert child.wait(60) == -signal.SIGTERM

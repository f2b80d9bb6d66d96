"""The layout that is shown, and the better one that a process makes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from hale.serve.map.atlas import Atlas
from hale.serve.map.first_sight import first_sight
from hale.serve.map.map_file import MAP


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


def test_its_process_ends_with_it(folder: Path) -> None:
    atlas = Atlas(folder, first_sight(folder))
    atlas.improve()
    assert atlas._child is not None
    assert atlas._child.stdin is not None
    atlas._child.stdin.close()  # as a kill of the server would
    assert atlas._child.wait(60) in (0, 1)
    finished(atlas)
    atlas.close()

"""What is read without PyTorch is what the run itself holds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hale.models import make_model
from hale.runs.folder import RunFolder
from hale.runs.run import Run, load_run
from hale.serve.map.first_sight import first_sight, weights_of
from hale.settings import make_settings


def test_it_is_the_run(folder: Path, run: Run) -> None:
    seen = first_sight(folder)
    assert seen.graph.name == run.graph.name
    assert seen.graph.entities.names == run.graph.entities.names
    assert seen.graph.relations.names == run.graph.relations.names
    assert seen.graph.labels == run.graph.labels
    for split in ("train", "valid", "test"):
        np.testing.assert_array_equal(seen.graph.split(split), run.graph.split(split))
    np.testing.assert_array_equal(seen.places, run.model.places().detach().numpy())


def test_heights_are_no_places(folder: Path, run: Run) -> None:
    model = make_model("transe", run.graph.size, 2, heights=True)
    settings = make_settings(model="transe", dim=2, heights=True)
    RunFolder.create("high", settings, run.graph, model.state_dict())
    seen = first_sight(Path("high"))
    assert seen.places.shape == (len(run.graph.entities), 2)
    np.testing.assert_array_equal(seen.places, load_run("high").model.places().detach().numpy())


def test_other_weights_have_another_digest(folder: Path) -> None:
    before = weights_of(folder)
    assert before == first_sight(folder).weights
    data = bytearray((folder / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (folder / "model.safetensors").write_bytes(bytes(data))
    assert weights_of(folder) != before


def test_names_that_do_not_fit_the_vectors_are_refused(folder: Path) -> None:
    names = (folder / "entities.txt").read_text().splitlines()
    (folder / "entities.txt").write_text("\n".join([*names, "one more"]))
    with pytest.raises(ValueError, match="10 vectors for 11 entities"):
        first_sight(folder)


def test_the_map_and_its_page_wait_for_no_torch(folder: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "import hale.serve.front, hale.serve.listening, hale.cli.explore\n"
        "from hale.serve.map.first_sight import first_sight\n"
        "from hale.serve.pages.explorer import Explorer\n"
        "from hale.serve.pages.rendering import render\n"
        "explorer = Explorer(Path('odd'), first_sight(Path('odd')))\n"
        "explorer.atlas.painting('degree'); explorer.finder.find('p1', 3)\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

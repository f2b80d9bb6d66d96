"""One wrong byte of a run's files is noticed or harmless: a sample; make torture has every byte."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from hale.runs import seal
from hale.runs.file_names import OWN, RANKS, TRACKED

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts/torture"))
flips: Any = importlib.import_module("flips")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = flips.make_run(tmp_path_factory.mktemp("small"))
    return made


def test_a_wrong_byte_is_noticed_or_harmless(run: Path) -> None:
    tried = list(flips.flips(run, most=150))
    assert [flip for flip in tried if flip.lost] == []
    assert sum(flip.outcome == "error" for flip in tried) > 50
    assert sum(flip.outcome == "warning" for flip in tried) > 5


def test_the_run_has_every_file_that_a_run_can_have(run: Path) -> None:
    """But for the shards of ranks, which one process has none of, and the folders of trackers."""
    assert set(OWN) - {path.name for path in run.iterdir()} == {RANKS, *TRACKED}


def test_a_change_that_nobody_checks_is_found(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The script can fail: without checksums it tells which answers became others."""

    def unchecked(value: object, *, must: bool) -> object:
        return seal.unsealed(seal.sealed(value), must=must)  # whatever it says is right

    monkeypatch.setattr("hale.runs.folder.unsealed", unchecked)
    tried = list(flips.flips(run, most=40, seed=1, only="calibration.json"))
    assert [one for one in tried if one.outcome == "not noticed: calibration"]

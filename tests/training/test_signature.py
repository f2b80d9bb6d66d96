"""train() by name: every setting with its type and default, as Settings have them."""

from __future__ import annotations

import importlib.util
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import get_args, get_type_hints

import pytest

import hale
from hale.data.graph import Graph
from hale.errors import SettingsError
from hale.settings import Settings
from hale.training import signature

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = ROOT / "scripts" / "write_train.py"
    spec = importlib.util.spec_from_file_location("write_train", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_is_what_settings_say(script: ModuleType) -> None:
    written = Path(signature.__file__).read_text(encoding="utf-8")
    assert written == script.written(), "stale: run python scripts/write_train.py"


def test_a_changed_setting_makes_it_stale(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = script.written()
    field = Settings.model_fields["decay"]
    monkeypatch.setattr(field, "default", 0.77)
    assert script.written() != before


def test_help_lists_every_setting_with_type_and_default() -> None:
    parameters = inspect.signature(hale.train).parameters
    hints = get_type_hints(hale.train)
    text = inspect.getdoc(hale.train)
    assert text is not None
    for name in Settings.model_fields:
        assert parameters[name].default is None
        assert type(None) in get_args(hints[name])
        assert re.search(rf"^{name} \(.+; .+", text, re.MULTILINE), name
    assert "dim (int; 32): Size of an entity vector (d)." in text
    assert hints["budget"] == float | str | None


def test_what_is_given_is_given_and_nothing_else(graph: Graph) -> None:
    run = hale.train(graph, dim=4, epochs=1, lr=0.5, lambda_=2, recipe="none")
    assert run.settings.model_fields_set == {"dim", "epochs", "learning_rate", "weight", "recipe"}
    assert (run.settings.learning_rate, run.settings.weight) == (0.5, 2)


def test_a_word_that_is_no_setting(graph: Graph) -> None:
    with pytest.raises(SettingsError, match="dims: there is no such setting; did you mean dim"):
        hale.train(graph, dims=3)
    with pytest.raises(SettingsError, match="give settings, or their values by name, not both"):
        hale.train(graph, Settings(epochs=1), lr=0.1)

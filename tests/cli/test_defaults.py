"""What the help says of defaults is what training takes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from hale.cli.defaults import Default, default_of, told_defaults
from hale.cli.options import TOLD, flags_of
from hale.data.graph import GraphSize
from hale.models import MODELS
from hale.objectives import OBJECTIVES
from hale.runs.systems import build_model, common, complete, default_strategy, similarity_of
from hale.settings import BY_SYSTEM, Settings
from hale.settings.recipes.rule import GraphCounts, by_rule
from tests.cli.invoke import hale

SYSTEMS = [
    (strategy, model)
    for strategy, objective in OBJECTIVES.items()
    for model, kind in MODELS.items()
    if common(kind, objective)
]
DECIDED = [name for name in Settings.model_fields if flags_of(name).unset == BY_SYSTEM]
# Told by other means than a value per strategy and model.
OTHERWISE = {"strategy", "biases", "dropout_start"}


@pytest.mark.parametrize(("strategy", "model"), SYSTEMS)
def test_defaults_of_a_system_are_those_of_complete(strategy: str, model: str) -> None:
    """Also where the field's text claims that no class has a say."""
    settings = complete(strategy=strategy, model=model)
    similarity = similarity_of(settings)
    for name, field in Settings.model_fields.items():
        if name in OTHERWISE or name in ("model", "relation_scale"):
            continue
        value = getattr(settings, name)
        if name in DECIDED:
            assert default_of(name).value(strategy, model, similarity) == value, name
        elif flags_of(name).unset is None:
            assert field.default == value, name
    assert settings.relation_scale == (settings.activation != "identity")
    assert settings.dropout_start is None


def test_the_strategy_of_a_model() -> None:
    own = {"l2": "hale", "dot": "allneg", "hyperbolic": "advneg"}
    own |= {"projected": "advneg", "network": "samneg"}
    told = told_defaults()["strategy"]
    assert told == (
        "hale by distance, allneg by inner product, advneg for hyperbolic models, "
        "advneg by projected distance, samneg by a network"
    )
    assert {name: default_strategy(kind) for name, kind in MODELS.items()} == {
        name: own[kind.similarities[0]] for name, kind in MODELS.items()
    }


def test_biases_are_told_of_the_systems_that_have_them() -> None:
    everyone, some = told_defaults()["biases"].split("; ")
    always = _names(everyone.removeprefix("without an activation under "))
    models, _, strategies = some.removeprefix("for ").partition(" under ")
    for strategy, model in SYSTEMS:
        built = build_model(complete(strategy=strategy, model=model, dim=8), GraphSize(3, 2))
        said = model in _names(models) and strategy in _names(strategies)
        said = said or strategy in always
        assert (built.head_bias is not None) == said, (strategy, model)


def _names(text: str) -> list[str]:
    return text.replace(" and ", ", ").split(", ")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "batch_size",
            "4096; 1024 under samneg and advneg; 128 under allneg, 512 by inner product; "
            "64 for convkb under allneg; 2048 for rgcn, compgcn and sacn under allneg",
        ),
        ("learning_rate", "0.01; 0.003 under allneg by inner product; 0.0005 under nonneg"),
        ("margin", "0; 1 under advneg, 0 by inner product"),
        ("activation", "hanon under hale, else identity"),
        ("leave_out_known", "yes under hale, else no"),
        ("penalty", "0; 0.005 for complex and quate under allneg"),
        (
            "dropout",
            "0; 0.2 for rescal, conve, convtranse, compgcn and sacn under allneg; "
            "0.3 for tucker under allneg",
        ),
    ],
)
def test_words(name: str, text: str) -> None:
    assert str(default_of(name)) == text
    help_text = " ".join(hale("train", "--help", env={"COLUMNS": "300"}).stdout.split())
    assert f"[default: {text}" in help_text


def test_a_model_goes_before_the_similarity_and_that_before_the_strategy() -> None:
    default = Default(1, {"a": 1, "b": 2}, {"b": 3}, {("b", "m"): 4})
    assert default.value("a", "m", "dot") == 1
    assert default.value("b", "n", "l2") == 2
    assert default.value("b", "n", "dot") == 3
    assert default.value("b", "m", "dot") == 4


def test_the_rule_is_told_by_what_it_gives() -> None:
    told = told_defaults()
    sparse = by_rule(GraphCounts("sparse", 10**6, 10**6))
    dense = by_rule(GraphCounts("dense", 10**5, 10**8))
    for name in ("gamma", "weight"):
        spread = f"{sparse[name]:g} to {dense[name]:g} by the graph's density"
        assert told[name].endswith(f"; under hale without a recipe {spread}")
    assert told["dropout"].endswith(
        f"without a recipe up to {dense['dropout']:g} by the graph's density"
    )
    assert told["batch_size"].endswith(f"{dense['batch_size']}, by the graph's size and the time")
    assert told["dropout_start"].endswith(f"a recipe {sparse['dropout_start']:g}")


def test_no_help_waits_for_torch() -> None:
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom hale.cli.app import app\n"
        "shown = CliRunner().invoke(app, ['train', '--help']).stdout\n"
        "assert 'under nonneg' in shown\nsys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_help_reads_is_what_the_classes_say() -> None:
    told = json.loads(TOLD.read_text(encoding="utf-8"))
    assert told == told_defaults(), "stale: run python -m hale.cli.defaults"

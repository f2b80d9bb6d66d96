"""What goes together, what does not, and that nothing is missing."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import hale
from hale.data.graph import Graph, GraphSize, Vocabulary
from hale.errors import SettingsError, UnknownNameError
from hale.models import MODELS
from hale.models.encoded import Encoded
from hale.objectives import OBJECTIVES
from hale.runs.run import Record
from hale.runs.systems import (
    build_model,
    check,
    common,
    complete,
    count_parameters,
    similarity_of,
    strategies_for,
)
from hale.settings import make_settings
from hale.training.stopping import Clock
from hale.training.trainer import Trainer

ROOT = Path(__file__).parents[2]
PAIRS = [(model, strategy) for model in MODELS for strategy in OBJECTIVES]
TINY = {"dim": 8, "epochs": 1, "batch_size": 16}


@pytest.fixture(scope="module")
def wordnet() -> Graph:
    """The facts of WordNet among its hundred most linked entities."""
    whole = hale.load("wordnet")
    degree = np.bincount(whole.train[:, [0, 2]].ravel(), minlength=len(whole.entities))
    chosen = np.sort(np.argsort(-degree, kind="stable")[:100])
    place = np.full(len(whole.entities), -1)
    place[chosen] = np.arange(len(chosen))

    def among(triples: np.ndarray) -> np.ndarray:
        moved = np.stack((place[triples[:, 0]], triples[:, 1], place[triples[:, 2]]), axis=1)
        return moved[(moved >= 0).all(axis=1)]

    return Graph(
        name="wordnet-100",
        entities=Vocabulary([whole.entities[number] for number in chosen.tolist()], "entity"),
        relations=whole.relations,
        **{split: among(whole.split(split)) for split in ("train", "valid", "test")},
    )


@pytest.mark.parametrize(("model", "strategy"), PAIRS)
def test_every_pair_trains_or_says_why_not(wordnet: Graph, model: str, strategy: str) -> None:
    """Two epochs of real facts, after which every number is finite; or what works instead."""
    asked = {"model": model, "strategy": strategy, "dim": 8, "epochs": 2, "recipe": "none"}
    if common(MODELS[model], OBJECTIVES[strategy]):
        run = hale.train(wordnet, batch_size=64, **asked)
        assert run.summary.steps == run.history[-1].step > 2
        assert run.model.similarity in OBJECTIVES[strategy].similarities
        assert all(torch.isfinite(value).all() for value in run.model.state_dict().values())
        assert all(math.isfinite(part) for part in run.history[-1].losses.values())
    else:
        with pytest.raises(SettingsError, match=f"{strategy} does not take {model}") as refused:
            hale.train(wordnet, batch_size=64, **asked)
        for other in strategies_for(MODELS[model]):
            assert other in str(refused.value), "what the model goes with"


@pytest.mark.parametrize("model", MODELS)
def test_saved_and_loaded(graph: Graph, model: str, tmp_path: Path) -> None:
    run = hale.train(graph, model=model, dropout=0.1, out=tmp_path / "run", **TINY)
    loaded = hale.load_run(tmp_path / "run")
    heads, relations = torch.tensor([0, 1, 2]), torch.tensor([0, 1, 0])
    with torch.no_grad():
        wanted = run.model.score_all(heads, relations)
        assert torch.equal(loaded.model.score_all(heads, relations), wanted)
    assert loaded.settings == run.settings


def test_resumed_with_dropout_and_normalisation(graph: Graph, tmp_path: Path) -> None:
    """The draws of dropout go by seed and step, so a run in two parts is the same run."""
    options = {**TINY, "model": "conve", "dropout": 0.3, "validate_every": "1", "epochs": 4}
    whole = hale.train(graph, **options)

    class Breaks:
        def stepped(self, clock: Clock, progress: float, losses: dict[str, float]) -> None:
            pass

        def validated(self, record: Record, *, kept: bool) -> None:
            if record.epoch >= 2:
                raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        hale.train(graph, out=tmp_path / "run", observer=Breaks(), **options)
    resumed = hale.train(None, out=tmp_path / "run", resume=True)
    assert len(resumed.history) == len(whole.history) == 4
    assert [r.losses for r in resumed.history] == [r.losses for r in whole.history]
    other = hale.train(graph, **{**options, "seed": 1})
    assert other.history[-1].losses != whole.history[-1].losses


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"model": "roth", "strategy": "hale"}, "Take --model rote, its Euclidean sibling"),
        ({"model": "atth", "strategy": "hale"}, "Take --model atte"),
        (
            {"model": "rotl", "strategy": "allneg-square"},
            "It takes transe, distmult, complex, rgcn",
        ),
        (
            {"model": "distmult", "strategy": "allneg-square", "similarity": "l2"},
            "Take --similarity dot",
        ),
        ({"model": "complex", "strategy": "hale", "similarity": "dot"}, "Take --similarity l2"),
        ({"model": "complex", "activation": "hanon"}, "acts on distances"),
        ({"model": "transe", "strategy": "allneg-square", "activation": "hanon"}, "the identity"),
        ({"model": "rotl", "biases": True}, "hale has no place for them"),
        ({"model": "rotl", "similarity": "dot"}, "rotl compares by l2"),
        ({"negatives": 5}, "negatives: not for hale, only for samneg and advneg"),
        ({"strategy": "samneg", "queries": 5}, "queries: not for samneg, only for hale"),
        ({"strategy": "allneg", "gamma_start": 5}, "gamma_start: not for allneg"),
        ({"strategy": "allneg", "gamma_two_way": 5}, "gamma_two_way: not for allneg"),
        ({"model": "transe", "strategy": "allneg-square", "dropout": 0.1}, "dropout would not"),
        ({"model": "complex", "heights": True}, "heights: they are part of a squared L2"),
        ({"model": "transe", "strategy": "allneg-square", "heights": True}, "leave them out"),
        ({"group_size": 4}, "group_size: not for rotl, only for affine"),
        ({"model": "rotl", "bases": 3}, "encoder: rotl has none.*take --encoder rgcn or compgcn"),
        ({"model": "sacn", "bases": 3}, "bases: not for wgcn, only for rgcn"),
        ({"model": "rgcn", "composition": "sub"}, "composition: not for rgcn, only for compgcn"),
        ({"model": "transd", "strategy": "hale"}, "Take --strategy samneg or advneg or allneg"),
        ({"model": "convkb", "activation": "hanon"}, "takes a network here; take --activation id"),
        ({"model": "transe", "near": 0.5}, "near: the relations of transe start from no turns"),
        (
            {"model": "roth", "residual": 8},
            "residual: .*roth by hyperbolic under advneg has no",
        ),
        ({"model": "transd", "residual": 8}, "residual: .*transd by projected"),
        ({"model": "complex", "strategy": "allneg-square", "residual": 8}, "leave it at 0"),
    ],
)
def test_refusals_teach(values: dict[str, object], says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        check(complete(**values))


def test_what_a_choice_brings_along() -> None:
    plain = complete(model="rote", strategy="samneg")
    assert (plain.activation, plain.relation_scale, plain.batch_size) == ("identity", False, 1024)
    hardened = complete(model="rote", strategy="samneg", activation="hanon")
    assert (hardened.activation, hardened.relation_scale) == ("hanon", True)
    assert complete(model="rote", strategy="allneg", batch_size=9).batch_size == 9
    assert complete() == make_settings(), "HaLE's are the general ones"


def test_the_margin_is_for_distances_without_biases() -> None:
    assert complete(model="rote", strategy="samneg").margin == 0.0
    assert complete(model="rote", strategy="samneg", activation="hanon").margin == 1.0
    assert complete(model="rote", strategy="advneg").margin == 1.0
    assert complete(model="complex", strategy="advneg").margin == 0.0
    assert complete(model="complex", strategy="advneg", similarity="l2").margin == 1.0
    assert complete(model="complex", strategy="advneg", margin=2).margin == 2.0


def test_cross_entropy_starts_as_suits_the_similarity() -> None:
    def start(model: str, **given: object) -> tuple[int, float]:
        settings = complete(model=model, strategy="allneg", **given)
        return settings.batch_size, settings.learning_rate

    by_distance, by_dot = (128, 0.01), (512, 0.003)
    assert start("transe") == start("rotl") == start("complex", similarity="l2") == by_distance
    assert start("complex") == start("conve") == start("distmult", similarity="dot") == by_dot
    assert start("rescal", batch_size=64) == (64, 0.003)


def test_regularised_where_it_is_needed() -> None:
    assert complete(model="complex").penalty > 0
    assert all(complete(model=name).dropout > 0 for name in ("rescal", "tucker", "conve"))
    assert complete(model="conve", strategy="hale").dropout == 0
    assert complete(model="conve", dropout=0.5).dropout == 0.5


def test_a_batch_makes_room_for_the_queries_that_are_asked_for(graph: Graph) -> None:
    assert complete(graph).batch_size < 50
    assert complete(graph, queries=50).batch_size == 50
    assert complete(graph, batch_size=3).queries == 3


def test_default_strategies_and_similarities() -> None:
    chosen = {name: complete(model=name).strategy for name in MODELS}
    assert chosen["rotl"] == chosen["atte"] == "hale"
    assert chosen["complex"] == chosen["conve"] == "allneg"
    assert chosen["roth"] == chosen["murp"] == "advneg"
    assert similarity_of(complete(model="conve", strategy="hale")) == "l2"
    assert similarity_of(complete(model="distmult", strategy="allneg-square")) == "dot"
    assert similarity_of(complete(model="distmult")) == "l2"
    for name in MODELS:
        check(complete(model=name))


def test_biases_as_the_authors_have_them() -> None:
    size = GraphSize(5, 2)
    assert build_model(complete(model="roth", dim=4), size).tail_bias is not None
    assert build_model(complete(model="roth", dim=4, biases=False), size).tail_bias is None
    assert build_model(complete(model="conve", dim=6), size).tail_bias is not None
    assert build_model(complete(model="conve", dim=6, strategy="hale"), size).tail_bias is None


def test_an_encoder_in_front_of_any_model(graph: Graph, tmp_path: Path) -> None:
    """Trained, saved and loaded: the run's own facts make the same vectors again."""
    asked = {"model": "transe", "encoder": "compgcn", "composition": "mult", "encoder_layers": 2}
    run = hale.train(graph, out=tmp_path / "run", **asked, **TINY)
    assert isinstance(run.model, Encoded)
    assert run.model.encoder.depth == 2
    loaded = hale.load_run(tmp_path / "run")
    assert torch.equal(loaded.model.entities(), run.model.entities())
    resumed = hale.train(None, out=tmp_path / "run", resume=True, epochs=3)
    assert resumed.summary.steps > run.summary.steps
    with pytest.raises(UnknownNameError, match="Unknown encoder 'gcn'"):
        build_model(make_settings(encoder="gcn"), GraphSize(3, 1))


@pytest.mark.parametrize("model", ["rgcn", "compgcn", "sacn"])
def test_an_encoder_sees_training_facts_alone(graph: Graph, model: str) -> None:
    """Others in valid and test make no other vectors, one fact less in train does."""
    settings = complete(model=model, **TINY)

    def vectors(changed: Graph) -> torch.Tensor:
        trainer = Trainer(changed, settings)
        assert isinstance(trainer.model, Encoded)
        assert trainer.model.ways is not None
        assert all(int(way.sent.sum()) == len(changed.train) for way in trainer.model.ways)
        return trainer.model.eval().entities()

    wanted = vectors(graph)
    held_out = {"valid": graph.test[:2], "test": np.concatenate((graph.valid, graph.test[2:]))}
    assert torch.equal(vectors(replace(graph, **held_out)), wanted)
    assert not torch.equal(vectors(replace(graph, train=graph.train[1:])), wanted)


def test_float64_on_request(graph: Graph) -> None:
    run = hale.train(graph, model="roth", precision="float64", **TINY)
    assert run.model.entities().dtype == torch.float64


def test_unknown_names() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'roth'"):
        complete(model="RotH")
    with pytest.raises(UnknownNameError, match="Did you mean 'samneg'"):
        complete(strategy="samnegs")


@pytest.mark.parametrize("name", MODELS)
def test_parameters_are_counted_without_being_made(name: str) -> None:
    size = GraphSize(50, 3)
    built = build_model(complete(model=name, dim=8, biases=MODELS[name].own_biases), size)
    assert count_parameters(MODELS[name], size, 8) == sum(p.numel() for p in built.parameters())


def test_every_model_and_strategy_has_its_row_in_the_docs_and_its_test() -> None:
    page = (ROOT / "docs" / "models.md").read_text()
    for name, model in MODELS.items():
        assert f"| `{name}` |" in page, f"docs/models.md lacks {name}"
        assert model.source in page
        assert (ROOT / "src" / "hale" / "models" / f"{name}.py").is_file()
    tests = "".join(path.read_text() for path in (ROOT / "tests" / "objectives").glob("test_*.py"))
    for name, strategy in OBJECTIVES.items():
        assert f"| `{name}` |" in page, f"docs/models.md lacks {name}"
        assert strategy.source in page
        assert f"{strategy.__name__}(" in tests
        file = name.replace("-", "_")
        assert (ROOT / "src" / "hale" / "objectives" / f"{file}.py").is_file()


def test_strategies_of_a_model() -> None:
    assert strategies_for(MODELS["complex"]) == list(OBJECTIVES)
    assert "hale" not in strategies_for(MODELS["murp"])


def test_a_model_has_the_settings_that_are_for_it() -> None:
    built = build_model(make_settings(model="affine", dim=16, group_size=8), GraphSize(3, 2))
    assert built.block_maps == 8

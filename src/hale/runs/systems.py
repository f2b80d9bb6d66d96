"""Systems: a model, a strategy and an activation that go together, or the reason why not."""

from __future__ import annotations

from collections.abc import Mapping

from hale.data.graph import Graph, GraphSize
from hale.engine.blank import blank
from hale.errors import SettingsError
from hale.models import MODELS, Model, Options, Similarity, model_class
from hale.models.model_options import BY_DISTANCE, SIMILARITIES
from hale.objectives import OBJECTIVES, Criterion, Objective, make_objective, objective_class
from hale.runs.encoding import encoder_fault, made
from hale.runs.parts import part_fault
from hale.runs.score_kind import has_biases, not_in_nats, recipe_kinds
from hale.settings import Settings, by_name, make_settings, parse_duration
from hale.settings.recipes import chosen_by, recipe_values, tuned
from hale.settings.recipes.rule import GraphCounts

# The strategy that a model takes where none is given, by its own similarity.
OWN_STRATEGIES: Mapping[Similarity, str] = {
    "l2": "hale",
    "dot": "allneg",
    "hyperbolic": "advneg",
    "projected": "advneg",
    "network": "samneg",
}


def complete(
    graph: Graph | None = None, allowed_epochs: float | None = None, /, **values: object
) -> Settings:
    """Settings from what a user gave; the rest as suits the strategy, the model and the graph.

    What is given goes before the recipe (hale.settings.recipes), that before what suits the
    model and the strategy in general. Without a strategy it is the one that the model knows best:
    HaLE where it measures squared L2 distances. A scale per relation belongs to an activation, so
    the identity comes without one. Only what was given counts as set (``model_fields_set``).
    ``allowed_epochs`` is how many the run has time for, if that is known (training.forecast).
    """
    given = {name: value for name, value in by_name(values).items() if value is not None}
    chosen = chosen_by(str(given.get("recipe", "auto")), given) | given
    model, strategy = _named(chosen)
    idle = unused(model.name, strategy.name)
    if idle.keys() & given.keys():  # a mistake, not a wish
        raise SettingsError([idle[name] for name in sorted(idle.keys() & given.keys())])
    filled: dict[str, object] = {
        **{name: chosen[name] for name in ("model", "dim") if name in chosen},
        "strategy": strategy.name,
        **strategy.defaults,
        **({} if _meets_by(model, strategy, given) in BY_DISTANCE else strategy.by_dot),
        **(strategy.activated if given.get("activation", "identity") != "identity" else {}),
        **model.defaults.get(strategy.name, {}),
        **recipe_values(
            str(given.get("recipe", "auto")),
            None if graph is None else counts_of(graph),
            strategy.name,
            model.name,
            budget=_budget(given),
            epochs=allowed_epochs,
            kinds=recipe_kinds(chosen, strategy),
        ),
    }
    for one, other in (("alpha", "queries"), ("queries", "alpha")):
        if one in given:  # two ways to say the same
            filled.pop(other, None)
    if not model.takes_near:  # the rule has it for those that do
        filled.pop("near", None)
    filled |= given
    _fit_batch(filled, given)
    if filled.get("activation") == "identity":
        filled.setdefault("relation_scale", False)
    settings = make_settings(**filled)
    settings.model_fields_set.intersection_update(given)  # the rest was filled in
    return settings


def rule_fills_in(graph: Graph, values: Mapping[str, object]) -> bool:
    """Whether what is not given comes from the rule: there is no recipe for the graph."""
    given = {name: value for name, value in by_name(values).items() if value is not None}
    model, strategy = _named(given)
    by_rule = str(given.get("recipe", "auto")) == "auto" and strategy.name == "hale"
    kinds = recipe_kinds(given, strategy)
    return by_rule and not tuned(counts_of(graph), strategy.name, model.name, kinds=kinds)


def _named(given: Mapping[str, object]) -> tuple[type[Model], type[Objective]]:
    """The model and the strategy that are given, or that are taken without."""
    model = model_class(str(given.get("model", Settings.model_fields["model"].default)))
    return model, objective_class(str(given.get("strategy", default_strategy(model))))


def given_in(settings: Settings) -> dict[str, object]:
    """What settings were made of by name, so that the rest can be completed.

    Those of a finished run name everything, also what their system has no use for; that does
    not count where it is as it comes.
    """
    given = {name: getattr(settings, name) for name in settings.model_fields_set}
    names = {name: given[name] for name in ("model", "strategy") if name in given}
    usual, general = complete(**names), make_settings()
    idle = unused(usual.model, usual.strategy)
    return {
        name: value
        for name, value in given.items()
        if name not in idle or value not in (getattr(usual, name), getattr(general, name))
    }


def counts_of(graph: Graph) -> GraphCounts:
    """What a recipe is chosen by."""
    return GraphCounts(graph.name, len(graph.entities), len(graph.train))


def _budget(given: Mapping[str, object]) -> float | None:
    """The seconds that a run is given; None where something else ends it, or it is no time."""
    try:
        return parse_duration(given["budget"]) if "budget" in given else None
    except ValueError:  # which the settings will say
        return None


def unused(model: str, strategy: str) -> dict[str, str]:
    """The settings that mean something to other systems and nothing to this one, and why."""
    found = {}
    for one, kinds in ((model, MODELS), (strategy, OBJECTIVES)):
        uses = {name: kind.uses for name, kind in kinds.items()}
        for setting in frozenset().union(*uses.values()) - uses[one]:
            users = [name for name in uses if setting in uses[name]]
            found[setting] = f"{setting}: not for {one}, only for {' and '.join(users)}"
    return found


def _fit_batch(filled: dict[str, object], given: Mapping[str, object]) -> None:
    """Queries are sampled from a batch: what was not given gives way to what was."""
    batch, queries = filled.get("batch_size"), filled.get("queries")
    if not isinstance(batch, int) or not isinstance(queries, int) or queries <= batch:
        return
    if "queries" not in given:
        filled["queries"] = batch
    elif "batch_size" not in given:
        filled["batch_size"] = queries


def _meets_by(
    model: type[Model], strategy: type[Objective], given: Mapping[str, object]
) -> Similarity:
    """The similarity asked for, or the model's first that the strategy takes."""
    asked = given.get("similarity")
    if asked in SIMILARITIES:
        return asked
    shared = common(model, strategy)
    return shared[0] if shared else model.similarities[0]


def default_strategy(model: type[Model]) -> str:
    """HaLE for models that measure squared L2 distances by themselves, else what they know best."""
    return OWN_STRATEGIES[model.similarities[0]]


def build_model(settings: Settings, size: GraphSize) -> Model:
    """The model that the settings describe, freshly initialised."""
    options: Options = {
        "init_scale": settings.init_scale,
        "near": settings.near,
        "similarity": similarity_of(settings),
        "biases": has_biases(settings),
        "dropout": settings.dropout,
        "heights": settings.heights,
        "loops": settings.loops,
        "residual": settings.residual,
    }
    built = made(settings, size, options)
    return built.double() if settings.precision == "float64" else built


def build_objective(settings: Settings) -> Criterion:
    """The objective that the settings describe, once they are found to go together."""
    check(settings)
    return make_objective(settings)


def check_weights(settings: Settings, graph: Graph) -> None:
    """Refuse weights of facts where the strategy cannot take them."""
    if graph.weights is not None and not objective_class(settings.strategy).takes_weights:
        takers = sorted(name for name, one in OBJECTIVES.items() if one.takes_weights)
        raise SettingsError(
            [
                f"strategy {settings.strategy!r} takes no weights of facts: its sum over all "
                "triples counts each once, as true or false. Leave the weights out, or take "
                f"{', '.join(takers)}"
            ]
        )


def similarity_of(settings: Settings) -> Similarity:
    """The similarity that is asked for, or the model's first that the strategy takes."""
    model, strategy = model_class(settings.model), objective_class(settings.strategy)
    return _meets_by(model, strategy, {"similarity": settings.similarity})


def common(model: type[Model], strategy: type[Objective]) -> list[Similarity]:
    """The similarities by which the two go together; none if they do not."""
    if strategy.models is not None:
        return [strategy.models[model.name]] if model.name in strategy.models else []
    return [name for name in model.similarities if name in strategy.similarities]


def check(settings: Settings) -> None:
    """Refuse a combination that the mathematics rules out, with the nearest that works."""
    found = (_combine(settings), _activate(settings), encoder_fault(settings))
    faults = [fault for fault in found if fault]
    if (
        settings.cardinality
        and not faults
        and (fault := not_in_nats(settings, similarity_of(settings)))
    ):
        faults.append(f"cardinality: {fault}; leave it off")
    if faults:
        raise SettingsError(faults)


def _combine(settings: Settings) -> str | None:
    model, strategy = model_class(settings.model), objective_class(settings.strategy)
    similarity = similarity_of(settings)
    if similarity not in model.similarities:
        return (
            f"similarity: {model.name} compares by {' or '.join(model.similarities)}, "
            f"not by {similarity}"
        )
    if strategy.models is not None and model.name not in strategy.models:
        return (
            f"strategy: {strategy.name} does not take {model.name}: {strategy.because}. It takes "
            f"{', '.join(strategy.models)}; {model.name} goes with "
            f"{', '.join(strategies_for(model))}"
        )
    if similarity not in common(model, strategy):
        return f"strategy: {strategy.name} does not take {_nearest(settings, similarity)}"
    return part_fault(settings, model, strategy, similarity)


def _nearest(settings: Settings, similarity: Similarity) -> str:
    """What is wrong with a model's similarity, and what to take instead."""
    model, strategy = model_class(settings.model), objective_class(settings.strategy)
    other = common(model, strategy)
    why = f"{model.name} by {similarity}: {strategy.because}"
    if other:
        return f"{why}. Take --similarity {other[0]}"
    sibling = next((name for name, kind in MODELS.items() if kind in model.__bases__), None)
    instead = f"Take --model {sibling}, its Euclidean sibling, or " if sibling else "Take "
    return f"{why}. {instead}--strategy {' or '.join(strategies_for(model))}"


def _activate(settings: Settings) -> str | None:
    strategy = objective_class(settings.strategy)
    if settings.activation == "identity" and not settings.relation_scale:
        return None
    if not strategy.takes_activation:
        return (
            f"activation: {strategy.name} takes the identity, without a scale per relation "
            f"({strategy.because}); for {settings.activation}, take --strategy allneg"
        )
    if (similarity := similarity_of(settings)) not in BY_DISTANCE:
        takes = {"dot": "inner products"}.get(similarity, f"a {similarity}")
        other = "l2" in common(model_class(settings.model), strategy)
        return (
            f"activation: {settings.activation} with a scale per relation acts on distances, and "
            f"{settings.model} takes {takes} here; take --activation identity "
            f"--no-relation-scale{', or --similarity l2' if other else ''}"
        )
    return None


def strategies_for(model: type[Model]) -> list[str]:
    """The strategies that a model goes with."""
    return [name for name, strategy in OBJECTIVES.items() if common(model, strategy)]


def count_parameters(model: type[Model], size: GraphSize, dim: int) -> int:
    """Trainable numbers of a model as it comes; nothing is allocated."""
    with blank():
        return sum(parameter.numel() for parameter in model(size, dim).parameters())

"""What a setting is where it is not given, told by the classes that decide it.

General defaults stand with the field. A strategy has others (``Objective.defaults``), again others
where a model compares by inner product (``Objective.by_dot``), and a model has its own under some
strategies (``Model.defaults``); a later one goes before an earlier, as in ``complete``.

Importing this module imports torch, for which help should not wait: what it tells is kept in
defaults.json beside it, and a test fails when that is stale.

    python -m hale.cli.defaults
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hale.cli.options import TOLD, flags_of
from hale.data.files import write_json
from hale.models import MODELS
from hale.models.model_options import BY_DISTANCE
from hale.objectives import OBJECTIVES
from hale.runs.systems import OWN_STRATEGIES
from hale.settings import BY_SYSTEM, Settings
from hale.settings.recipes import rule

BY = {
    "l2": "by distance",
    "dot": "by inner product",
    "hyperbolic": "for hyperbolic models",
    "projected": "by projected distance",
    "network": "by a network",
}


@dataclass(frozen=True)
class Default:
    """A setting's value under each strategy, and what goes before it."""

    general: object  # what stands with the field
    by_strategy: Mapping[str, object]
    by_dot: Mapping[str, object]  # of strategies, where it is another by inner product
    by_model: Mapping[tuple[str, str], object]  # of strategy and model

    def value(self, strategy: str, model: str, similarity: str) -> object:
        """The value for a system without a recipe."""
        if (strategy, model) in self.by_model:
            return self.by_model[strategy, model]
        if similarity not in BY_DISTANCE and strategy in self.by_dot:
            return self.by_dot[strategy]
        return self.by_strategy[strategy]

    def __str__(self) -> str:
        """'4096; 1024 under samneg and advneg; 128 under allneg, 512 by inner product'."""
        groups: dict[tuple[object, object], list[str]] = {}  # of strategies with the same values
        for strategy, value in self.by_strategy.items():
            groups.setdefault((value, self.by_dot.get(strategy, value)), []).append(strategy)
        usual = max((pair for pair in groups if pair[0] == pair[1]), key=lambda p: len(groups[p]))
        others = [_told(*pair, groups[pair], usual[0]) for pair in groups if pair != usual]
        models: dict[tuple[object, str], list[str]] = {}
        for (strategy, model), value in self.by_model.items():
            models.setdefault((value, strategy), []).append(model)
        others += [
            f"{_word(value)} for {_list(names)} under {strategy}"
            for (value, strategy), names in models.items()
        ]
        if self.general == usual[0]:
            return "; ".join([_word(usual[0]), *others])
        return ", ".join([*others, f"else {_word(usual[0])}"])


def _told(value: object, by_dot: object, strategies: list[str], usual: object) -> str:
    """The values that some strategies have, beside the usual one."""
    under = f"under {_list(strategies)}"
    if value == by_dot:
        return f"{_word(value)} {under}"
    if value == usual:
        return f"{_word(by_dot)} {under} by inner product"
    return f"{_word(value)} {under}, {_word(by_dot)} by inner product"


def default_of(name: str) -> Default:
    """The values of a setting, from the field and the classes."""
    general = Settings.model_fields[name].default
    return Default(
        general,
        {key: strategy.defaults.get(name, general) for key, strategy in OBJECTIVES.items()},
        {key: kind.by_dot[name] for key, kind in OBJECTIVES.items() if name in kind.by_dot},
        {
            (strategy, model.name): values[name]
            for model in MODELS.values()
            for strategy, values in model.defaults.items()
            if name in values
        },
    )


def told_defaults() -> dict[str, str]:
    """In words, the defaults of the settings whose field leaves them to the classes."""
    names = [name for name in Settings.model_fields if flags_of(name).unset == BY_SYSTEM]
    told = {name: str(default_of(name)) for name in names}
    with_biases = [kind.name for kind in MODELS.values() if kind.own_biases]
    always = [kind.name for kind in OBJECTIVES.values() if kind.defaults.get("biases")]
    taking = [
        kind.name
        for kind in OBJECTIVES.values()
        if kind.takes_biases and not kind.defaults.get("biases")
    ]
    told |= {
        "strategy": ", ".join(f"{name} {BY[by]}" for by, name in OWN_STRATEGIES.items()),
        "biases": f"without an activation under {_list(always)}; for {_list(with_biases)} under "
        f"{_list(taking)}",
        "dropout_start": "dropout throughout",
    }
    # What the rule gives to a graph without a recipe.
    for name, by_rule in (
        ("gamma", f"{rule.SPARSE_GAMMA:g} to {rule.DENSE_GAMMA:g} by the graph's density"),
        ("weight", f"{rule.FEW_WEIGHT:g} to {rule.SEVERAL_WEIGHT:g} by the graph's density"),
        ("dropout", f"up to {rule.DENSE_DROPOUT:g} by the graph's density"),
        ("dropout_start", "0"),
        ("cardinality", "yes"),
        ("near", f"{rule.NEAR:g} where a model takes it"),
        ("block", f"{rule.BLOCK} or more by the bound"),
        ("batch_size", f"{rule.TRIPLES_A_STEP}, by the graph's size and the time"),
        ("learning_rate", f"at most {rule.RATE:g} by what a step touches, and by the batch"),
    ):
        told[name] += f"; under hale without a recipe {by_rule}"
    return told


def main() -> None:
    """Write down what is told."""
    write_json(TOLD, told_defaults())


def _word(value: object) -> str:
    """True is yes; 1.0 is 1."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _list(names: Iterable[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


if __name__ == "__main__":
    main()

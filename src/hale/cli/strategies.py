"""hale strategies."""

from __future__ import annotations

from hale.cli.app import out, print_json, reporting
from hale.cli.options import Json


@reporting
def strategies(as_json: Json = False) -> None:
    """List the training strategies: their losses and the models they go with."""
    from hale.cli.tables import listing
    from hale.models import MODELS
    from hale.objectives import DISTILLATIONS, OBJECTIVES
    from hale.runs.systems import common

    rows = [
        {
            "name": strategy.name,
            "loss": strategy.formula,
            "similarities": list(strategy.similarities),
            "models": [name for name, model in MODELS.items() if common(model, strategy)],
            "source": strategy.source,
        }
        for strategy in OBJECTIVES.values()
    ]
    rows += [
        {
            "name": one.name,
            "loss": one.formula,
            "similarities": ["l2", "dot", "hyperbolic"],
            "models": list(MODELS),
            "source": one.source,
            "beside": "any strategy, with --teacher RUN",
        }
        for one in DISTILLATIONS.values()
    ]
    if as_json:
        print_json({"strategies": rows})
        return
    lines = []
    for row in rows:
        every = len(row["models"]) == len(MODELS)
        lines.append(
            (str(row["name"]), str(row["loss"]), "all" if every else ", ".join(row["models"]))
        )
    out.print(listing(("name", "loss", "models"), lines))
    out.print("distile and mulde go beside any strategy, with --teacher RUN (--distillation).")
    out.print("f is a score, d a distance, p a positive, n a negative, s the logistic function.")

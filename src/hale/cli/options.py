"""Options that commands share, and those made from Settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hale.settings import DEFAULT_BUDGET_SECONDS, DEFAULT_QUERIES, Settings
from hale.settings.recipes.rule import (
    DENSE_DROPOUT,
    DENSE_GAMMA,
    DENSE_WEIGHT,
    SPARSE_GAMMA,
    SPARSE_WEIGHT,
)

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout, progress on stderr.")
]
Device = Annotated[str, typer.Option("--device", help="auto, cpu, cuda or mps.")]
RunPath = Annotated[Path, typer.Argument(help="Folder of a run.", metavar="RUN")]
Threads = Annotated[int | None, typer.Option("--threads", help="CPU threads.", min=1)]
OutFile = Annotated[
    Path | None,
    typer.Option("--out", help="Write the table to this file: .csv, .tsv or .parquet."),
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave out lines that cannot be judged.")]


def setting(name: str, *flags: str) -> Any:
    """An option for a setting: its description and default stand with the setting."""
    field = Settings.model_fields[name]
    default = DERIVED_DEFAULTS.get(name, field.default)
    return option(f"{field.description}", default, *flags)


def option(text: str, default: object, *flags: str) -> Any:
    """An option that is None unless given; its default is told in the help."""
    return typer.Option(*flags, help=f"{text} [default: {default}]", show_default=False)


# Defaults that depend on other settings.
DERIVED_DEFAULTS = {
    "strategy": "hale, where the model can",
    "activation": "hanon under hale, else identity",
    "similarity": "the model's own, or the one its strategy takes",
    "biases": "with hyperbolic models and ConvE, where the strategy takes them",
    "gamma": f"6; without a recipe {SPARSE_GAMMA:g} to {DENSE_GAMMA:g} by the graph's density",
    "weight": f"1; without a recipe {SPARSE_WEIGHT:g} to {DENSE_WEIGHT:g} by the graph's density",
    "margin": "1 for distances, 0 for inner products",
    "leave_out_known": "under hale",
    "relation_scale": "with an activation",
    "learning_rate": "0.01; 0.003 under allneg, 0.0005 under nonneg",
    "dropout": f"0; without a recipe up to {DENSE_DROPOUT:g} under hale; "
    "0.2 to 0.3 for rescal, tucker and conve under allneg",
    "dropout_start": "dropout throughout; without a recipe 0 under hale",
    "penalty": "0; 0.005 for complex under allneg",
    "batch_size": "4096; 1024 under samneg and advneg, 512 under allneg",
    "budget": f"{DEFAULT_BUDGET_SECONDS:.0f}s, without another limit",
    "epochs": "no limit",
    "patience": "no limit",
    "alpha": "by --queries",
    "queries": DEFAULT_QUERIES,
    "gamma_start": "gamma throughout",
    "gamma_two_way": "gamma for all",
    "validate_every": "a tenth of the run; 5 epochs under patience alone",
    "threads": "as PyTorch chooses",
}

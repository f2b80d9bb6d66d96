"""The headings under which help lists commands and options.

A command, or an option of the commands whose options are made from Settings (train, tune and
update), stands under one heading here, by its name in Python; a test fails while one stands under
none. Groups come in this order, those that are seldom needed last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

COMMAND_GROUPS: dict[str, tuple[str, ...]] = {
    "Make a run": ("train", "update", "tune", "compress"),
    "Ask it": ("predict", "discover", "neighbors", "why", "align", "find"),
    "See how good it is": ("show", "evaluate", "calibrate", "classify"),
    "Use it elsewhere": ("explore", "serve", "mcp", "export"),
    "What there is to choose from": ("models", "strategies", "datasets", "recipe"),
    "Measure": ("bench", "reproduce"),
}

OPTION_GROUPS: dict[str, tuple[str, ...]] = {
    "Most used": (
        *("budget", "epochs", "trial", "trials", "searched", "model", "dim", "recipe", "remove"),
        *("out_folder", "folder", "overwrite", "resume", "plan", "help"),
    ),
    "The graph's files": (
        *("columns", "header", "labels", "types", "type_relation", "weights"),
        *("skip_bad", "holdout", "split_seed"),
    ),
    "When to stop and to look": (
        *("patience", "validate_every", "validation_sample", "full_evaluation"),
    ),
    "Where and how": ("threads", "device", "seed", "ranks", "timeout", "track", "as_json"),
    "New facts against old ones": ("anchor", "focus", "rate", "tolerance"),
    "The model": (
        *("similarity", "loops", "cardinality", "heights", "near", "group_size", "biases"),
        *("residual", "dropout", "dropout_start"),
        *("encoder", "encoder_layers", "composition", "bases"),
    ),
    "The loss": (
        *("strategy", "activation", "gamma", "gamma_two_way", "beta", "weight", "queries"),
        *("block", "square", "relation_scale", "leave_out_known"),
        *("negatives", "double_negatives", "margin", "temperature", "negative_weight"),
    ),
    "Teachers": (
        *("teacher", "distillation", "teacher_weight", "teacher_queries"),
        *("teacher_absent", "teacher_top", "teacher_temperature"),
    ),
    "The optimiser": ("learning_rate", "batch_size", "decay", "optimizer"),
    "Seldom needed": (
        *(
            "alpha",
            "gamma_start",
            "query_power",
            "penalty",
            "penalty_power",
            "init_scale",
            "shape",
            "precision",
        ),
    ),
}
OTHERS = "Others"  # of what stands under no heading


def grouped(names: Iterable[str], groups: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]]:
    """The names by heading, in the order of the groups; headings without any are left out."""
    left = list(names)
    found = {}
    for heading, members in groups.items():
        found[heading] = [name for name in members if name in left]
        left = [name for name in left if name not in members]
    found[OTHERS] = left
    return {heading: listed for heading, listed in found.items() if listed}

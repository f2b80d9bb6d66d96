"""Options made from Settings: every field once, by its flags, handed on only if given."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from hale.cli.app import load_command
from hale.cli.options import as_flag, named_weights, settings_options
from hale.settings import Settings
from tests.cli.invoke import hale

# The flags that are not the setting's name, or not alone.
FLAGS = {
    "dim": {"--dim", "-d"},
    "weight": {"--lambda"},
    "learning_rate": {"--learning-rate", "--lr"},
    "leave_out_known": {"--leave-out-known", "--keep-known"},
    **{
        name: {f"--{name.replace('_', '-')}", f"--no-{name.replace('_', '-')}"}
        for name in ("square", "relation_scale", "biases", "heights", "loops", "cardinality")
    },
    "double_negatives": {"--double-negatives", "--no-double-negatives"},
}
OWN = {
    "train": {"graph", "out_folder", "resume", "overwrite", "columns", "header", "labels"}
    | {"weights", "types", "type_relation", "holdout", "split_seed", "skip_bad"}
    | {"full_evaluation", "plan", "track", "ranks", "timeout", "as_json"},
    "tune": {"graph", "budget", "trial", "trials", "searched", "folder", "skip_bad", "as_json"},
    "update": {"run", "facts", "remove", "out_folder", "overwrite", "holdout", "anchor", "focus"}
    | {"rate", "tolerance", "full_evaluation", "skip_bad", "columns", "header", "weights"}
    | {"as_json"},
}
FROM_SETTINGS = {
    "train": set(Settings.model_fields),
    "tune": {
        name
        for name in Settings.model_fields
        if not name.startswith(("teacher", "distil"))
        and name not in ("budget", "epochs", "patience", "validate_every")
    },
    "update": {"budget", "epochs", "threads", "device"},
}


@pytest.mark.parametrize("command", OWN)
def test_every_setting_is_an_option_once(command: str) -> None:
    params = load_command(command).params
    assert sorted(p.name for p in params) == sorted(FROM_SETTINGS[command] | OWN[command])
    flags = [flag for p in params for flag in (*p.opts, *p.secondary_opts)]
    assert len(flags) == len(set(flags))
    for param in params:
        if param.name in FROM_SETTINGS[command]:
            usual = {f"--{param.name.replace('_', '-')}"}
            assert {*param.opts, *param.secondary_opts} == FLAGS.get(param.name, usual)
            assert param.default is None


@pytest.mark.parametrize("flag", ["--gama", "--weight", "--no-leave-out-known", "--keep"])
def test_what_is_no_setting_is_refused(flag: str) -> None:
    refused = hale("train", "nowhere", flag, "3")
    assert refused.exit_code == 2
    assert "No such option" in refused.stderr
    assert flag in refused.stderr


def given_by(*arguments: str) -> dict[str, Any]:
    """What a command is handed that takes all settings."""
    told: list[dict[str, Any]] = []
    app = typer.Typer()

    @app.command()
    @settings_options()
    def command(*, last: bool = False, **given: Any) -> None:
        assert last is False
        told.append(given)

    result = CliRunner().invoke(app, [*arguments])
    assert result.exit_code == 0, result.output
    return told[0]


def test_a_command_is_handed_what_was_given() -> None:
    assert given_by() == {}
    # text where the setting reads a time, a number where it is one
    arguments = "--budget 90 --validate-every 5 -d 16 --lr 3 --lambda .5 --keep-known --no-square"
    assert given_by(*arguments.split()) == {
        "budget": "90",
        "validate_every": "5",
        "dim": 16,
        "learning_rate": 3.0,
        "weight": 0.5,
        "leave_out_known": False,
        "square": False,
    }


def test_a_setting_as_a_flag_is_read_back() -> None:
    values = {
        "dim": 16,
        "weight": 0.125,
        "gamma_two_way": 9.5,
        "leave_out_known": False,
        "square": True,
        "heights": False,
        "optimizer": "adagrad",
    }
    flags = [as_flag(name, value) for name, value in values.items()]
    assert flags[3:6] == ["--keep-known", "--square", "--no-heights"]
    assert given_by(*shlex.split(" ".join(flags))) == values


def test_a_command_may_mean_something_else_by_a_setting() -> None:
    text = " ".join(hale("update", "--help").stdout.split())
    assert "Passes over the new facts. [default: no limit]" in text
    assert "Seconds of training (30s, 5m). [default: 30s, without --epochs]" in text
    assert "CPU threads. [default: as the run's]" in text


def test_weights_alone_are_the_column_of_that_name() -> None:
    assert named_weights([]) == []
    assert named_weights(["g.csv", "--weights"]) == ["g.csv", "--weights", "weight"]
    assert named_weights(["--weights", "--dim", "4"]) == ["--weights", "weight", "--dim", "4"]
    assert named_weights(["--weights", "sure", "g.csv"]) == ["--weights", "sure", "g.csv"]

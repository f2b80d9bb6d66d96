"""The journal of a search after ends that no search expects."""

from __future__ import annotations

from pathlib import Path

import optuna

from hale.training.tune.journal import open_journal

optuna.logging.set_verbosity(optuna.logging.ERROR)


def study(path: Path) -> optuna.Study:
    storage = optuna.storages.JournalStorage(open_journal(path))
    return optuna.create_study(study_name="s", storage=storage, load_if_exists=True)


def objective(trial: optuna.Trial) -> float:
    return float(trial.suggest_float("x", 0, 1))


def test_a_line_that_a_kill_cut_costs_that_line_alone(tmp_path: Path) -> None:
    path = tmp_path / "trials.journal"
    study(path).optimize(objective, n_trials=2)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"op_code": 5, "work')
    found = study(path)
    after = path.read_bytes()
    assert after.startswith(whole)
    assert b'"op_code": 5, "work' not in after
    found.optimize(objective, n_trials=1)
    assert len(study(path).trials) == 3


def test_no_link_of_a_dead_process_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "trials.journal"
    study(path)
    (tmp_path / "trials.journal.lock").symlink_to(path)  # as optuna's own lock leaves it
    study(path).optimize(objective, n_trials=1)
    assert len(study(path).trials) == 1

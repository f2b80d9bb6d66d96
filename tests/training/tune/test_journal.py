"""The journal of a search after ends that no search expects."""

from __future__ import annotations

from pathlib import Path

import optuna
import pytest

from hale.errors import InputError
from hale.training.tune.journal import open_journal, open_trials

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
    path.write_bytes(whole + b'{"op_code":5,"half a')
    found = study(path)
    after = path.read_bytes()
    assert after.startswith(whole)
    assert b'"half a' not in after
    found.optimize(objective, n_trials=1)
    assert len(study(path).trials) == 3


def test_no_link_of_a_dead_process_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "trials.journal"
    study(path)
    (tmp_path / "trials.journal.lock").symlink_to(path)  # as optuna's own lock leaves it
    study(path).optimize(objective, n_trials=1)
    assert len(study(path).trials) == 1


STUDY = b'{"op_code":0,"worker_id":"w","study_name":"s","directions":[2]}\n'
TRIAL = b'{"op_code":4,"worker_id":"w","study_id":0,"datetime_start":"2026-01-01T00:00:00+00:00"}\n'
MARKS = b'{"op_code":6,"worker_id":"w","trial_id":0,"state":1,"values":%s,"datetime_complete":'
MARKS += b'"2026-01-01T00:00:09+00:00"}\n'


def test_what_a_search_wrote_is_opened_with_its_trials(tmp_path: Path) -> None:
    path = tmp_path / "trials.journal"
    path.write_bytes(STUDY + TRIAL + MARKS % b"[0.25]")
    (trial,) = open_trials(path).get_all_trials(0)
    assert trial.value == 0.25
    assert trial.duration is not None
    assert trial.duration.total_seconds() == 9


@pytest.mark.parametrize(
    "content",
    [
        *(b"a plain text\n", b"a plain text", b"\xff\xfe\n", b"\n", b"[]\n", b"{}\n", b"5\n"),
        b'{"op_code":0}\n',  # no name of a study
        b'{"op_code":99,"worker_id":"w"}\n',
        b'{"op_code":"0","worker_id":"w"}\n',
        b'{"op_code":0,"worker_id":"\xff"}\n',
        b'{"op_code":0,"worker_id":"w","study_name":"s","directions":[1]}\n',
        STUDY + b"a line of something else\n",
        STUDY + b"a line of something else",
        STUDY + TRIAL + MARKS % b'["a"]',
        STUDY + TRIAL + MARKS % b"[NaN]",
        STUDY + TRIAL + MARKS % b"[true]",
        STUDY + TRIAL + MARKS % b"[0.5,0.5]",
        STUDY + TRIAL.replace(b"2026-01-01", b"2026-99-01"),
        STUDY + TRIAL + b'{"op_code":7,"worker_id":"w","trial_id":0,"step":"a",'
        b'"intermediate_value":0.5}\n',
        STUDY + TRIAL[:-2] + b',"state":4,"system_attrs":{"fixed_params":5}}\n',
        b'{"op_code":' + b"[" * 100_000 + b"\n",
    ],
    ids=lambda content: repr(content[-40:]),
)
def test_what_is_no_journal_of_a_search_is_refused_and_left_as_it_is(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "trials.journal"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"trials\.journal is not the journal .* --out"):
        open_trials(path)
    assert path.read_bytes() == content

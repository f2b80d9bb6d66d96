"""What torture breaks off and what its page counts; faults.c fails what it is asked to fail."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts/torture"
sys.path.insert(0, str(SCRIPTS))
torture: Any = importlib.import_module("torture")
torture_page: Any = importlib.import_module("torture_page")
tasks: Any = importlib.import_module("tasks")


def fault(number: int, lost: str | None = None, **more: Any) -> dict[str, Any]:
    row = {"break": "no room", "task": "train", "number": number, "of": 3, "status": 2}
    return row | {"lost": lost} | more


def cut(number: int, **more: Any) -> dict[str, Any]:
    return {"break": "power cut", "task": "train", "number": number, "lost": None} | more


END = {"break": "power cut at the end", "task": "train", "number": 9, "status": -9, "lost": None}
BYTES = {"break": "a wrong byte", "task": "model.safetensors", "same": 0, "lost": None, "losses": 0}


def told(tmp_path: Path, *rows: dict[str, Any]) -> str:
    (tmp_path / "log").write_text("".join(json.dumps(row) + "\n" for row in rows))
    text: str = torture_page.page(tmp_path / "log")
    return text


def test_a_break_that_was_made_again_counts_once(tmp_path: Path) -> None:
    kills = [fault(i, **{"break": "kill -9"}) for i in range(4)]
    flips = [BYTES | {"times": 100, "error": 100}, BYTES | {"times": 70, "error": 70}]
    again = [fault(1), fault(2), fault(1), fault(2)]
    text = told(tmp_path, *again, *kills, *flips)
    assert "| train | no room | 2 | 0 | 0 |" in text
    assert "| train | kill -9 | 4 | 0 | 0 |" in text
    assert "| model.safetensors | 70 | 70 | 0 | 0 | 0 |" in text
    assert "6 breaks, 0 lost." in text


def test_states_that_as_many_calls_may_leave_are_several(tmp_path: Path) -> None:
    """Two passes, the first of the log's older rows, which do not say which state they are."""
    old = [cut(1), cut(1), cut(2), END]
    new = [cut(n, state=i, of=3) for n, i in ((1, 1), (1, 2), (2, 1))]
    assert "| train | power cut | 3 | 0 | 0 |" in told(tmp_path, *old)
    assert "| train | power cut | 3 | 0 | 0 |" in told(tmp_path, *old, *old)
    assert "| train | power cut | 3 | 0 | 0 |" in told(tmp_path, *old, *new, END)
    broken_off = [cut(1), cut(1), cut(2)]
    assert "| train | power cut | 3 | 0 | 0 |" in told(tmp_path, *broken_off, *old)


def test_what_is_not_complete_is_named(tmp_path: Path) -> None:
    text = told(tmp_path, fault(1), fault(3), cut(1), END, cut(2), BYTES | {"times": 5, "of": 10})
    assert "- train: 2 of 3 calls failed" in text
    assert "- train: the pass of power cuts was broken off" in text
    assert "- model.safetensors: 5 of 10 bytes changed" in text
    sampled = [fault(1), fault(2), fault(3), cut(2, state=1, of=7), END]
    assert "- train: 1 of 7 states of power cuts" in told(tmp_path, *sampled)
    assert "- train: no call failed yet" in told(tmp_path, cut(1), END)
    whole = [fault(1), fault(2), fault(3), cut(1), END]
    assert "Not complete" not in told(tmp_path, *whole)


def test_what_was_lost_and_is_mended_is_told(tmp_path: Path) -> None:
    lost = [fault(1, "status 70:\nTraceback\nOSError: full"), fault(2, "a|b\nc")]
    text = told(tmp_path, *lost, fault(1, commit="abc1234"), fault(2), fault(3, "still"))
    assert "3 breaks, 1 lost. Rows by commit: abc1234 (1), not told (2)." in text
    assert "| train | 2 | status 70: OSError: full |" in text
    assert "Found, mended" not in told(tmp_path, fault(1), fault(1, "worse now"))


def test_what_was_finished_is_found(tmp_path: Path) -> None:
    lines = [
        b'{"op_code": 4, "study_id": 0}',
        b'{"op_code": 6, "trial_id": 0, "state": 1, "values": [0.5]}',
        b'{"op_code": 6, "trial_id": 1, "state": 3, "values": null}',
    ]
    journal = tmp_path / "trials.journal"
    assert tasks._trials(journal) == {}
    journal.write_bytes(b"\n".join([*lines, b'{"op_code": 6, "trial_id": 2, "state": 1}']))
    assert tasks._trials(journal) == {"trial 0": lines[1]}
    (tmp_path / "cells").mkdir()
    (tmp_path / "cells/a.json").write_text('{"metrics": {"mrr": 0.5}}')
    (tmp_path / "cells/a-points.json").write_text('{"points": []}')
    (tmp_path / "cells/b.json").write_text("")
    assert set(tasks._cells(tmp_path)) == {"a.json"}


def test_who_is_not_told_how_to_go_on_begins_again() -> None:
    by_name = {task.name: task for task in tasks.TASKS}
    assert by_name["tune"].goes_on(Path()) == by_name["tune"].command
    assert "--overwrite" in by_name["update"].goes_on(Path())


COPY = """
import ctypes, errno, os, shutil, sys
here, error, number = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
libc = ctypes.CDLL(None)
libc.faults_arm(here.encode(), number, error)
try:
    shutil.copy2(sys.argv[4], here + "/copy")
except OSError as told:
    print(errno.errorcode[told.errno])
print(libc.faults_count())
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_copy_within_the_kernel_fails_like_a_write(tmp_path: Path) -> None:
    """shutil copies by sendfile: half of the bytes find room, or none do."""
    library = tmp_path / "faults.so"
    make = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SCRIPTS / "faults.c"), "-ldl"]
    subprocess.run(make, check=True)
    (tmp_path / "here").mkdir()
    (tmp_path / "from").write_bytes(bytes(1000))

    def copied(error: int, number: int) -> tuple[list[str], int]:
        arguments = [str(tmp_path / "here"), str(error), str(number), str(tmp_path / "from")]
        found = subprocess.run(
            [sys.executable, "-c", COPY, *arguments],
            env={"LD_PRELOAD": str(library)},
            capture_output=True,
            text=True,
            check=True,
        )
        return found.stdout.split(), (tmp_path / "here/copy").stat().st_size

    told, size = copied(0, 0)
    assert (int(told[-1]), size) == (3, 1000)  # opened, copied, and found to be at its end
    for error, kept in ((28, 0), (-28, 500)):
        told, size = copied(error, 2)
        assert (told[0], size) == ("ENOSPC", kept)


def test_the_log_does_not_tell_where_the_project_lies(tmp_path: Path) -> None:
    here = Path(torture.__file__).parents[2]
    torture.add(tmp_path / "log", {"break": "kill -9", "lost": f'File "{here}/src/hale/x.py"'})
    (told,) = (tmp_path / "log").read_text().splitlines()
    assert json.loads(told)["lost"] == 'File "src/hale/x.py"'

"""What all commands share, as a user meets it."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hale import __version__, cli
from hale.cli.app import COMMANDS, load_command
from tests.cli.invoke import FAST, hale


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_of_a_command_is_that_of_its_docstring(name: str) -> None:
    command = load_command(name)
    assert command.name == name
    assert " ".join(command.help.split("\n\n")[0].split()) == COMMANDS[name]


def test_every_command_is_listed() -> None:
    """A module of cli that has a function or group of its own name is a command."""
    modules = [path.stem for path in Path(cli.__file__).parent.glob("*.py")]
    assert set(COMMANDS) == {
        name
        for name in modules
        if name not in ("__init__", "app")
        and hasattr(importlib.import_module(f"hale.cli.{name}"), name)
    }
    shown = hale("--help").stdout.partition("Make a run:")[2]
    assert sorted(re.findall(r"^  (\w+)  +\w", shown, re.M)) == sorted(COMMANDS)


@pytest.mark.parametrize("name", ["torch", "polars", "numpy", "pydantic", "hale.settings"])
def test_help_does_not_wait_for(name: str) -> None:
    code = (
        "import sys\nsys.argv = ['hale', '--help']\nfrom hale.cli import main\n"
        f"try:\n    main()\nfinally:\n    print('imported:', '{name}' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Make a run:" in done.stdout
    assert "imported: False" in done.stdout


def test_version() -> None:
    assert hale("--version").stdout.strip() == f"hale {__version__}"


def test_an_unknown_command_is_one_message_and_status_2() -> None:
    result = hale("frobnicate")
    assert result.exit_code == 2
    assert "frobnicate" in result.stderr
    assert result.stdout == ""
    assert "Did you mean 'predict'" in hale("predit").stderr


def test_names_are_printed_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Brackets and colons in names are neither markup nor emoji codes."""
    monkeypatch.chdir(tmp_path)
    names = ["[/y]", "e1:dog:x", "[red]", "d"]
    rows = [f"{a}\t[/rel]\t{b}\n" for a in names for b in names]
    Path("odd.tsv").write_text("".join(rows))
    trained = hale("train", "odd.tsv", "--epochs", 2, "--out", "[bold]", "--holdout", 0.2, *FAST)
    assert trained.exit_code == 0, trained.output
    assert "run:  [bold]" in trained.stdout
    shown = hale("predict", "[bold]", "--head", "[/y]", "--relation", "[/rel]")
    assert shown.exit_code == 0
    for name in names:
        assert name in shown.stdout
    assert "[/rel]" in hale("evaluate", "[bold]", "--by-relation").stdout
    assert (
        "'e1:dog:x'" in hale("predict", "[bold]", "--head", "e1:dog", "--relation", "[/rel]").stderr
    )


def test_ctrl_c_within_a_callback_is_not_lost() -> None:
    """Python prints what leaves a finaliser, and goes on."""
    code = (
        "import os, signal, sys, time, hale.cli as cli\n"
        "class Ends:\n"
        "    def __del__(self):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        time.sleep(0.1)\n"
        "signal.signal(signal.SIGINT, cli.interrupt)\n"
        "sys.unraisablehook = cli.again_if_lost\n"
        "try:\n"
        "    one = Ends()\n"
        "    del one\n"
        "    time.sleep(10)\n"
        "except KeyboardInterrupt:\n"
        "    print('met')\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (found.stdout, found.stderr) == ("met\n", "")


def test_ctrl_c_while_a_command_ends_is_the_end() -> None:
    code = (
        "import atexit, os, signal, sys, time\n"
        "from hale.cli import main\n"
        "def late():\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(10)\n"
        "atexit.register(late)\n"
        "sys.argv = ['hale', '--version']\n"
        "main()\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (found.returncode, found.stderr) == (130, b"")


def test_ctrl_c_that_a_library_makes_a_panic_of_is_met() -> None:
    code = (
        "import hale.cli.app as commands\n"
        "class PanicException(BaseException): ...\n"
        "def app():\n"
        "    raise PanicException(\"no capsule: PyErr { type: <class 'KeyboardInterrupt'> }\")\n"
        "commands.app = app\n"
        "from hale.cli import main\n"
        "main()\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (found.returncode, found.stderr) == (130, b"interrupted\n")


def test_a_folder_that_is_gone_is_one_error(tmp_path: Path) -> None:
    """torch's libraries end a process that is nowhere, with a message of their own."""
    code = (
        "import os, sys; os.rmdir(os.getcwd()); sys.argv = ['hale', 'show', 'run']\n"
        "from hale.cli import main; main()"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert found.returncode == 2
    assert found.stderr == (
        "error: The folder that you are in is gone. Go to another (cd), and try again.\n"
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("command", [["datasets"], ["--version"], ["models", "--json"]])
def test_what_is_printed_to_a_full_disk_is_one_error(command: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        found = subprocess.run(
            [sys.executable, "-m", "hale", *command],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert found.returncode == 2, found.stderr
    assert found.stderr == "error: what is printed cannot be written: No space left on device.\n"


def test_a_full_disk_is_not_blamed_on_what_is_printed() -> None:
    """As of a temporary file of a library: an error that names no file, and stdout is well."""
    code = (
        "import errno, os, sys; sys.argv = ['hale', 'models']\n"
        "def full(*_, **__): raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))\n"
        "import hale.cli.app as app; app.app = full\n"
        "print('printed')\n"
        "from hale.cli import main; main()"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert found.returncode == 2, found.stderr
    assert found.stdout == "printed\n"
    assert found.stderr == "error: the disk: No space left on device.\n"


def test_who_reads_may_have_enough() -> None:
    found = subprocess.run(
        f"{sys.executable} -m hale models | head -1",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in found.stderr
    assert "cannot be written" not in found.stderr

"""The command line: argument -> settings -> call; nothing is decided here.

One file a command, imported when it is called; torch is imported inside the commands, so that
help and errors come at once.
"""

from hale.cli.app import app

__all__ = ["app", "main"]


def main() -> None:
    """Entry point of the command."""
    app()

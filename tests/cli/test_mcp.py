"""hale mcp: what is refused; what it answers is tested with the protocol's own client."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.invoke import assert_refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--port", "8000"], "--port, --host and --token go with --http."),
        (["--token", "long enough"], "--port, --host and --token go with --http."),
        (["--http", "--host", "0.0.0.0"], "lets other machines ask. Choose a token"),
        (["--http", "--host", "192.0.2.1", "--token", "long enough"], "Cannot listen at"),
    ],
)
def test_what_cannot_be_served(run: Path, options: list[str], message: str) -> None:
    assert_refused(["mcp", str(run), *options], message, beside=["run"])


def test_a_run_that_is_not_there(run: Path) -> None:
    assert_refused(["mcp", "nothing"], "There is no run", beside=["run"])

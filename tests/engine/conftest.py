"""Every test of the engine runs on every implementation that this machine has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hale.engine import library as kernel

ENGINES = ["tiles", *(f"native-{build}" for build in kernel.builds())]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of the implementation that runs."""
    name, _, build = request.param.partition("-")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HALE_ENGINE", name)
        patch.setenv("HALE_BUILD", build)
        kernel.look_again()
        yield request.param


@pytest.fixture(autouse=True)
def _as_it_was(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test asked for by the environment is forgotten after it."""
    yield
    monkeypatch.undo()
    kernel.look_again()

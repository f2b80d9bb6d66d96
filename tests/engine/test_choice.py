from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from hale.engine import choice, current, native, tiles, uniformity
from hale.engine import library as kernel
from hale.engine.activations import Hanon
from hale.errors import HaleWarning, InputError


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine on which the kernel was never built."""
    monkeypatch.setenv("HALE_NATIVE", str(tmp_path))
    monkeypatch.delenv("HALE_BUILD", raising=False)
    monkeypatch.delenv("HALE_ENGINE", raising=False)
    kernel.look_again()
    choice._explain.cache_clear()
    yield
    choice._explain.cache_clear()


def inputs(**kind: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return torch.zeros(2, 3, **kind), torch.ones(5, 3, **kind), torch.ones(2, **kind)


def test_the_native_kernel_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails where the package was built without it: CI must not test the fallback only."""
    monkeypatch.delenv("HALE_ENGINE", raising=False)
    monkeypatch.delenv("HALE_BUILD", raising=False)
    kernel.look_again()
    assert current().name == "native"
    assert choice.choose(*inputs(), Hanon()) is native.sweep


def test_other_types_run_on_tiles() -> None:
    assert choice.choose(*inputs(dtype=torch.float64), Hanon()) is tiles.sweep

    class Own(Hanon):
        """An activation that the kernel does not know."""

    assert choice.choose(*inputs(), Own()) is tiles.sweep


def test_a_missing_kernel_is_explained_once(nowhere: None) -> None:
    with pytest.warns(HaleWarning, match="runs on torch tiles: .* was not built") as caught:
        values = [uniformity(*inputs(), Hanon()).item() for _ in range(3)]
    assert len(caught) == 1
    assert len(set(values)) == 1
    assert current().name == "tiles"


def test_without_a_kernel_there_are_no_builds(
    nowhere: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kernel.builds() == ()
    with pytest.raises(kernel.NativeMissingError, match="libhale_baseline.so was not built"):
        kernel.chosen_build()
    monkeypatch.setenv("HALE_BUILD", "avx2")
    kernel.look_again()
    with pytest.raises(kernel.NativeMissingError, match="libhale_baseline.so was not built"):
        kernel.chosen_build()


def test_asking_for_a_missing_kernel_is_an_error(
    nowhere: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALE_ENGINE", "native")
    kernel.look_again()
    with pytest.raises(InputError, match="asks for the native kernel, but"):
        uniformity(*inputs(), Hanon())


def test_a_damaged_library_is_explained(nowhere: None, tmp_path: Path) -> None:
    (tmp_path / "libhale_baseline.so").write_bytes(b"not a library")
    assert "cannot be loaded" in current().why


def test_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALE_ENGINE", "tiles")
    kernel.look_again()
    assert current().name == "tiles"
    assert choice.choose(*inputs(), Hanon()) is tiles.sweep
    monkeypatch.setenv("HALE_ENGINE", "warp")
    kernel.look_again()
    with pytest.raises(InputError, match="HALE_ENGINE is one of"):
        current()


@pytest.mark.skipif(not kernel.builds(), reason="no kernel was built here")
def test_a_build_that_does_not_run_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALE_ENGINE", "auto")
    monkeypatch.setenv("HALE_BUILD", "avx9000")
    kernel.look_again()
    assert "does not run here" in current().why


@pytest.fixture
def anew() -> Iterator[None]:
    """The environment is read again after the test."""
    yield
    kernel.look_again()


def test_a_relative_folder_of_libraries_is_refused(
    anew: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HALE_ENGINE", raising=False)
    monkeypatch.setenv("HALE_NATIVE", "build/sanitize")
    kernel.look_again()
    with pytest.raises(InputError, match="whole path of a folder, got 'build/sanitize'"):
        current()


@pytest.mark.parametrize("place", ["", "libhale_baseline.so"])
def test_libraries_that_others_may_write_are_refused(
    anew: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.delenv("HALE_ENGINE", raising=False)
    (tmp_path / "libhale_baseline.so").write_bytes(b"")
    monkeypatch.setenv("HALE_NATIVE", str(tmp_path))
    for mode in (0o775, 0o757):
        (tmp_path / place).chmod(mode)
        kernel.look_again()
        with pytest.raises(InputError, match="others may write .*chmod go-w"):
            current()
    (tmp_path / place).chmod(0o755)
    kernel.look_again()
    assert current().name == "tiles"  # an empty file is no library, but it was looked at


def test_a_folder_above_that_others_may_write_is_refused(
    anew: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They could put another in its place; not where only owners may, as in /tmp."""
    monkeypatch.delenv("HALE_ENGINE", raising=False)
    (tmp_path / "open/mine").mkdir(parents=True)
    (tmp_path / "open/mine/libhale_baseline.so").write_bytes(b"")
    monkeypatch.setenv("HALE_NATIVE", str(tmp_path / "open/mine"))
    (tmp_path / "open").chmod(0o777)
    kernel.look_again()
    with pytest.raises(InputError, match=r"others may write .*open, .*\. Use another folder"):
        current()
    for mode in (0o1777, 0o755):
        (tmp_path / "open").chmod(mode)
        kernel.look_again()
        assert current().name == "tiles"


def test_libraries_through_links_are_those_that_were_looked_at(
    anew: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who may write where a link stands could lead it elsewhere once its end was looked at."""
    monkeypatch.delenv("HALE_ENGINE", raising=False)
    (tmp_path / "open/theirs").mkdir(parents=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "open/link").symlink_to(tmp_path / "mine")
    monkeypatch.setenv("HALE_NATIVE", str(tmp_path / "open/link"))
    assert kernel._folders() == [(tmp_path / "mine").resolve()]
    (tmp_path / "open/theirs/one.so").write_bytes(b"")
    (tmp_path / "mine/libhale_baseline.so").symlink_to(tmp_path / "open/theirs/one.so")
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(InputError, match="others may write .*open, "):
        current()

"""The kernel is refused where its structures are not those that Python fills in."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import pytest

from hale.engine import current, signatures, structures
from hale.engine import library as kernel


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No library loaded yet, and none kept for later tests."""
    monkeypatch.delenv("HALE_ENGINE", raising=False)
    monkeypatch.delenv("HALE_BUILD", raising=False)
    kernel.look_again()
    yield
    kernel.look_again()


def with_fields(
    structure: type[ctypes.Structure], fields: list[tuple[str, type]]
) -> type[ctypes.Structure]:
    return type(structure.__name__, (ctypes.Structure,), {"_fields_": fields})


def test_a_fingerprint_by_hand() -> None:
    assert signatures.fingerprint([structures.Rows]) == (
        "functions status:int:4\n"
        "Rows b:int:0:8 d:int:8:8 table:pointer:16:8 ids:pointer:24:8 rows:pointer:32:8 "
        "threads:int:40:4\n"
    )


@pytest.mark.skipif(not kernel.builds(), reason="no kernel was built here")
@pytest.mark.parametrize("build", kernel.builds())
@pytest.mark.parametrize("name", signatures.FUNCTIONS)
def test_two_fields_in_each_others_place_are_noticed(
    fresh: None, build: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel.library(build)  # as it stands it is taken
    kernel.look_again()
    structure = signatures.FUNCTIONS[name]
    first, second, *rest = list[Any](structure._fields_)
    assert first[1] is second[1], "of equal size"
    swapped = with_fields(structure, [second, first, *rest])
    assert ctypes.sizeof(swapped) == ctypes.sizeof(structure)
    monkeypatch.setitem(signatures.FUNCTIONS, name, swapped)
    with pytest.raises(kernel.NativeMissingError, match="other sources; install hale-kge again"):
        kernel.library(build)
    monkeypatch.setenv("HALE_BUILD", build)
    kernel.look_again()
    assert current().name == "tiles"


@pytest.mark.skipif(not kernel.builds(), reason="no kernel was built here")
def test_a_number_of_another_kind_is_noticed(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """An integer in the place of a float, of one size."""
    fields = [
        (name, ctypes.c_int32 if name == "beta" else kind)
        for name, kind in structures.Alignment._fields_
    ]
    other = with_fields(structures.Alignment, fields)
    monkeypatch.setitem(signatures.FUNCTIONS, "hale_alignment", other)
    with pytest.raises(kernel.NativeMissingError, match="other sources"):
        kernel.library("baseline")

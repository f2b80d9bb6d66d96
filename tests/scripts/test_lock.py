"""The lists of requirements/: what pyproject.toml asks for, by hash, without PyTorch."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
lock = importlib.import_module("lock")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def entries(name: str) -> dict[str, list[tuple[str, int]]]:
    """The versions of a list's packages, with the number of files that each pins."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    found: dict[str, list[tuple[str, int]]] = {}
    for entry in re.split(r"^(?=[a-zA-Z0-9])", text, flags=re.MULTILINE)[1:]:
        package, version = re.match(r"([\w.-]+)==([\w.+!]+)", entry).groups()
        hashes = len(re.findall(r"--hash=sha256:[0-9a-f]{64}", entry))
        found.setdefault(canonicalize_name(package), []).append((version, hashes))
    return found


def asked(extra: str) -> list[Requirement]:
    """What the package and an extra of it ask for, with the extras that this one names."""
    listed = [Requirement(text) for text in PROJECT["optional-dependencies"].get(extra, [])]
    inner = [
        one
        for own in listed
        if own.name == "hale-kge"
        for name in own.extras
        for one in asked(name)
    ]
    return [one for one in listed if one.name != "hale-kge"] + inner


@pytest.mark.parametrize("name", lock.EXTRAS)
def test_a_list_has_what_the_project_asks_for(name: str) -> None:
    there = entries(name)
    wanted = [Requirement(text) for text in PROJECT["dependencies"]]
    wanted += [one for extra in lock.EXTRAS[name] for one in asked(extra)]
    wanted += [Requirement(text) for text in lock.BUILD.split()]
    assert len(wanted) > 10
    for one in wanted:
        if one.name == "torch":
            continue
        versions = [version for version, _ in there.get(canonicalize_name(one.name), [])]
        assert versions, f"{one} is not in requirements/{name}.txt: make lock"
        assert all(version in one.specifier for version in versions), (one, versions)
    assert all(hashes for versions in there.values() for _, hashes in versions)


def test_the_lists_agree_with_each_other_and_with_the_constraints() -> None:
    lists = [entries(name) for name in lock.EXTRAS]
    for package in set().union(*lists):
        assert len({str(sorted(there[package])) for there in lists if package in there}) == 1
    pins = dict(
        re.findall(r"^([\w-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    )
    for package in ("mypy", "ruff"):
        assert [version for version, _ in entries("dev")[package]] == [pins[package]]


def test_no_list_names_torch_or_a_gpu_or_an_index() -> None:
    for name in lock.EXTRAS:
        assert not [
            package for package in entries(name) if lock.OF_THE_MACHINE.match(f"{package}==")
        ]
        text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
        assert "://" not in text


def test_entries_of_the_machine_are_taken_out_with_their_hashes() -> None:
    text = "a==1 \\\n    --hash=sha256:aa\nnvidia-x==2 ; a < 'b' \\\n    --hash=sha256:bb\n"
    text += "torch==2.13.0 \\\n    --hash=sha256:cc\ntorchless==1 \\\n    --hash=sha256:dd\n"
    kept = "a==1 \\\n    --hash=sha256:aa\ntorchless==1 \\\n    --hash=sha256:dd\n"
    assert lock.without_torch(text) == kept

"""Mutation tests: break the code in one place at a time, and see whether a test notices.

    python scripts/mutate.py evaluation objectives --sample 300 --seed 0 --json mutants.json

Packages, their sources and tests stand in mutate.toml beside this file, with the mutants that are
judged equivalent; what is changed is told in mutants.py. Every mutant runs in a fork of a process
that has PyTorch loaded, its module replaced on import: no file is touched. A test that fails, or
tests that outlast the limit, kill a mutant; the file of tests that is named after the changed one
runs first.
"""

from __future__ import annotations

import argparse
import ast
import importlib.machinery
import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from mutants import Mutant, mutants_of, mutated
from mutants_page import SURVIVED, judge, page

CONFIG = Path(__file__).with_suffix(".toml")
QUIET = ("-x", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")
KILLED, TIMEOUT = "killed", "timeout"
NO_MUTANT = 99  # how a fork ends that could not be given its mutant


class _Replaced(importlib.machinery.SourceFileLoader):
    """Loads one module from a changed tree."""

    def __init__(self, name: str, path: str, tree: ast.Module) -> None:
        super().__init__(name, path)
        self.tree = tree

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        """The changed module, compiled."""
        return compile(self.tree, self.path, "exec")


class _Finder:
    """Answers for one module before any other finder does."""

    def __init__(self, name: str, loader: _Replaced) -> None:
        self.name, self.loader = name, loader

    def find_spec(self, name: str, path: object = None, target: ModuleType | None = None) -> Any:  # noqa: ARG002
        """Where the changed module is; None for all others."""
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.loader.path, loader=self.loader)


def outcomes(
    root: Path, todo: Sequence[tuple[Mutant | None, Sequence[str]]], limit: float, jobs: int
) -> Iterator[tuple[Mutant | None, str]]:
    """Run each mutant's tests in a fork, some at a time: killed, survived, or timeout."""
    waiting = list(reversed(todo))
    running: dict[int, tuple[Mutant | None, float]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant, tests = waiting.pop()
            child = os.fork()
            if child == 0:
                _run_tests(root, mutant, tests)
            running[child] = mutant, time.monotonic()
        for child, (mutant, began) in list(running.items()):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                del running[child]
                code = os.waitstatus_to_exitcode(status)
                if code == NO_MUTANT:
                    raise RuntimeError(f"this mutant cannot be made: {mutant}")
                yield mutant, KILLED if code else SURVIVED
            elif time.monotonic() - began > limit:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
                del running[child]
                yield mutant, TIMEOUT
        time.sleep(0.01)


def _run_tests(root: Path, mutant: Mutant | None, tests: Sequence[str]) -> None:
    """In the fork; never returns."""
    code = NO_MUTANT
    try:
        os.setsid()
        if mutant is not None:
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1)
            os.dup2(silent, 2)
            path = root / mutant.file
            parts = path.relative_to(root / "src").with_suffix("").parts
            name = ".".join(parts).removesuffix(".__init__")
            tree = mutated(path.read_text(encoding="utf-8"), mutant)
            sys.meta_path.insert(0, _Finder(name, _Replaced(name, str(path), tree)))
        import pytest

        code = 1
        first = int(pytest.main([*QUIET, tests[0]]))  # most mutants go no further
        code = first or (int(pytest.main([*QUIET, *tests[1:]])) if tests[1:] else 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def files_in(root: Path, places: Sequence[str], pattern: str) -> list[Path]:
    """The files of some files and folders, in order."""
    found: list[Path] = []
    for place in places:
        path = root / place
        found += [path] if path.is_file() else sorted(path.rglob(pattern))
    return list(dict.fromkeys(found))


def in_order(mutant: Mutant, tests: Sequence[Path], about: Mapping[str, Any]) -> list[str]:
    """The files of tests, the one named after the mutant's file first; or that one alone."""
    stem = Path(mutant.file).stem
    name = about.get("mirror", {}).get(stem, f"test_{stem}")
    first = [str(path) for path in tests if path.stem == name]
    if first and about.get("mirrored_only"):
        return first
    return first + [str(path) for path in tests if path.stem != name]


def measure(
    package: str, about: dict[str, Any], root: Path, options: argparse.Namespace
) -> dict[str, Any]:
    """How many of a package's mutants survive, and which."""
    sources = files_in(root, about["source"], "*.py")
    left_out = {root / name for name in about.get("without", [])}
    tests = [path for path in files_in(root, about["tests"], "test_*.py") if path not in left_out]
    every = [mutant for path in sources for mutant in mutants_of(path, root)]
    chosen = every
    earlier = options.earlier.get(package) if options.again else None
    if earlier:
        alive = [{**survivor, "equivalent": None} for survivor in earlier["survivors"]]
        chosen = [mutant for mutant in every if {**asdict(mutant), "equivalent": None} in alive]
        if len(chosen) < len(alive):
            sys.exit(f"{package}: its code has changed since; measure it anew")
    elif options.sample and options.sample < len(every):
        chosen = random.Random(options.seed).sample(every, options.sample)  # noqa: S311
    os.environ["PYTEST_ADDOPTS"] = about.get("pytest", "")
    began = time.monotonic()
    names = [str(path) for path in tests]
    if [found for _, found in outcomes(root, [(None, names)], 600, 1)] != [SURVIVED]:
        sys.exit(f"{package}: its tests fail without any mutation; mend that first")
    alone = time.monotonic() - began
    limit = options.limit or 10 + 5 * alone * options.jobs
    print(f"{package}: {len(chosen)} of {len(every)} mutants, tests take {alone:.1f} s", flush=True)
    counts: Counter[str] = Counter()
    survivors = []
    todo = [(mutant, in_order(mutant, tests, about)) for mutant in chosen]
    for number, (mutant, found) in enumerate(outcomes(root, todo, limit, options.jobs), start=1):
        counts[found] += 1
        if found == SURVIVED and mutant is not None:
            survivors.append(mutant)
            print(f"{number}/{len(chosen)} {mutant.file}:{mutant.line} {mutant.change}", flush=True)
    if earlier:  # what was killed before stays so
        gone = len(chosen) - len(survivors)
        counts = Counter({**earlier, KILLED: earlier[KILLED] + gone, SURVIVED: len(survivors)})
    return {
        "mutants": len(every),
        "sample": earlier["sample"] if earlier else len(chosen),
        "seed": options.seed,
        **{kind: counts[kind] for kind in (KILLED, TIMEOUT, SURVIVED)},
        "seconds": round(time.monotonic() - began),
        "limit_seconds": round(limit),
        "survivors": [asdict(m) for m in sorted(survivors, key=lambda m: (m.file, m.line))],
    }


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("packages", nargs="*", help="of mutate.toml; all when none is named")
    parser.add_argument("--sample", type=int, default=0, help="mutants of a package (all)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--limit", type=float, help="seconds a mutant (by the tests' own time)")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time")
    parser.add_argument("--json", type=Path, help="file of results; other entries stay")
    parser.add_argument("--label", default="now", help="the entry in that file")
    parser.add_argument("--again", action="store_true", help="only that entry's survivors")
    parser.add_argument("--judge", action="store_true", help="judge that file's survivors again")
    parser.add_argument("--page", type=Path, help="Markdown page of that file")
    parser.add_argument("--root", type=Path, default=CONFIG.parents[1], help="the project's folder")
    parser.add_argument("--config", type=Path, default=CONFIG, help="packages and their tests")
    options = parser.parse_args()
    options.json = options.json and options.json.resolve()
    config = tomllib.loads(options.config.read_text())
    equivalent = config.get("equivalent", [])
    results = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}

    options.earlier = results.get(options.label, {})

    def write() -> None:
        for entries in results.values():
            for entry in entries.values():
                judge(entry, equivalent)
        if options.json:
            options.json.write_text(json.dumps(results, indent=1) + "\n")

    if options.judge or options.page:
        write()
        if options.page:
            options.page.write_text(page(results, config.get("notes", [])))
        return
    root = options.root.resolve()
    os.chdir(root)
    os.environ |= {"OMP_NUM_THREADS": "1", "CI": "1"}  # the same draws for every mutant
    sys.dont_write_bytecode = True
    for heavy in ("hypothesis", "numpy", "polars", "pydantic", "pytest", "safetensors.torch"):
        importlib.import_module(heavy)
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],  # noqa: S607
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    for package in options.packages or config["packages"]:
        found = measure(package, config["packages"][package], root, options)
        entry = {"commit": commit, "python": sys.version.split()[0], **found}
        results.setdefault(options.label, {})[package] = entry
        write()
        print(f"{package}: {entry['share_survived']:.1%} survive", flush=True)


if __name__ == "__main__":
    main()

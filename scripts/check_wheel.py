"""Check that a wheel holds the pages of hale explore, their licences and the kernel, and no more.

    python scripts/check_wheel.py dist/hale_kge-1.0-py3-none-linux_x86_64.whl
    python scripts/check_wheel.py dist/hale_kge-1.0.tar.gz

An sdist has the same pages, so that whoever builds it needs no Node.js, and all sources. What is
wrong is told line by line, with status 1; `make wheel` and `make release` run it.
"""

from __future__ import annotations

import json
import re
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STATIC = "hale/serve/static/"
BUNDLE = ("explore.js", "map.js", "curves.js", "explore.css")
SOURCES = ("web/", "tests/", "node_modules/", "benchmarks/", "scripts/")


def faults(wheel: Path) -> list[str]:
    """What is missing in a wheel, and what should not be there."""
    with zipfile.ZipFile(wheel) as file:
        sizes = {info.filename: info.file_size for info in file.infolist()}
        named = STATIC + "LICENSES.txt"
        licences = file.read(named).decode() if named in sizes else ""
    pages = [STATIC + name for name in BUNDLE]
    templates = ROOT / "src" / "hale" / "serve" / "templates"
    pages += [f"hale/serve/templates/{path.name}" for path in templates.glob("*.html")]
    found = [f"{name} is missing" for name in pages if name not in sizes]
    found += [f"{name} is empty" for name in pages if sizes.get(name) == 0]
    declared = json.loads((ROOT / "web" / "package.json").read_text(encoding="utf-8"))
    found += [
        f"the licence of {name} is missing in {named}"
        for name in declared["dependencies"]
        if not re.search(rf"^{re.escape(name)} \S+ \(.+\)$", licences, re.MULTILINE)
    ]
    if not any(re.search(r"\.dist-info/licenses/LICENSE$", name) for name in sizes):
        found.append("hale's own licence is missing")
    if not any(re.search(r"hale/engine/libhale_\w+\.(so|dylib|dll)$", name) for name in sizes):
        found.append("the native kernel is missing")
    extra = [name for name in sizes if name.startswith(SOURCES) or "/node_modules/" in name]
    extra += [name for name in sizes if name.startswith(STATIC) and "/." in name]
    return found + [f"{name} does not belong there" for name in extra]


def sdist_faults(sdist: Path) -> list[str]:
    """What an sdist lacks of what it takes to build and test, and what should not be there."""
    with tarfile.open(sdist) as file:
        inside = {member.name.partition("/")[2] for member in file.getmembers()}
    wanted = [f"src/{STATIC}{name}" for name in (*BUNDLE, "LICENSES.txt")]
    wanted += ["CMakeLists.txt", "pyproject.toml", "constraints.txt", "README.md", "LICENSE"]
    kinds = (("src", "*.py"), ("tests", "*.py"), ("scripts", "*.py"), ("web/src", "*"))
    for folder, kind in (*kinds, ("native", "*")):
        found = (path for path in (ROOT / folder).rglob(kind) if path.is_file())
        wanted += [path.relative_to(ROOT).as_posix() for path in found]
    missing = [f"{name} is missing" for name in wanted if name not in inside]
    other = re.compile(r"(^|/)(node_modules|__pycache__|\.tried|\.git|\.venv|dist)(/|$)|\.so$")
    return missing + [
        f"{name} does not belong there" for name in sorted(inside) if other.search(name)
    ]


def main(paths: list[str]) -> int:
    """Tell the faults of each wheel and sdist; the exit status."""
    if not paths:
        sys.stderr.write("which wheel? python scripts/check_wheel.py dist/NAME.whl\n")
        return 2
    wrong = [
        f"{path}: {fault}"
        for path in paths
        for fault in (sdist_faults if path.endswith(".tar.gz") else faults)(Path(path))
    ]
    sys.stderr.writelines(line + "\n" for line in wrong)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

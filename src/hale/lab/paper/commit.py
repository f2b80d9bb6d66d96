"""The commit of the code that runs, where it runs from a checkout."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path


@cache
def commit_of_code() -> str:
    """Its short name, with a plus where sources differ from it; nothing outside a checkout."""
    here = Path(__file__).parent

    def git(*arguments: str) -> str:
        found = subprocess.run(  # noqa: S603
            ["git", "-C", str(here), *arguments],  # noqa: S607
            capture_output=True,
            text=True,
            check=True,
        )
        return found.stdout.strip()

    try:
        if not git("ls-files", "--", "commit.py"):  # a checkout around an installed package
            return ""
        # what searches write stands in the settings of cells
        others = (":/src", ":/native", ":(exclude,top)src/hale/lab/paper/searched")
        changed = git("status", "--porcelain", "--", *others)
        return git("rev-parse", "--short=10", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return ""

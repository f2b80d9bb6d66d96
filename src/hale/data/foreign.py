"""What stands in a folder that is to be replaced, and was written by somebody else."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

FEW = 5  # names that a message has


def foreign(folder: Path, own: Collection[str]) -> str:
    """What stands in a folder beside its own files, some names of it; "" where nothing does.

    Names that begin with a dot are hale's, or nobody's.
    """
    others = sorted(
        path.name
        for path in folder.iterdir()
        if path.name not in own and not path.name.startswith(".")
    )
    more = f" and {len(others) - FEW:,} more" if len(others) > FEW else ""
    return ", ".join(others[:FEW]) + more

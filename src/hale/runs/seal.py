"""Seal: a checksum in every JSON object of a run, so that one wrong byte of it is noticed.

    {"mrr": 0.5, "checksum": "3f1c..."}      the first 16 digits of a SHA-256

It is of what the object says, not of how it is laid out: of its other members as JSON without
spaces, sorted by name. A list is sealed member by member, as is a file of lines: a member that is
gone whole is not noticed.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

CHECKSUM, DIGITS = "checksum", 16


def sealed(value: object) -> Any:
    """A JSON value with a checksum in it, if it is an object, or in each object of a list."""
    if isinstance(value, list):
        return [sealed(one) for one in value]
    if not isinstance(value, dict):
        return value
    rest = {name: one for name, one in value.items() if name != CHECKSUM}
    return rest | {CHECKSUM: _checksum(rest)}


def unsealed(value: Any, *, must: bool) -> Any:
    """What was sealed; a ValueError if it is not as it was then.

    What has no checksum is one too if it ``must`` have one: files of earlier versions had none.
    """
    if isinstance(value, list):
        return [unsealed(one, must=must) for one in value]
    if not isinstance(value, dict):
        return value
    rest = {name: one for name, one in value.items() if name != CHECKSUM}
    if (must or len(rest) < len(value)) and value.get(CHECKSUM) != _checksum(rest):
        raise ValueError("it is not as it was written: the checksum differs")
    return rest


def _checksum(value: dict[str, Any]) -> str:
    # Read back first: what is written may have tuples, and names that are numbers.
    as_read = json.loads(json.dumps(value))
    text = json.dumps(as_read, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]

"""Names of entities and relations for the shell, as one types them (hale --install-completion)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import typer

from hale.errors import HaleError

if TYPE_CHECKING:
    from hale.data.find import Kind

# What a shell would obey, or need quotes for, is not put on its line.
OBEYED = re.compile(r"[\x00-\x1f\x7f-\x9f\"'`$\\;|&<>(){}\[\]*?!#~^\ud800-\udfff]")


def complete_entity(ctx: typer.Context, incomplete: str) -> list[str]:
    """Entities of the run that the line names already."""
    return _names(ctx, "entity", incomplete)


def complete_relation(ctx: typer.Context, incomplete: str) -> list[str]:
    """Relations of the run that the line names already."""
    return _names(ctx, "relation", incomplete)


def _names(ctx: typer.Context, kind: Kind, incomplete: str) -> list[str]:
    # An option without its value yet ends the parsing: what came before it is left in args.
    run: Any = ctx.params.get("run") or next(iter(ctx.args), None)
    if run is None:
        return []
    from hale.data.find import complete_name

    try:
        found = complete_name(run, kind, incomplete)
    except HaleError:  # nobody reads an error between two keys
        return []
    return [name for name in found if not OBEYED.search(name)]

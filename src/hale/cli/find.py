"""hale find."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from hale.cli.app import err, out, print_json, reporting
from hale.cli.options import Json, RunPath

SOME = 5  # names that are shown where none was found


@reporting
def find(
    run: RunPath,
    text: Annotated[str, typer.Argument(help="Some letters of a name or label.", metavar="TEXT")],
    k: Annotated[int, typer.Option("-k", help="Number of names.")] = 10,
    as_json: Json = False,
) -> None:
    """Find entities and relations by a part of their name or label.

    Case and accents do not count. Names that are TEXT come first, then those that have it as a
    word, that begin with it, that contain it, and last those that are spelt alike.
    """
    from hale.cli.tables import listing
    from hale.data.find import find as find_names
    from hale.data.find import opened

    source = opened(run)
    found = find_names(source, text, k=k)
    if as_json:
        print_json({"run": str(run), "text": text, "found": [asdict(one) for one in found]})
        return
    if not found:
        out.print(f"no name or label is like {text!r}")
        err.print(
            "Looked at, whatever the case and accents: whole names, words, beginnings, parts, and "
            f"what is spelt alike. Try fewer letters, such as hale find {run} {text.strip()[:2]}"
        )
        _tell_names(source)
        return
    rows = [(one.name, one.label or "", one.kind) for one in found]
    labelled = any(one.label for one in found)
    columns = ["name", "label", "kind"] if labelled else ["name", "kind"]
    out.print(listing(columns, [row if labelled else (row[0], row[2]) for row in rows]))


def _tell_names(source: Any) -> None:
    """What the names of a run or graph look like."""
    from hale.data.find import names_of

    entities, relations = names_of(source)
    for kind, names in (("entities", entities.names), ("relations", relations.names)):
        more = ", ..." if len(names) > SOME else ""
        err.print(f"{len(names):,} {kind}: {', '.join(names[:SOME])}{more}")
    if not len(entities.labels):
        err.print("they have no labels; hale train --labels FILE brings some along")

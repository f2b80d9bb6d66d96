"""hale find."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from hale.cli.app import out, print_json, reporting
from hale.cli.options import Json, RunPath


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

    found = find_names(run, text, k=k)
    if as_json:
        print_json({"run": str(run), "text": text, "found": [asdict(one) for one in found]})
        return
    if not found:
        out.print(f"no name is like {text!r}")
        return
    rows = [(one.name, one.label or "", one.kind) for one in found]
    labelled = any(one.label for one in found)
    columns = ["name", "label", "kind"] if labelled else ["name", "kind"]
    out.print(listing(columns, [row if labelled else (row[0], row[2]) for row in rows]))

"""What train says of each relation, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from hale.cli.tables import listing

if TYPE_CHECKING:
    from hale.data.graph import Graph


def relations_table(graph: Graph, title: str) -> Table:
    """What train says of each relation, those with most facts first."""
    rows = []
    profiles = [(name, graph.profiles.of(i)) for i, name in enumerate(graph.relations.names)]
    for name, told in sorted(profiles, key=lambda pair: -pair[1].facts):
        words = {
            "functional": told.functional,
            "inverse functional": told.inverse_functional,
            "symmetric": told.symmetric,
            "may loop": told.loops,
        }
        said = ", ".join(word for word, holds in words.items() if holds)
        counts = (f"{count:,}" for count in (told.facts, told.heads, told.tails))
        deltas = (f"{delta:.2f}" if delta else "" for delta in (told.tail_delta, told.head_delta))
        rows.append((name, said, *counts, *deltas))
    numbers = ("facts", "heads", "tails", "delta of tails", "of heads")
    return listing(("relation", "", *numbers), rows, right=numbers, title=title)

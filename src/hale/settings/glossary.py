"""Glossary: the words that are hale's own, for which the field has none.

The page docs/glossary.md and the help of ``hale train`` are made from it.
"""

from __future__ import annotations

GLOSSARY: dict[str, str] = {
    "heights": "One more coordinate of every entity, at which all queries are zero: a bias inside "
    "the squared distance, by which rare answers stand back (--heights).",
    "near": "How near to changing nothing relations start: the share taken away of their turns "
    "beyond a quarter, or of their negative factors (--near).",
    "two-way": "Of a relation: at least half of its training facts are also stated in reverse, as "
    "with a marriage or a likeness (--gamma-two-way).",
    "loops": "Facts that join an entity to itself. Without them (--no-loops) an entity comes last "
    "among the answers to a query about itself, where the relation has next to none in train.",
    "taken": "Of an entity, as an answer to a query (h, r): it answers r for another head in train "
    "already. Where few do twice, it stands back (--cardinality).",
    "block": "The entities that a step's sums run over, a part of all that stands for them "
    "(--block). Each comes at most once in a pass over all entities.",
    "known answers": "The entities that answer a query in the graph's splits. Ranks leave the "
    "others out (filtered); training may leave them out of its sums (--leave-out-known).",
    "kept": "Of a run's states: the one that validation chose, which model.safetensors holds.",
    "revision": "What an update does to a graph: facts that join train, facts that leave every "
    "split, new entities and relations.",
    "anchor": "The weight of a penalty on known rows that leave their place in an update.",
    "focus": "How often an update sees a new fact for each time that it sees an old one.",
    "withdraw": "Of new entities: to step back from all queries until the old validation triples "
    "rank as they did, up to a tolerance.",
    "cell": "One system trained on one graph for one time, with all that is known of it in a "
    "file: a place in a table or figure of the paper.",
    "tiles": "The engine in plain torch calls: the reference, and what runs where the native "
    "kernel does not.",
}


def glossary_page() -> str:
    """The glossary as Markdown."""
    rows = [f"| **{word}** | {text} |" for word, text in GLOSSARY.items()]
    return "\n".join(
        [
            "# Glossary",
            "",
            "Words of the field are used as the field uses them. These are hale's own. The page is "
            "made from",
            "`src/hale/settings/glossary.py`; `hale train --help` has the same words.",
            "",
            "| word | meaning |",
            "|---|---|",
            *rows,
            "",
        ]
    )

"""What mutate.py found, judged and as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SURVIVED = "survived"


def judge(entry: dict[str, Any], equivalent: Sequence[Mapping[str, str]]) -> None:
    """Note which survivors are equivalent, and the share of the others."""
    for survivor in entry["survivors"]:
        file = Path(survivor["file"]).name
        reasons = [
            rule["why"]
            for rule in equivalent
            if rule.get("file", file) == file and rule["change"] in survivor["change"]
        ]
        survivor["equivalent"] = reasons[0] if reasons else None
    alike = sum(survivor["equivalent"] is not None for survivor in entry["survivors"])
    entry["equivalent"] = alike
    entry["share_survived"] = round((entry[SURVIVED] - alike) / max(1, entry["sample"] - alike), 4)


def page(results: Mapping[str, Mapping[str, Any]], notes: Sequence[str] = ()) -> str:
    """The results as Markdown: the shares, what is judged equivalent and why, and what is left."""
    lines = [
        "# Mutants: what the tests notice",
        "",
        "Written by `python scripts/mutate.py --page` from [mutants.json](mutants.json), which the "
        "same command wrote. Each mutant is the code with one change (a comparison, an operator, a "
        "number, a condition, a returned value, a statement, an argument); it survives if all "
        "tests of its package pass. Texts, annotations, imports, decorators and `__all__` are left "
        "alone, and the share leaves out survivors that are judged equivalent below.",
        *(f"\n{note}" for note in notes),
        "",
        "| package | state | commit | mutants | tried | survived | equivalent | share |",
        "|---|---|---|---|---|---|---|---|",
    ]
    packages = dict.fromkeys(name for entries in results.values() for name in entries)
    lines += [
        f"| {name} | {state} | {entry['commit']} | {entry['mutants']} | {entry['sample']} | "
        f"{entry[SURVIVED]} | {entry['equivalent']} | {entry['share_survived']:.1%} |"
        for name in packages
        for state, entries in results.items()
        if (entry := entries.get(name))
    ]
    shown = [entries for state, entries in results.items() if state != "before"]
    survivors = [s for entries in shown for entry in entries.values() for s in entry["survivors"]]
    alike: dict[str, list[str]] = {}
    for survivor in survivors:
        if survivor["equivalent"]:
            where = f"`{Path(survivor['file']).name}`: `{survivor['change']}`"
            alike.setdefault(survivor["equivalent"], []).append(where)
    lines += ["", "## Judged equivalent", ""]
    lines += [f"- {why} {'; '.join(dict.fromkeys(which))}" for why, which in alike.items()]
    lines += ["", "## Survivors", ""]
    lines += dict.fromkeys(
        f"- `{survivor['file']}:{survivor['line']}` `{survivor['change']}`"
        for survivor in survivors
        if not survivor["equivalent"]
    )
    return "\n".join([*lines, ""])

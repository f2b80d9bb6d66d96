"""What the site has beside docs/: the reference, and the pages in the root of the repository.

MkDocs calls ``on_files`` and ``on_page_markdown`` (mkdocs.yml names this file). Commands are read
from the tree that `hale` itself parses with, Python from the names that `import hale` offers, so
that neither page can fall behind.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hale
from hale.cli.app import COMMANDS, load_command
from hale.cli.groups import COMMAND_GROUPS

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).resolve().parent.parent
# Pages of the root, by what they are called on the site.
FROM_ROOT = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security-policy.md",
}
# Names of `import hale` by what they are for; a name that is in no group fails the build.
PYTHON_GROUPS = {
    "Make a run": ("load", "Graph", "train", "Settings", "update", "load_run", "Run"),
    "Ask it": (
        *("predict", "predict_many", "Query", "Answer", "Answers", "discover", "discover_each"),
        *("MissingFact", "neighbors", "Neighbor", "why", "Explanation", "find", "Found"),
        *("with_paths", "align", "Match"),
    ),
    "See how good it is": (
        *("evaluate", "Report", "Metrics", "calibrate", "Calibration", "load_calibration"),
        *("classify", "Verdict", "Verdicts", "Record", "Summary"),
    ),
    "Use it elsewhere": ("export_run", "open_index", "query_vectors"),
    "Errors": ("HaleError",),
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made."""
    from mkdocs.structure.files import File

    made = {"reference/commands.md": commands_page(), "reference/python.md": python_page()}
    for source, name in FROM_ROOT.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        made[name] = inside(text)
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links to files of the root to where the site has them."""
    up = "../" * page.file.src_uri.count("/")
    for source, name in FROM_ROOT.items():
        link = rf"\]\((?:\.\./)+{re.escape(source)}(#[\w-]+)?\)"
        markdown = re.sub(link, rf"]({up}{name}\1)", markdown)
    return markdown


def inside(text: str) -> str:
    """A page of the root as a page of docs/: links to others lose their folder."""
    text = re.sub(r"\]\(docs/", "](", text)
    for source, name in FROM_ROOT.items():
        text = re.sub(rf"\]\({re.escape(source)}", f"]({name}", text)
    return re.sub(r"\[([^\]]+)\]\(CITATION\.cff\)", r"`\1`", text)  # no page


def commands_page() -> str:
    """Every command with its arguments and options, as it declares them."""
    parts = [
        "# Commands\n\nMade from the commands themselves; `hale COMMAND --help` says the same.\n"
    ]
    for heading, names in COMMAND_GROUPS.items():
        parts.append(f"## {heading}\n")
        for name in names:
            command = load_command(name)
            parts.append(f"### hale {name}\n\n{COMMANDS[name]}\n")
            inner = getattr(command, "commands", None)
            if inner is None:
                parts.append(command_text(command, f"hale {name}"))
                continue
            for below in inner.values():
                parts.append(f"#### hale {name} {below.name}\n")
                parts.append(command_text(below, f"hale {name} {below.name}"))
    return "\n".join(parts)


def command_text(command: Any, name: str) -> str:
    """What a command's docstring says after its first line, its usage and its options."""
    said = (command.help or "").partition("\n")[2].strip()
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    usage = " ".join([name, "[OPTIONS]", *(argument_name(one) for one in arguments)])
    lines = [
        prose(said) + "\n" if said else "",
        f"    {usage}\n",
        "| option | what it does |",
        "|---|---|",
    ]
    for one in command.params:
        if getattr(one, "hidden", False):
            continue
        lines.append(f"| {spelled(one)} | {cell(getattr(one, 'help', None) or '')}{default(one)} |")
    return "\n".join(lines) + "\n"


def argument_name(argument: Any) -> str:
    """An argument as usage writes it."""
    name = (argument.metavar or argument.name or "").strip("{}[]").upper()
    return name if argument.required else f"[{name}]"


def spelled(parameter: Any) -> str:
    """All ways to write an option, or an argument's name."""
    if parameter.param_type_name == "argument":
        return f"`{argument_name(parameter)}`"
    return " ".join(f"`{flag}`" for flag in (*parameter.opts, *parameter.secondary_opts))


def default(parameter: Any) -> str:
    """The default of an option, where it has one that tells something."""
    value = parameter.default
    if value in (None, False, True, "", (), []) or callable(value):
        return ""
    return f" (default: {cell(str(value))})"


def cell(text: str) -> str:
    """A text in a table: one line, no bars, nothing taken for markup."""
    return re.sub(r"([|<>*_\[\]])", r"\\\1", " ".join(text.split()))


def prose(text: str) -> str:
    """A docstring's paragraphs, nothing taken for markup; what is to keep its lines is code."""
    paragraphs = []
    for one in re.split(r"\n\s*\n", text):
        if "\b" in one:
            lines = [line.strip() for line in one.replace("\b", "").splitlines()]
            paragraphs.append("\n".join(f"    {line}" for line in lines if line))
        else:
            paragraphs.append(re.sub(r"([<>*_\[\]])", r"\\\1", " ".join(one.split())))
    return "\n\n".join(paragraphs)


def python_page() -> str:
    """The public names, for mkdocstrings to fill in from their docstrings."""
    named = [name for names in PYTHON_GROUPS.values() for name in names]
    missing = sorted(set(hale._HOMES) ^ set(named))
    if missing:
        raise SystemExit(
            f"scripts/site_pages.py: {missing} are in no group, or are no public names"
        )
    parts = [
        "# Python\n\nWhat `import hale` offers. [From Python](../python.md) shows it at work.\n"
    ]
    for heading, names in PYTHON_GROUPS.items():
        parts.append(f"## {heading}\n")
        parts += [f"::: {getattr(hale, name).__module__}.{name}\n" for name in names]
    return "\n".join(parts)

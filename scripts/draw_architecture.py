"""Draw the house from the imports in its source: docs/images/architecture.svg.

    python scripts/draw_architecture.py

Every package is a box with the first line of its docstring, from the one that imports nothing at
the top to the command line at the bottom. An arc leads from a package up to one that it imports
from, the heavier the more of its modules do.
"""

from __future__ import annotations

import ast
import colorsys
import sys
from collections import Counter
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "hale"
TARGET = ROOT / "docs" / "images" / "architecture.svg"

ORDER = (
    *("errors", "settings", "data", "engine", "models", "objectives", "runs"),
    *("evaluation", "training", "answers", "export", "serve", "lab", "cli"),
)

LEFT, TOP, WIDTH, HEIGHT, GAP = 16, 16, 560, 44, 12
REACH = 17  # how much farther right an arc goes for each package that it passes
HUES = (210, 25, 145, 280, 350, 55, 185, 95, 310, 240, 0, 165, 40)


def packages() -> list[str]:
    """The packages that there are, top to bottom."""
    return [name for name in ORDER if (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").is_file()]


def modules(package: str) -> list[Path]:
    """The modules of a package, or the one that it is."""
    folder = SOURCE / package
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [SOURCE / f"{package}.py"]


def imports() -> Counter[tuple[str, str]]:
    """How many modules of one package import from another."""
    known = packages()
    found: Counter[tuple[str, str]] = Counter()
    for package in known:
        for path in modules(package):
            names: set[str] = set()
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom):
                    names |= {f"{node.module}.{alias.name}" for alias in node.names}
                elif isinstance(node, ast.Import):
                    names |= {alias.name for alias in node.names}
            rooms = {name.split(".")[1] for name in names if name.startswith("hale.")}
            for room in sorted(rooms & set(known) - {package}):
                found[package, room] += 1
    return found


def about(package: str) -> str:
    """The first line of a package's docstring, without its own name."""
    folder = SOURCE / package
    file = folder / "__init__.py" if folder.is_dir() else SOURCE / f"{package}.py"
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    first = text.split("\n", 1)[0]
    return first.split(": ", 1)[1] if first.lower().startswith(f"{package}: ") else first


def colour(place: int, lightness: float, saturation: float) -> str:
    """The colour of the package at that place."""
    parts = colorsys.hls_to_rgb(HUES[place % len(HUES)] / 360, lightness, saturation)
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)


def draw() -> str:
    """The picture as SVG; the same imports give the same text."""
    names, edges = packages(), imports()
    middle = {name: TOP + i * (HEIGHT + GAP) + HEIGHT / 2 for i, name in enumerate(names)}
    right = LEFT + WIDTH
    farthest = max(names.index(one) - names.index(other) for one, other in edges)
    size = (right + 40 + REACH * farthest, TOP * 2 + len(names) * (HEIGHT + GAP) - GAP)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" '
        f'width="{size[0]}" height="{size[1]}" font-family="Helvetica, Arial, sans-serif">',
        f'<rect width="{size[0]}" height="{size[1]}" fill="#ffffff"/>',
    ]
    for (one, other), count in sorted(edges.items()):
        place, span = names.index(one), names.index(one) - names.index(other)
        x = right + 14 + REACH * span
        start, end = middle[one] - 8, middle[other] + 8
        width = 0.8 + min(count, 12) * 0.22
        lines.append(
            f'<path d="M {right} {start:g} C {x} {start:g}, {x} {end:g}, {right} {end:g}" '
            f'fill="none" stroke="{colour(place, 0.45, 0.55)}" '
            f'stroke-width="{width:g}" opacity="0.75"><title>{one} imports from {other}: '
            f"{count} modules</title></path>"
        )
        lines.append(
            f'<path d="M {right} {end:g} l 7 -3.5 l 0 7 z" fill="{colour(place, 0.45, 0.55)}"/>'
        )
    for place, name in enumerate(names):
        y = middle[name] - HEIGHT / 2
        count = len(modules(name))
        files = "1 file" if count == 1 else f"{count} files"
        lines += [
            f'<rect x="{LEFT}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="6" '
            f'fill="{colour(place, 0.96, 0.6)}" stroke="{colour(place, 0.55, 0.45)}"/>',
            f'<text x="{LEFT + 12}" y="{y + 18:g}" font-size="14" font-weight="bold" '
            f'fill="#222222">{escape(name)}</text>',
            f'<text x="{LEFT + WIDTH - 12}" y="{y + 18:g}" font-size="11" text-anchor="end" '
            f'fill="#666666">{files}</text>',
            f'<text x="{LEFT + 12}" y="{y + 35:g}" font-size="11.5" fill="#444444">'
            f"{escape(about(name))}</text>",
        ]
    return "\n".join([*lines, "</svg>", ""])


def main() -> None:
    """Write the picture."""
    TARGET.write_text(draw(), encoding="utf-8")
    sys.stdout.write(f"{TARGET.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()

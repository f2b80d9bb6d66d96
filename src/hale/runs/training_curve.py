"""The curve of a training run as a small SVG, for a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hale.runs.run import Record

WIDTH, HEIGHT, MARGIN = 360, 120, 24


def curve_svg(history: Sequence[Record]) -> str:
    """Validation MRR over seconds of training; nothing where there are not two of them."""
    points = [(one.seconds, one.metrics["mrr"]) for one in history if one.metrics]
    if len(points) < 2:
        return ""
    last, high = max(x for x, _ in points), max(y for _, y in points)
    across, up = (WIDTH - 2 * MARGIN) / (last or 1.0), (HEIGHT - 2 * MARGIN) / (high or 1.0)
    placed = [(MARGIN + x * across, HEIGHT - MARGIN - y * up) for x, y in points]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2"/>' for x, y in placed)
    floor = HEIGHT - MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        'fill="currentColor" stroke="currentColor" font-size="11" role="img">'
        "<title>validation MRR over seconds of training</title>"
        f'<path fill="none" stroke-opacity=".4" d="M{MARGIN},{MARGIN}V{floor}H{WIDTH - MARGIN}"/>'
        f'<polyline fill="none" stroke-width="1.5" points="{line}"/>{dots}'
        f'<g stroke="none"><text x="{MARGIN}" y="{MARGIN - 8}">valid MRR, up to {high:.3f}</text>'
        f'<text x="{WIDTH - MARGIN}" y="{HEIGHT - 8}" text-anchor="end">{last:.0f} s</text></g>'
        "</svg>"
    )

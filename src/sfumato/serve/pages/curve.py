"""The curve of error against spend as a small SVG whose points are links: it works without JavaScript."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from markupsafe import Markup

from sfumato.show.views import readable

WIDTH, HEIGHT, LEFT, BOTTOM = 420, 190, 64, 40


def curve_svg(points: Sequence[tuple[str, float]], here: str, link: Callable[[str], str], what: str = "") -> Markup:
    """Return the curve; `here` is the spend that is asked about, `link` the address of another one.

    `what` names the column whose error it is, where there are several.
    """
    known = [(spend, error) for spend, error in points if error > 0]
    if len(known) < 2:
        return Markup()
    logs = [math.log(error) for _, error in known]
    low, high = min(logs), max(logs)
    spread = high - low or 1.0
    places = []
    for number, ((spend, error), value) in enumerate(zip(known, logs, strict=True)):
        x = LEFT + (WIDTH - LEFT - 40) * number / (len(known) - 1)
        y = 22 + (HEIGHT - BOTTOM - 34) * (high - value) / spread
        places.append((x, y, spend, error))
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in places)
    parts = [
        f'<svg class="curve" viewBox="0 0 {WIDTH} {HEIGHT}" role="group" aria-label="Expected error against spend">',
        f'<text class="axis" x="8" y="14">error{f" of {escape(what[:40])}" if what else ""}</text>'
        f'<text class="axis" x="{WIDTH - 44}" y="{HEIGHT - 4}">spend</text>',
        f'<polyline class="line" points="{line}"/>',
    ]
    for x, y, spend, error in places:
        mark = "point here" if spend == here else "point"
        parts.append(
            f'<a href="{escape(link(spend))}"><circle class="{mark}" cx="{x:.1f}" '
            f'cy="{y:.1f}" r="7"/><text class="value" x="{x:.1f}" y="{y - 12:.1f}">±{readable(error, error)}</text>'
            f'<text class="spend" x="{x:.1f}" y="{HEIGHT - 20}">{escape(_short(spend))}</text></a>'
        )
    return Markup("".join([*parts, "</svg>"]))


def _short(spend: str) -> str:
    """Return the first number of a spend, as people read it."""
    inside = spend.partition("(")[2].partition(")")[0].split(",")[0]
    above, _, below = inside.partition("/")
    try:
        return readable(float(above) / float(below or 1))
    except ValueError:
        return inside

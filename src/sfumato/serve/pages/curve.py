"""The curve of error against spend as a small SVG whose points are links, and a slider below it that takes a spend.

Both work without JavaScript: points are links, and a button takes what the slider says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape

from markupsafe import Markup

from sfumato.errors import SfumatoError
from sfumato.ledger.largest import scaled
from sfumato.ledger.typed import read_bound
from sfumato.privacy import Bound
from sfumato.serve.foresight import as_typed
from sfumato.show.views import readable

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 420, 210, 64, 40, 44, 40
PERCENT = (25, 30, 35, 42, 50, 60, 70, 84, 100, 120, 140, 170, 200, 240, 280, 340, 400)
STEPS = tuple(Fraction(part, 100) for part in PERCENT)
"""Where the slider may stand: a quarter of a spend to four times as much, each about a fifth above the one before."""
MIDDLE = STEPS.index(Fraction(1))


@dataclass(frozen=True)
class Slider:
    """A spend as a step of a slider that lies around another one."""

    base: Bound
    step: int

    @property
    def text(self) -> str:
        """The spend in the middle, as it is typed."""
        return as_typed(self.base)

    @property
    def spends(self) -> list[str]:
        """The spend of every step, as it is typed."""
        return [as_typed(scaled(self.base, part)) for part in STEPS]

    @property
    def last(self) -> int:
        """The number of the last step."""
        return len(STEPS) - 1


def slider_of(base: str, spend: Bound) -> Slider:
    """Return where a spend stands on the slider around another one; without such a place it becomes the middle."""
    try:
        around = read_bound(base, "spend") if base else spend
    except SfumatoError:
        around = spend
    found = next((step for step, part in enumerate(STEPS) if scaled(around, part) == spend), None)
    return Slider(spend, MIDDLE) if found is None else Slider(around, found)


def slid(given: Mapping[str, str]) -> str:
    """Return the spend of a form: the typed one, or that of a slider that was moved since it was shown.

    With JavaScript the field follows the slider; without, only the slider's own number tells that it was moved.
    """
    typed, moved, shown = (given.get(name, "") for name in ("spend", "slide", "shown"))
    known = {str(step): step for step in range(len(STEPS))}
    if moved == shown or moved not in known or shown not in known:
        return typed
    try:
        spends = Slider(read_bound(given.get("base", ""), "spend"), known[moved]).spends
    except SfumatoError:
        return typed
    return spends[known[moved]] if typed == spends[known[shown]] else typed


def curve_svg(
    points: Sequence[tuple[str, float]], here: tuple[int, float] | None, link: Callable[[str], str], what: str = ""
) -> Markup:
    """Return the curve; `here` is the slider's step and the error there, `link` the address of another spend.

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
        x = LEFT + (WIDTH - LEFT - RIGHT) * number / (len(known) - 1)
        y = TOP + (HEIGHT - BOTTOM - TOP - 12) * (high - value) / spread
        places.append((x, y, spend, error))
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in places)
    parts = [
        f'<svg class="curve" viewBox="0 0 {WIDTH} {HEIGHT}" role="group" aria-label="Expected error against spend">',
        f'<text class="axis" x="8" y="14">error{f" of {escape(what[:40])}" if what else ""}</text>'
        f'<text class="axis" x="{WIDTH - 44}" y="{HEIGHT - 4}">spend</text>',
        f'<polyline class="line" points="{line}"/>',
    ]
    for x, y, spend, error in places:
        parts.append(
            f'<a href="{escape(link(spend))}"><circle class="point" cx="{x:.1f}" '
            f'cy="{y:.1f}" r="7"/><text class="value" x="{x:.1f}" y="{y - 12:.1f}">±{readable(error, error)}</text>'
            f'<text class="spend" x="{x:.1f}" y="{HEIGHT - 20}">{escape(_short(spend))}</text></a>'
        )
    if here is not None and here[1] > 0 and len(known) == len(points):
        x = LEFT + (WIDTH - LEFT - RIGHT) * here[0] / (len(STEPS) - 1)
        y = TOP + (HEIGHT - BOTTOM - TOP - 12) * min(1.0, max(0.0, (high - math.log(here[1])) / spread))
        parts.append(f'<circle class="here" cx="{x:.1f}" cy="{y:.1f}" r="7"/>')
    return Markup("".join([*parts, "</svg>"]))


def _short(spend: str) -> str:
    """Return the first number of a spend, as people read it."""
    inside = spend.partition("(")[2].partition(")")[0].split(",")[0]
    above, _, below = inside.partition("/")
    try:
        return readable(float(above) / float(below or 1))
    except ValueError:
        return inside

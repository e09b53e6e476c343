"""What a check found, and how it looks."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from sfumato import show
from sfumato.audit.divergences import Comparison
from sfumato.exact import Extended, Infinity
from sfumato.privacy import Attributes, Cost, Everything

_POINTS = 24


@dataclass(frozen=True)
class Finding:
    """One measured loss beside the claimed one.

    `measured` is a proved lower bound, so a finding above its claim is a broken promise, not a doubt.
    `outcomes` are the most telling values: an analyst who sees them bets on the first input.
    """

    measure: str
    at: Fraction | None
    measured: float
    claimed: Extended
    inputs: tuple[Any, Any]
    outcomes: tuple[Hashable, ...] = ()

    @property
    def broken(self) -> bool:
        """Whether the claim is refuted; compared exactly."""
        if isinstance(self.claimed, Infinity):
            return False
        return math.isinf(self.measured) or Fraction(self.measured) > self.claimed

    @property
    def ratio(self) -> float:
        """Measured over claimed; any loss at all is infinitely more than none."""
        if isinstance(self.claimed, Infinity):
            return 0.0
        if self.claimed == 0:
            return math.inf if self.measured > 0 else 0.0
        return self.measured / float(self.claimed)

    @property
    def where(self) -> str:
        """The measure and the order or epsilon at which it was taken."""
        if self.at is None:
            return self.measure
        return f"{self.measure} {'at epsilon' if self.measure == 'delta' else 'of order'} {float(self.at):.6g}"

    def __str__(self) -> str:
        seen = f", outcome {self.outcomes[0]!r}" if self.outcomes else ""
        return (
            f"{self.where}: {self.measured:.6g} where {float(self.claimed):.6g} is claimed ({self.ratio:.4g} times), "
            f"inputs {self.inputs[0]!r} | {self.inputs[1]!r}{seen}"
        )


@dataclass(frozen=True)
class Sight:
    """All findings on one ordered pair of inputs, and the comparison they came from."""

    changed: Attributes
    claim: Cost
    compared: Comparison
    findings: tuple[Finding, ...]
    worst: Finding
    """The finding nearest to its claim, or furthest beyond it, with the outcomes that show it."""


class Report:
    """Measured against claimed, over all pairs and both orders of each."""

    def __init__(self, sights: Iterable[Sight], name: str) -> None:
        self.name = name
        self.pairs: list[tuple[Attributes, Finding]] = []
        """For every ordered pair of inputs the attributes that changed and its worst finding."""
        self._worst: Sight | None = None
        for sight in sights:
            self._add(sight)

    def _add(self, sight: Sight) -> None:
        self.pairs.append((sight.changed, sight.worst))
        # Only the worst comparison is kept, for the picture: a law may have a hundred thousand outcomes.
        if self._worst is None or sight.worst.ratio > self._worst.worst.ratio:
            self._worst = sight

    @property
    def worst(self) -> Finding:
        """The finding nearest to its claim, or furthest beyond it."""
        return max((found for _, found in self.pairs), key=lambda found: found.ratio)

    @property
    def ok(self) -> bool:
        """Whether no claim is refuted."""
        return not any(found.broken for _, found in self.pairs)

    @property
    def reach(self) -> float:
        """The largest measured loss as a fraction of the claimed one; near 1 the claim is tight."""
        return self.worst.ratio

    @property
    def title(self) -> str:
        """What was found, in one sentence."""
        if self.ok:
            return f"{self.name} keeps its promise: {_percent(self.reach)} of the claimed loss is reached"
        return f"{self.name} breaks its promise: {self._excess()}"

    def _excess(self) -> str:
        """Say how far beyond its claim the worst finding lies."""
        if self.worst.claimed == 0:
            return "a loss where none is claimed"
        if math.isinf(self.reach):
            return "one input can give an outcome that the other never gives, which no finite loss allows"
        return f"{_beyond_one(self.reach)} times the claimed loss"

    def table(self) -> str:
        """Return the findings as text for a terminal, the worst first."""
        return self._table().text()

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return f"<{self.title}>"

    def _repr_html_(self) -> str:
        return show.html(self.title, [self._table(), self.picture()])

    def plot(self, path: str | Path) -> Path:
        """Write a picture of claimed against measured loss on the worst pair; SVG or PNG by the suffix."""
        return self.picture().save(path)

    def picture(self) -> show.Picture:
        """Return the picture: Rényi divergences, and delta at every epsilon, claimed and measured."""
        assert self._worst is not None
        return show.picture(self.title, _panels(self._worst))

    def _table(self) -> show.Table:
        rows = sorted(self.pairs, key=lambda pair: -pair[1].ratio)
        return show.table(
            self.title,
            ["inputs", "changed", "measure", "measured", "claimed", "ratio", "promise", "telling outcome"],
            [_row(changed, found) for changed, found in rows],
        )


def _row(changed: Attributes, found: Finding) -> list[str]:
    return [
        f"{found.inputs[0]!r} | {found.inputs[1]!r}",
        "whole record" if isinstance(changed, Everything) else ", ".join(sorted(changed)),
        found.where,
        f"{found.measured:.6g}",
        f"{float(found.claimed):.6g}",
        f"{found.ratio:.4f}",
        "broken" if found.broken else "kept",
        repr(found.outcomes[0]) if found.outcomes else "",
    ]


def _percent(fraction: float) -> str:
    """Round down, so that only what is reached is said to be."""
    return f"{math.floor(1000 * fraction) / 10:.1f} %"


def _panels(sight: Sight) -> list[show.Panel]:
    panels = []
    renyi = [found for found in sight.findings if found.measure == "Rényi divergence"]
    if renyi:
        panels.append(_renyi_panel(renyi))
    panels.append(_delta_panel(sight))
    return panels


def _renyi_panel(findings: list[Finding]) -> show.Panel:
    orders = [float(found.at or 0) for found in findings]
    return show.Panel(
        x_label="order of the Rényi divergence",
        y_label="loss (nats)",
        log_x=True,
        lines=(
            show.Line("claimed", orders, [float(found.claimed) for found in findings], "claim"),
            show.Line("measured", orders, [found.measured for found in findings], "measure"),
        ),
    )


def _delta_panel(sight: Sight) -> show.Panel:
    largest = sight.compared.max_divergence().lower
    stated = sight.claim.epsilon
    shown = [value for value in (largest, float(stated)) if math.isfinite(value) and value > 0]
    reach = 1.15 * (min(max(shown), 2 * min(shown)) if shown else 1.0)
    epsilons = [Fraction(reach * step / _POINTS).limit_denominator(1 << 20) for step in range(_POINTS + 1)]
    claimed = [float(sight.claim.delta_at(epsilon)) for epsilon in epsilons]
    measured = [sight.compared.hockey_stick(epsilon).lower for epsilon in epsilons]
    places = [float(epsilon) for epsilon in epsilons]
    return show.Panel(
        x_label="epsilon (nats)",
        y_label="delta",
        lines=(
            show.Line("claimed", places, claimed, "claim"),
            show.Line("measured", places, measured, "measure"),
        ),
    )


def _beyond_one(times: float) -> str:
    """Return a factor above 1 with the digits that show it.

    >>> _beyond_one(2.0571), _beyond_one(1.00098)
    ('2.06', '1.001')
    """
    digits = next((digits for digits in range(3, 16) if float(f"{times:.{digits}g}") > 1), 16)
    return f"{times:.{digits}g}"

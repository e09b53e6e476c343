"""What a question would cost and how wrong its answer would be, before anything is paid; from public facts alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.answer import Frame
from sfumato.answer.answer import USUAL
from sfumato.curator import Curator
from sfumato.curator.planning import planned
from sfumato.errors import SfumatoError
from sfumato.ledger.largest import scaled
from sfumato.ledger.typed import read_bound
from sfumato.ledger.wording import cost_text
from sfumato.privacy import Bound, Loss
from sfumato.serve.asked import Meant, planning
from sfumato.serve.cautions import heard
from sfumato.serve.desks import Desk
from sfumato.show.views import readable
from sfumato.table.measure import People, Totals
from sfumato.table.predicate import EVERY_ROW
from sfumato.table.statistics import Part, Power, sizes

PARTS = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
"""The spends of the curve, as parts of the one that is asked about."""
USUAL_PEOPLE = 1000
"""So many people are thought of where their number is private."""
RANKED = ("Quantiles", "Distribution")
FORESEEN = ("Count", "People", "Sum", "Mean", "Variance", "Histogram", "GroupBy")


@dataclass(frozen=True)
class Foreseen:
    """What a question would do."""

    loss: Loss
    fits: bool
    text: str
    needs_approval: bool
    error: float | None = None
    unit: str = ""
    """What the error rests on, for people."""
    medians: Mapping[str, float] = field(default_factory=dict)
    """Of a statement: the median size of the noise in every total."""
    cautions: tuple[str, ...] = ()
    """Why the answer will be poor, if that is known."""

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        return {
            "fits": self.fits,
            "text": self.text,
            "cost": cost_text(self.loss),
            "loss": self.loss.to_json(),
            "needs_approval": self.needs_approval,
            "expected_error": self.error,
            "median_noise": dict(self.medians),
            "rests_on": self.unit.strip(),
            "cautions": list(self.cautions),
        }


def foresee(desk: Desk, asked: Meant, name: str, error: bool = True) -> Foreseen:
    """Return what a question would cost somebody, whether it fits, and how far its noise would go."""
    with planning(), heard() as said:
        found = _foresee(desk, asked, name, error)
    return replace(found, cautions=tuple(said))


def _foresee(desk: Desk, asked: Meant, name: str, error: bool) -> Foreseen:
    desk.admit(name)
    loss = asked.loss(desk.front)
    if asked.spend is None:
        return Foreseen(loss, True, "It is public, so it is free.", False, 0.0, "")
    seen = desk.front.preview(asked.asked, asked.spend, analyst=name)
    wide, unit = _expected(desk.front, asked, asked.spend) if error else (None, "")
    stated = error and asked.statement is not None
    medians = desk.front.explain(asked.form.asked, asked.form.spend, analyst=name).noise if stated else {}
    return Foreseen(loss, seen.fits, seen.text, desk.needs_approval(asked), wide, unit, medians)


def curve(desk: Desk, asked: Meant) -> list[tuple[str, float]]:
    """Return the expected error at several spends around the one that is asked about."""
    if asked.spend is None:
        return []
    found = []
    for part in PARTS:
        spend = scaled(asked.spend, part)
        try:
            with planning():
                wide, _ = _expected(desk.front, asked, spend)
        except SfumatoError:
            continue
        if wide is not None:
            found.append((as_typed(spend), wide))
    return found


def as_typed(spend: Bound) -> str:
    """Return a spend as people type it, exactly: with fractions only where decimals would say something else."""
    text = str(spend)
    return text if read_bound(text) == spend else repr(spend)


def _expected(curator: Curator, asked: Meant, spend: Bound) -> tuple[float | None, str]:
    """Return half the width of the widest 95 % interval, if all groups were equally large, and its unit.

    Noise is drawn from a law that is known beforehand, so no row is needed: totals are as they would be for rows that
    lie in the middle of their columns.
    """
    if isinstance(asked.asked, list) or asked.kind not in FORESEEN:
        return None, ""
    question = asked.asked
    (prepared,) = planned(curator.basis, question, spend).prepared
    measure = prepared.gauge.measure
    if not isinstance(measure, (Totals, People)):
        return None, ""
    shape = sizes(prepared.gauge.schema, measure.keys)
    rows = max(1, (curator.basis.people or USUAL_PEOPLE) // math.prod(shape))
    parts = measure.parts if isinstance(measure, Totals) else (Part(),)
    totals = [rows if part.power in (Power.COUNT, Power.PRESENT) else 0 for part in parts]
    made: list[Any] = [np.full(shape, total, np.int64) if measure.keys else total for total in totals]
    released = prepared.finish(prepared.arrange(made))
    averaged = asked.kind in ("Mean", "Variance", "GroupBy") and (measure.keys or measure.where != EVERY_ROW)
    rests = " if all rows count and groups are equally large, and by more if fewer rows do" if averaged else ""
    return _half(question.interval(released, USUAL)), rests


def _half(between: Any) -> float | None:
    """Return half the width of an interval, of several the widest."""
    if isinstance(between, tuple):
        return None if between[0] is None else float(between[1] - between[0]) / 2
    if not isinstance(between, Frame):
        return None
    lows = [name for name in between.columns if name == "low" or name.endswith(", low")]
    widths = [
        float(high - low) / 2
        for name in lows
        for low, high in zip(between[name], between[name.removesuffix("low") + "high"], strict=True)
        if low is not None and high is not None
    ]
    return max(widths) if widths else None


def error_text(foreseen: Foreseen, asked: Meant) -> str:
    """Say how far the noise would go."""
    if foreseen.medians:
        listed = ", ".join(f"{name} {readable(size, size)}" for name, size in foreseen.medians.items())
        return f"Half of the time the noise moves a number by at most: {listed}."
    if foreseen.error is None and asked.kind in RANKED and not isinstance(asked.asked, list):
        return "Its error is one of rank, which rehearsing it on made-up rows shows."
    if foreseen.error is None:
        return "It is not known beforehand; the answer says it."
    if foreseen.error == 0:
        return "No noise is added."
    size = readable(foreseen.error, foreseen.error)
    return f"95 % of the time the noise moves it by at most {size}{foreseen.unit}."

"""How wrong an answer will be, before anything is paid: from public facts alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.answer import ErrorUnit, Frame, Released
from sfumato.show.views import readable
from sfumato.table.measure import People, Totals
from sfumato.table.predicate import EVERY_ROW
from sfumato.table.statistics import Part, Power, sizes

if TYPE_CHECKING:
    from sfumato.ask.prepared import Prepared
    from sfumato.ask.question import Question
    from sfumato.table.schema import Schema

USUAL = Fraction(95, 100)
USUAL_PEOPLE = 1000
"""So many people are thought of where their number is private."""


@dataclass(frozen=True)
class Expected:
    """An error that is expected 95 % of the time: in the unit of the value, or in rows that a rank is off."""

    size: float
    unit: ErrorUnit = "value"
    rests: str = ""
    """What it rests on, for people."""
    rows: int | None = None
    """How many rows there are at most, if that is public; a rank cannot be off by more."""
    told: str = ""
    """The whole sentence, where an error is no single size."""

    @property
    def text(self) -> str:
        """Say how far the noise will go."""
        if self.told:
            return self.told
        if not self.size:
            return "No noise is added."
        said = readable(self.size, self.size)
        if self.unit != "rank":
            return f"95 % of the time the noise moves it by at most {said}{self.rests}."
        of = "" if self.rows is None else f" of at most {self.rows:,}"
        return f"It is expected to be at most about {said} rows{of} off its rank, 95 % of the time{self.rests}."


def expected_of_totals(question: Question, prepared: Prepared, people: int | None) -> Expected | None:
    """Return half the width of the widest 95 % interval, if all groups were equally large; None of anything else.

    Noise is drawn from a law that is known beforehand, so no row is needed: totals are as they would be for one row of
    everybody, and of means also for as many as count, in the unit of the gauge, whose values are spread evenly around
    the middle of their columns.
    """
    measure = prepared.gauge.measure
    wide = _wide(question, prepared, people)
    if wide is None or not isinstance(measure, (Totals, People)):
        return None
    if not wide and not prepared.loss().person.is_zero:
        return Expected(wide, told="95 % of the time the noise does not move it at all.")
    if question.kind == "Sum" or all(part.power is Power.COUNT for part in _parts(measure)):
        return Expected(wide, "value")
    rows = prepared.gauge.rows
    full = _wide(question, prepared, people, rows) if rows > 1 else None
    return Expected(wide, "value", _assumed(prepared, measure, people, full))


def _wide(question: Question, prepared: Prepared, people: int | None, each: int = 1) -> float | None:
    """Return half the widest 95 % interval of a typical release, where everybody has so many rows."""
    released = typical_release(prepared, people, each)
    return None if released is None else _half(question.interval(released, USUAL))


def _assumed(prepared: Prepared, measure: Totals | People, people: int | None, full: float | None) -> str:
    """Say for how many rows the error of a mean is foreseen, where that is not public; `full` is that of most rows."""
    rows, groups = prepared.gauge.rows, math.prod(sizes(prepared.gauge.schema, measure.keys))
    said = [f"there are {USUAL_PEOPLE:,} people"] if people is None else []
    said += ["everybody has one row"] if rows > 1 else []
    said += ["all rows count"] if measure.keys or measure.where != EVERY_ROW else []
    said += [f"all {groups:,} groups are equally large"] if measure.keys else []
    if not said:
        return ""
    listed = " and ".join([", ".join(said[:-1]), said[-1]] if len(said) > 1 else said)
    most = f"up to {rows} count" if full is None else f"by at most {readable(full, full)} if all have {rows}"
    fewer = f"by less if people have more rows ({most}), and by more if fewer rows do" if rows > 1 else ""
    return f" if {listed}, {fewer or 'and by more if fewer rows do'}"


def typical_release(prepared: Prepared, people: int | None, each: int = 1) -> Released | None:
    """Return what would be released without noise if all groups were equally large; None of anything but totals.

    `each` is how many rows everybody has.
    """
    gauge = prepared.gauge
    measure = gauge.measure
    if not isinstance(measure, (Totals, People)):
        return None
    shape = sizes(gauge.schema, measure.keys)
    rows = max(1, (people or USUAL_PEOPLE) * each // math.prod(shape)) * gauge.rule.scale
    totals = [int(rows * _typical(part, gauge.schema)) for part in _parts(measure)]
    made: list[Any] = [np.full(shape, total, _form(total)) if measure.keys else total for total in totals]
    return prepared.finish(prepared.arrange(made))


def _parts(measure: Totals | People) -> tuple[Part, ...]:
    return measure.parts if isinstance(measure, Totals) else (Part(),)


def _form(total: int) -> type:
    """Return in which form a total is held: squares of a wide column pass 64 bits."""
    return np.int64 if total < 2**63 else object


def _typical(part: Part, schema: Schema) -> Fraction:
    """Return what a row adds to a total on average, where values are spread evenly around the middle."""
    if part.power in (Power.COUNT, Power.PRESENT):
        return Fraction(1)
    if part.power is Power.SUM:
        return Fraction(0)
    domain = schema.domain(part.column or "")
    return Fraction(((domain.highest or 0) - domain.first) ** 2, 12)  # the variance of an even spread


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

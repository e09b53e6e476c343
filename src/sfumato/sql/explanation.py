"""EXPLAIN: what a statement reads, what it costs, and how far its noise goes, from public facts and for nothing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.answer import Released
from sfumato.answer.measured import NoisyPart
from sfumato.ask.asked import Asked
from sfumato.ask.prepared import Prepared
from sfumato.errors import SfumatoError
from sfumato.privacy import Bound
from sfumato.show.views import View, Viewed, readable
from sfumato.sql.select import Made, Select, compiled
from sfumato.sql.statement import Statement
from sfumato.table.measure import Boxed, Found, FoundBoxes, Ordered, People, Totals
from sfumato.table.statistics import sizes

HALF = Fraction(1, 2)
CLAMPS = "LEAST and GREATEST keep a missing value missing, as the CASE above says; engines differ in this."


@dataclass(frozen=True, repr=False)
class Explanation(Viewed):
    """What a statement would do: lines for people, and the same facts by name."""

    sql: str
    reads: tuple[str, ...]
    costs: dict[str, str]
    noise: dict[str, float]
    """The median size of the noise in every released total, by what it is of."""
    rules: tuple[str, ...]
    free: tuple[str, ...]
    fits: str | None = None
    stored: bool = False
    """Whether it was paid for before, so that asking again charges nothing."""
    weighed: dict[str, float] = field(default_factory=dict)
    """The median noise that totals with bounds would have without them, from weighed rows."""
    ranks: dict[str, float] = field(default_factory=dict)
    """By how many ranks each quantile is expected to be off at most, 95 % of the time."""

    def view(self) -> View:
        """Return the explanation for people."""
        lines = [f"Asked of the data: {self.sql}"]
        lines.append(f"It reads {', '.join(self.reads) or 'no attribute'}.")
        costs = "The stored answer cost" if self.stored else "It costs"
        lines += [f"{costs} {name} {cost}." for name, cost in self.costs.items()]
        lines += [f"Median noise of {name}: {size:.6g}{self._beside(name)}." for name, size in self.noise.items()]
        lines += [
            f"{name} is expected to be at most about {readable(size, size)} rows off its rank, 95 % of the time."
            for name, size in self.ranks.items()
        ]
        lines += self.rules
        if self.free:
            lines.append(f"Computed from released numbers, free: {', '.join(self.free)}.")
        if self.fits is not None:
            lines.append(self.fits)
        return View("Explain", (), tuple(lines))

    def _beside(self, name: str) -> str:
        """Say what the noise would be without bounds."""
        return f"; without bounds, of weighed rows: {self.weighed[name]:.6g}" if name in self.weighed else ""

    def __repr__(self) -> str:
        return str(self)


def explained(
    statement: Statement, asked: Asked, fits: str | None, stored: bool = False, spend: Bound | None = None
) -> Explanation:
    """Return the explanation of a statement that was planned; `spend` is that of the whole statement."""
    loss = asked.loss()
    attributes = sorted({name for one in asked.prepared for name in one.gauge.attributes})
    named = sorted(loss.profile.names()) if not loss.person.is_zero else []
    costs = {"a person": str(loss.person)} | {name: str(loss.at(name)) for name in named}
    share = None if spend is None else spend.split(max(1, sum(not one.loss().person.is_zero for one in asked.prepared)))
    noise: dict[str, float] = {}
    weighed: dict[str, float] = {}
    ranks: dict[str, float] = {}
    more: list[str] = []
    for select, prepared in zip(statement.selects, asked.prepared, strict=True):
        made = Made.of(select.statement, statement.database)
        parts = _parts(prepared)
        noise |= {_shown(part.name, made): float(part.width(HALF)) for part in parts}
        more += [_found(part) for part in parts if part.threshold is not None]
        if share is not None and not prepared.loss().person.is_zero:
            weighed |= _without_bounds(select, statement, prepared, share)
            ranks |= _ranks(made, prepared, share)
    more += [CLAMPS] if statement.clamped else []
    rules = tuple(dict.fromkeys([*(rule for one in asked.prepared for rule in one.notes()), *more]))
    free, reads = _free(statement), tuple(attributes)
    return Explanation(statement.sql, reads, costs, noise, rules, free, fits, stored, weighed=weighed, ranks=ranks)


def _found(part: NoisyPart) -> str:
    """Say from how many people on a group is found."""
    return (
        f"Groups are found whose number of people, with its noise, is at least {part.threshold}; others stay unknown."
    )


def _ranks(made: Made, prepared: Prepared, spend: Bound) -> dict[str, float]:
    """Return how far quantiles are expected to be off, from public numbers alone."""
    if made.kind != "quantiles":
        return {}
    return dict.fromkeys(made.texts, float(made.expected_rank_error(prepared.gauge.basis, spend)))


def _without_bounds(select: Select, statement: Statement, prepared: Prepared, spend: Bound) -> dict[str, float]:
    """Return the median noise that clamped totals would have as totals of weighed rows, where they can be had so."""
    plan = compiled(select.statement, statement.database)
    clamped = [total for total in plan.totals if total.bounds is not None]
    if plan.flat.everybody or not clamped:
        return {}
    basis = replace(prepared.gauge.basis, schema=statement.database)  # type: ignore[arg-type]
    found = {}
    for total in clamped:
        plain = replace(plan, totals=(replace(total, bounds=None),), groups=None)
        try:
            made = Select(plain.text()).prepare(basis, spend.split(sum(one.boxed for one in plan.totals)))
        except SfumatoError:
            continue  # the values of a row may be too large to be weighed
        found[total.text] = max(float(part.width(HALF)) for part in _parts(made))
    return found


def _parts(prepared: Prepared) -> tuple[NoisyPart, ...]:
    """Return the totals that would be released, with the laws of their noise; no data are read, all numbers are 0."""
    measure = prepared.gauge.measure
    if isinstance(measure, (Found, FoundBoxes)):
        totals = measure.parts[1:] if isinstance(measure, Found) else measure.boxes
        nothing = [np.zeros(0, np.int64) for _ in totals]
        return prepared.finish(((), (), *nothing)).parts
    if isinstance(measure, Ordered) or not isinstance(measure, (Totals, People, Boxed)):
        return ()
    shape = sizes(prepared.gauge.schema, measure.keys)
    count = len(measure.parts) if isinstance(measure, Totals) else 1
    count = len(measure.boxes) if isinstance(measure, Boxed) else count
    zeros: list[Any] = [np.zeros(shape, np.int64) if measure.keys else 0 for _ in range(count)]
    released: Released = prepared.finish(prepared.arrange(zeros))
    return released.parts


def _shown(name: str, made: Made) -> str:
    for column, value in made.schema.values.items():
        name = name.replace(column, value.text) if name.endswith(column) else name
    return name


def _free(statement: Statement) -> tuple[str, ...]:
    select = statement.private
    found = ["arithmetic of aggregates"] if len(select.items) > len(statement.plan.keys) + len(statement.texts) else []
    found += ["HAVING"] if select.having is not None else []
    found += ["ORDER BY"] if select.order else []
    found += ["LIMIT"] if select.limit is not None else []
    return (*found, *(["the outer SELECT"] if statement.parsed.select is not select else []))

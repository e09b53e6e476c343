"""EXPLAIN: what a statement reads, what it costs, and how far its noise goes, from public facts and for nothing."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.answer import Released
from sfumato.answer.measured import NoisyPart
from sfumato.ask.asked import Asked
from sfumato.ask.prepared import Prepared
from sfumato.show.views import View, Viewed
from sfumato.sql.select import Made
from sfumato.sql.statement import Statement
from sfumato.table.measure import Boxed, Ordered, People, Totals
from sfumato.table.statistics import sizes

HALF = Fraction(1, 2)


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

    def view(self) -> View:
        """Return the explanation for people."""
        lines = [f"Asked of the data: {self.sql}"]
        lines.append(f"It reads {', '.join(self.reads) or 'no attribute'}.")
        costs = "The stored answer cost" if self.stored else "It costs"
        lines += [f"{costs} {name} {cost}." for name, cost in self.costs.items()]
        lines += [f"Median noise of {name}: {size:.6g}." for name, size in self.noise.items()]
        lines += self.rules
        if self.free:
            lines.append(f"Computed from released numbers, free: {', '.join(self.free)}.")
        if self.fits is not None:
            lines.append(self.fits)
        return View("Explain", (), tuple(lines))

    def __repr__(self) -> str:
        return str(self)


def explained(statement: Statement, asked: Asked, fits: str | None, stored: bool = False) -> Explanation:
    """Return the explanation of a statement that was planned."""
    loss = asked.loss()
    attributes = sorted({name for one in asked.prepared for name in one.gauge.attributes})
    named = sorted(loss.profile.names()) if not loss.person.is_zero else []
    costs = {"a person": str(loss.person)} | {name: str(loss.at(name)) for name in named}
    noise: dict[str, float] = {}
    for select, prepared in zip(statement.selects, asked.prepared, strict=True):
        made = Made.of(select.statement, statement.database)
        noise |= {_shown(part.name, made): float(part.width(HALF)) for part in _parts(prepared)}
    rules = tuple(dict.fromkeys(rule for one in asked.prepared for rule in one.notes()))
    return Explanation(statement.sql, tuple(attributes), costs, noise, rules, _free(statement), fits, stored)


def _parts(prepared: Prepared) -> tuple[NoisyPart, ...]:
    """Return the totals that would be released, with the laws of their noise; no data are read, all numbers are 0."""
    measure = prepared.gauge.measure
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

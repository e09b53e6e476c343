"""The question of a few queries answered with noise of their own shape."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.answer import Frame, NoisyPart, Released
from sfumato.ask.prepared import Prepared
from sfumato.ask.question import Question
from sfumato.errors import ParameterError, UnsupportedSpend
from sfumato.papers.query_release.geometry.build import METHODS, Shapes, shaped
from sfumato.papers.query_release.geometry.choose import choose_additive, floor_under
from sfumato.papers.query_release.geometry.shaped import predicted
from sfumato.privacy import Bound, Pure
from sfumato.questions.queries.question import Queries
from sfumato.table.gauge import Basis, Gauge
from sfumato.table.measure import Distinct, Rows
from sfumato.table.schema import Schema
from sfumato.words import one_of
from sfumato.workload.floors import Beside, beside_shape
from sfumato.workload.records import Records
from sfumato.workload.space import Space
from sfumato.workload.workload import Workload

SIMULATED = 4000
"""Public draws of the noise from which the ends of intervals are read."""

STEPS = 1024
"""Answers put together from several levels are no whole numbers; they are kept in such parts of one."""

LARGEST = 2**50
"""More than any table counts: what noise moves beyond it stays there."""

LEVELS = (*(Fraction(step, 100) for step in range(50, 100)), Fraction(995, 1000), Fraction(998, 1000))
"""The confidences for which ends are kept; one between two of them takes the wider ends."""


@dataclass(frozen=True)
class Shaped(Question):
    """A few queries with pure noise in the shape of what one person can move (QR-KNORM, QR-ENORM, QR-NIKM).

    `method="auto"` takes the shape with the smallest predicted error, which public facts decide. The value is a table
    with one row for each query; the answer's `notes` say how far its error is from the best possible. For up to about 7
    independent queries; `Queries` takes any number, and other spends.

    >>> from sfumato.domain import booleans
    >>> from sfumato.workload.builders import conjunctions
    >>> schema = Schema({"smokes": booleans(), "drinks": booleans(), "sleeps": booleans()})
    >>> Shaped(conjunctions(schema, width=2)).method
    'auto'
    """

    kind: ClassVar[str] = "Shaped"
    workload: Workload
    method: str = "auto"

    def __post_init__(self) -> None:
        Queries(self.workload)  # refuses what is no workload, or too large a one
        methods = ("auto", *METHODS, "recursive")
        one_of("method", self.method, methods)

    def canonical(self, schema: Schema) -> Self:
        """Refuse a workload that was made for another schema."""
        Queries(self.workload).canonical(schema)
        return self

    def plan(self, basis: Basis, spend: Bound) -> Prepared:
        """Prepare the noise, and the widths of its intervals, from public facts."""
        workload, space = self.workload, Space.of(basis.schema, self.workload.columns)
        gauge = basis.gauge(Rows(space.names))
        if gauge.rows != 1:
            raise UnsupportedSpend(
                "Shaped noise is for one row a person; write rows_per_person=1 in the schema, or ask Queries(workload)."
            )
        mechanism, beside = self._mechanism(gauge, gauge.priced(spend))
        made = {"widths": _widths(mechanism), **beside.made()}

        def arrange(found: Distinct) -> NDArray[np.int64]:
            return np.concatenate(workload.answers(Records.of(space, found)))

        def finish(raw: Any) -> Released:
            steps, ends = (1 if raw.dtype.kind == "i" else STEPS), np.cumsum([b.queries for b in workload.blocks])[:-1]
            whole = np.rint(np.clip(raw, -LARGEST, LARGEST) * steps).astype(np.int64)
            parts = tuple(
                NoisyPart(f"block {place}", tuple(found.tolist()), None, Fraction(1, steps * block.denominator))
                for place, (block, found) in enumerate(zip(workload.blocks, np.split(whole, ends), strict=True))
            )
            return Released(parts, made=made)

        return Prepared(gauge, mechanism, finish, arrange)

    def _mechanism(self, gauge: Gauge, spend: Bound) -> tuple[Shapes, Beside]:
        """Return the noise, and what no pure mechanism can beat beside its error."""
        people = gauge.total
        if self.method == "auto":
            choice = choose_additive(self.workload, spend, relation=gauge.relation, people=people)
            mechanism, floor, mean = choice.mechanism, choice.floor, choice.best.predicted.mean
        else:
            mechanism = shaped(self.workload, spend, relation=gauge.relation, method=self.method, people=people)
            floor, mean = floor_under(mechanism, spend), predicted(mechanism.simulate(SIMULATED)).mean
        assert isinstance(spend, Pure)  # other spends were refused
        return mechanism, beside_shape(self.workload, gauge, spend, floor, mean)

    def value(self, released: Released) -> Frame:
        """Return one row for each query: the block, the cell, the noisy value."""
        values = [float(value) for part in released.parts for value in part.values()]
        return self._frame({"value": values})

    def interval(self, released: Released, confidence: Fraction) -> Frame:
        """Return low and high ends, from public draws of the same noise."""
        if confidence > LEVELS[-1]:
            raise ParameterError(f"Intervals of shaped noise are kept up to a confidence of {float(LEVELS[-1])}.")
        widths = released.made["widths"][bisect_left(LEVELS, confidence)]
        units = [1 / block.denominator for block in self.workload.blocks for _ in range(block.queries)]
        values = [float(value) for part in released.parts for value in part.values()]
        half = [width * unit for width, unit in zip(widths, units, strict=True)]
        low = [value - one for value, one in zip(values, half, strict=True)]
        return self._frame({"low": low, "high": [value + one for value, one in zip(values, half, strict=True)]})

    def separate_intervals(self, released: Released) -> int:
        """Every query has its own."""
        return self.workload.queries

    def _frame(self, columns: dict[str, list[float]]) -> Frame:
        space, blocks = self.workload.space, self.workload.blocks
        labels = [(block, label) for block in blocks for label in block.labels(space)]
        keys = {
            "table": tuple(" × ".join(block.columns) for block, _ in labels),
            "cell": tuple(", ".join(map(str, label)) for _, label in labels),
        }
        return Frame(("table", "cell"), {**keys, **{name: tuple(column) for name, column in columns.items()}})


def _widths(mechanism: Shapes) -> list[list[int]]:
    """Return for each level the half-width of every query, one step wider than what was simulated."""
    drawn = np.abs(mechanism.simulate(SIMULATED))
    found = np.quantile(drawn, [float(level) for level in LEVELS], axis=0, method="higher")
    return [[int(width) + 1 if width else 0 for width in row] for row in found]

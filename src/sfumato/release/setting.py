"""The public facts that a question is prepared from, and what preparing gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from sfumato.answer import Released
from sfumato.mechanism import Mechanism
from sfumato.noise import Law, Noise
from sfumato.perturb import calibrate
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Bound, Cost, Loss, Relation
from sfumato.privacy.calibrate import LaplaceParameters, choose
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.table.bounding import Bounding, Way
from sfumato.table.predicate import EVERY_ROW, Predicate
from sfumato.table.predicate import columns as predicate_columns
from sfumato.table.schema import Schema
from sfumato.table.sensitivity import table_sensitivity
from sfumato.table.statistics import COUNT, Measure
from sfumato.table.view import View

FINEST = 20
"""Noise is drawn on a grid of about 2^-20 of its own width: finer steps would show nothing but noise."""


@dataclass(frozen=True)
class Setting:
    """What everybody may know before a question is asked: schema, number of people, rule, relation."""

    schema: Schema
    people: int
    rule: Bounding
    relation: Relation = REPLACE_ONE

    @property
    def counted(self) -> bool:
        """Whether the number of rows is the public number of people: one row a person, nobody left out."""
        return self.rule.rows == 1 and self.relation is REPLACE_ONE

    def picking(self) -> Setting:
        """Return the setting in which rows are picked, for questions that need whole rows."""
        if self.rule.way is Way.ROWS:
            return self
        return replace(self, rule=replace(self.rule, way=Way.PICK, scale=1))


@dataclass(frozen=True)
class Prepared:
    """A question made ready from public facts: what it reads, what it runs, how it reads what comes out."""

    columns: frozenset[str]
    mechanism: Mechanism
    read: Callable[[View], Any]
    finish: Callable[[Any], Released]
    way: Way | None = None


@dataclass(frozen=True, kw_only=True)
class Exact(Mechanism):
    """Returns what it is given: for numbers that do not depend on anybody."""

    spec: ClassVar[str] = "PDP:C-11"

    def loss(self) -> Loss:
        """Return no loss at all."""
        return Loss.flat(Cost.zero(), self.reads, self.relation)

    def run(self, exact: Any, noise: Noise) -> Any:
        """Return the input."""
        return exact


@dataclass(frozen=True, kw_only=True)
class Several(Mechanism):
    """Runs several mechanisms, each on its own input with its own draws; losses add up (PDP:C-7, C-10)."""

    spec: ClassVar[str] = "PDP:C-7"

    mechanisms: tuple[Mechanism, ...]

    def loss(self) -> Loss:
        """Return the sum of the losses."""
        total = self.mechanisms[0].loss()
        for mechanism in self.mechanisms[1:]:
            total = total + mechanism.loss()
        return total

    def run(self, exact: Sequence[Any], noise: Noise) -> tuple[Any, ...]:
        """Run each on its own input."""
        return tuple(mechanism.run(part, noise) for mechanism, part in zip(self.mechanisms, exact, strict=True))


@dataclass(frozen=True)
class Total:
    """One total that will be released with noise: its mechanism, the grid it is rounded to, its unit.

    `public` is the total itself where everybody knows it.
    """

    mechanism: Mechanism
    law: Law | None
    grid: int
    unit: Fraction
    public: int | None = None

    def rounded(self, exact: Any) -> Any:
        """Round integers to the grid, upwards from the half; never half to even."""
        if self.public is not None:
            return self.public
        if self.grid == 1:
            return exact
        half = self.grid // 2
        if isinstance(exact, np.ndarray):
            return (exact + half) // self.grid
        return (int(exact) + half) // self.grid


def noisy_total(
    setting: Setting,
    spend: Bound,
    measure: Measure,
    *,
    keys: Sequence[str],
    where: Predicate,
    step: Fraction = Fraction(1),
    draws: int = 1,
) -> Total:
    """Return the mechanism for one total: sensitivities from the table, noise from the spend, a grid from both."""
    columns = {*keys, *predicate_columns(where), *([measure.column] if measure.column else [])}
    reads = _reads(setting, columns)
    if measure == COUNT and not keys and where == EVERY_ROW and setting.counted:
        return Total(Exact(relation=setting.relation), None, 1, Fraction(1), public=setting.people)
    person = _moves(setting, measure, keys, where, EVERYTHING)
    unit = step / setting.rule.scale
    if person.l1 == 0:
        return Total(Exact(relation=setting.relation, reads=reads), None, 1, unit)
    singles: dict[str, Sensitivity] = {}
    if setting.relation is REPLACE_ONE and reads:
        singles = {name: _moves(setting, measure, keys, where, name) for name in sorted(reads)}
    grid = _grid(spend, person, singles, draws)
    coarse = {name: moves.coarser(grid) if moves.l1 else moves for name, moves in singles.items()}
    mechanism = calibrate(
        spend,
        person.coarser(grid),
        by_attribute=coarse or None,
        draws=draws,
        relation=setting.relation,
        # No attribute is read, and yet a person moves it, by the number of their rows: then all are charged.
        reads=reads or EVERYTHING,
    )
    return Total(mechanism, mechanism.law, grid, unit * grid)


def _grid(spend: Bound, person: Sensitivity, singles: dict[str, Sensitivity], draws: int) -> int:
    """Return a power of two well below the width of the noise: finer steps would show nothing but noise."""
    moves = person if spend.unit == "person" or not singles else reduce(Sensitivity.cover, singles.values())
    found = choose(spend, moves, draws)
    width = found.scale if isinstance(found, LaplaceParameters) else math.isqrt(int(found.variance))
    return 1 << max(0, int(width).bit_length() - 1 - FINEST)


def _reads(setting: Setting, columns: set[str]) -> frozenset[str]:
    # Picked rows are ordered by all of their contents, so every attribute is read.
    return frozenset(setting.schema.attributes) if setting.rule.way is Way.PICK else setting.schema.reads(columns)


def _moves(setting: Setting, measure: Measure, keys: Sequence[str], where: Predicate, changing: Any) -> Sensitivity:
    return table_sensitivity(
        setting.schema,
        setting.rule,
        keys=keys,
        measure=measure,
        where=where,
        relation=setting.relation,
        changing=changing,
    )

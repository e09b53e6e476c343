"""From facts to stacks: the tables of each group, their shares, and noise so wide that all of them cost the amount."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from sfumato.errors import CertificationError, UnsupportedSpend
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Priced, RoundedNormal
from sfumato.noise.laws.base import LARGEST_SCALE, SMALLEST_SCALE
from sfumato.privacy import Bound
from sfumato.privacy.calibrate import WIDE
from sfumato.questions.synthesis.shares import short_up
from sfumato.table.gauge import Gauge
from sfumato.totals.tables.contrasts import squared_scale
from sfumato.totals.tables.parts import Columns, Part
from sfumato.totals.tables.stack import TableStack
from sfumato.workload.space import Space

TOTAL_SHARE = 0.03
"""The part of a spend that buys the number of rows where it is not public and everything is measured at once."""


@dataclass(frozen=True)
class SynthesisFacts:
    """What a design is made from: the columns, the pairs that matter, whether triples do, the gauge, the noise."""

    space: Space
    pairs: tuple[Columns, ...]
    triples: bool
    gauge: Gauge
    rounded: bool = False
    kept: Fraction = Fraction(1)
    """The part of the spend that buys tables; the rest buys a check."""

    @property
    def gaussians(self) -> str:
        """The kind of Gaussian noise that the ledger was made for; `rounded` where its charge is the spend."""
        return "rounded" if self.rounded else self.gauge.gaussians

    def gaussian(self, variance: Fraction) -> Priced:
        """Return Gaussian noise of that kind."""
        rounds = self.gaussians == "rounded" or (self.gaussians == "wide" and variance >= WIDE)
        return RoundedNormal(variance) if rounds else DiscreteGaussian(variance)

    @property
    def total(self) -> int | None:
        """The number of rows where it is public."""
        return self.gauge.total

    @property
    def bits(self) -> tuple[int, ...]:
        """The columns of two codes."""
        return tuple(place for place, size in enumerate(self.space.sizes) if size == 2)

    @property
    def wide(self) -> tuple[int, ...]:
        """The columns that have more than one code; the others say nothing."""
        return tuple(place for place, size in enumerate(self.space.sizes) if size > 1)


Groups = dict[str, list[tuple[Columns, bool]]]
"""Tables by what they are for: the columns of each, and whether its contrasts are measured."""


def tables_of(facts: SynthesisFacts, centred: Callable[[Columns], bool]) -> Groups:
    """Return the tables of one and two columns, and the number of rows where it must be bought."""
    groups: Groups = {"total": [], "ones": [((place,), centred((place,))) for place in facts.wide]}
    groups["pairs"] = [(pair, centred(pair)) for pair in facts.pairs]
    plain = any(not one for _, one in groups["ones"])
    # Plain one-way tables add up to the number of rows, so that it need not be bought again.
    if facts.total is None and not plain:
        groups["total"] = [((), False)]
    return {name: tables for name, tables in groups.items() if tables}


def shares_of(groups: Groups, ones: float) -> dict[str, float]:
    """Return what part of the spend each group of tables gets."""
    alone = 1.0 if "pairs" not in groups else ones
    total = TOTAL_SHARE if "total" in groups else 0.0
    shares = {"total": total, "ones": (1 - total) * alone, "pairs": (1 - total) * (1 - alone)}
    return {name: shares[name] for name in groups}


def part_of(facts: SynthesisFacts, columns: Columns, centred: bool, pure: bool, width: Fraction) -> Part:
    """Return a table whose centred cells all have the same noise; `width` is a scale or the variance of a cell."""
    sizes = tuple(facts.space.sizes[place] for place in columns)
    scale = math.prod(squared_scale(size) for size in sizes) if centred and not pure else 1
    if width * scale > (LARGEST_SCALE if pure else LARGEST_SCALE**2):
        raise UnsupportedSpend(
            "The spend is so small that the noise of its tables is wider than what can be drawn; spend more, choose "
            "fewer columns, or derive coarser bins."
        )
    return Part(columns, sizes, centred, DiscreteLaplace(width) if pure else facts.gaussian(width * scale))


def stack_of(
    facts: SynthesisFacts,
    groups: Groups,
    shares: dict[str, float],
    amount: Fraction,
    spend: Bound,
    *,
    pure: bool = False,
) -> TableStack:
    """Return the tables with noise in proportion to their shares, scaled so that all of them cost the amount."""

    def build(widths: dict[str, Fraction]) -> TableStack:
        parts = tuple(
            part_of(facts, columns, centred, pure, widths[name])
            for name, tables in groups.items()
            for columns, centred in tables
        )
        return TableStack(
            parts=parts,
            shown=facts.space.attributes,
            rows=facts.gauge.rows,
            relation=facts.gauge.relation,
            reads=facts.gauge.charged,
        )

    def price(stack: TableStack) -> Fraction:
        if spend.unit == "person":
            return stack.person_price
        known = stack.attribute_prices
        return max(known.values(), default=stack.person_price)

    unit = {name: price(_alone(build, groups, name)) for name in groups}
    relative = {
        name: short_up(Fraction(unit[name] / Fraction(shares[name]).limit_denominator(10**6))) for name in groups
    }
    rough = price(build(relative))
    least = SMALLEST_SCALE if pure else SMALLEST_SCALE**2
    stack = build({name: max(short_up(width * rough / amount), least) for name, width in relative.items()})
    if price(stack) > amount:
        raise CertificationError("The noise found for these tables does not provably fit the spend; please report it.")
    return stack


def _alone(build: Callable[[dict[str, Fraction]], TableStack], groups: Groups, name: str) -> TableStack:
    """Return the tables of one group with unit noise, to see what they cost."""
    whole = build(dict.fromkeys(groups, Fraction(1)))
    wanted = {columns for columns, _ in groups[name]}
    return replace(whole, parts=tuple(part for part in whole.parts if part.columns in wanted))

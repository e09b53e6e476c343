"""Which tables are measured, and with how much noise: from the spend, sizes and public facts, never from data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

from sfumato.errors import CertificationError, UnsupportedSpend
from sfumato.noise import DiscreteGaussian, DiscreteLaplace
from sfumato.noise.laws.base import LARGEST_SCALE, SMALLEST_SCALE
from sfumato.privacy import REPLACE_ONE, Approximate, Bound, Concentrated, Pure, Truncated
from sfumato.privacy.calibrate import concentrated_within
from sfumato.release.setting import Setting
from sfumato.release.synthesis.adaptive import ChosenTables
from sfumato.release.synthesis.contrasts import squared_scale
from sfumato.release.synthesis.fit import is_dense
from sfumato.release.synthesis.parts import Columns, Part
from sfumato.release.synthesis.shares import ones_share, root_down, short_up
from sfumato.release.synthesis.stack import TableStack
from sfumato.release.workload.space import Space

TOTAL_SHARE = 0.03
"""The part of a spend that buys the number of rows where it is not public."""

CHOSEN_SHARE, CHOOSING_SHARE, MOST_CHOSEN = 0.4, 0.3, 40
"""Of a Gaussian spend: what goes to chosen triples of bits, what of that goes to choosing, how many there are."""

DROWNED = Fraction(1, 100)
"""Chosen triples pay where their deviation is at most this part of all people; they did at 0.003, not at 0.02."""

DROWNED_FEW = Fraction(3, 100)
"""All triples of few columns pay earlier: pairs have little noise there, and no choice is bought."""

FAINT, FAINT_ONES = 60, 0.3
"""With fewer than so many people for each unit of noise pairs say little, and one-way tables get this share."""

PURE_ONES, PURE_CHOOSING, PAIRS_A_COLUMN = 0.1, 0.2, 2
"""Of a pure spend: what goes to one-way tables, what of the rest to choosing pairs, and how many are chosen."""

PARITY_ONES = 0.7
"""Laplace noise grows with the number of parities, not with its root: one-way ones get this part of their share."""


@dataclass(frozen=True)
class Facts:
    """What a design is made from: the columns, the pairs that matter, whether triples do, the setting."""

    space: Space
    pairs: tuple[Columns, ...]
    triples: bool
    setting: Setting

    @property
    def total(self) -> int | None:
        """The number of rows where it is public."""
        return self.setting.people if self.setting.counted else None

    @property
    def bits(self) -> tuple[int, ...]:
        """The columns of two codes."""
        return tuple(place for place, size in enumerate(self.space.sizes) if size == 2)

    @property
    def wide(self) -> tuple[int, ...]:
        """The columns that have more than one code; the others say nothing."""
        return tuple(place for place, size in enumerate(self.space.sizes) if size > 1)


Release = TableStack | ChosenTables
Groups = dict[str, list[tuple[Columns, bool]]]
"""Tables by what they are for: the columns of each, and whether its contrasts are measured."""


def design(facts: Facts, spend: Bound) -> Release:
    """Return the release for a spend.

    Pure: Laplace noise on parities of bits, or on plain tables, the pairs being chosen where they are many.
    Concentrated and Truncated: Gaussian noise on contrasts of all one- and two-way tables, and, where bits are few
    enough to hold all cells, on chosen triples. Approximate: the one of both whose predicted noise is smaller.
    """
    match spend:
        case Pure():
            return _laplace(facts, spend.epsilon, spend)
        case Concentrated() | Truncated():
            return _gaussian(facts, _positive(spend, spend.rho), spend)
        case Approximate():
            rho = concentrated_within(_positive(spend, spend.epsilon), spend.delta)
            smooth = _gaussian(facts, rho, spend)
            plain = _laplace(facts, spend.epsilon, spend)
            # Chosen pairs are fewer than all pairs, so that their noise does not compare.
            choosing = isinstance(plain, ChosenTables) and len(plain.candidates[0].columns) == 2
            return smooth if choosing else min((smooth, plain), key=_predicted)
    raise UnsupportedSpend(f"{spend!r} is not one of the four bounds.")


def _predicted(release: Release) -> float:
    """Return the predicted deviation of a pair's cell, or of a single column's where there are no pairs."""
    stack = release if isinstance(release, TableStack) else release.stack
    chosen = () if isinstance(release, TableStack) else release.candidates
    widest = max(min(len(part.columns), 2) for part in (*stack.parts, *chosen))
    spreads = [part.variance() for part in (*stack.parts, *chosen) if len(part.columns) == widest]
    return math.sqrt(sum(spreads) / len(spreads))


def _positive(spend: Bound, amount: Fraction) -> Fraction:
    if amount == 0:
        raise UnsupportedSpend(f"{spend!r} pays for nothing; write a spend above zero.")
    return amount


# Gaussian noise


def _gaussian(facts: Facts, rho: Fraction, spend: Bound) -> Release:
    groups = _tables(facts, centred=lambda columns: True)
    alone = ones_share([facts.space.sizes[place] for place in facts.wide])
    shares = _shares(groups, alone)
    if facts.total is not None and facts.total < FAINT * _predicted(_stack(facts, groups, shares, rho, spend)):
        shares = _shares(groups, max(alone, FAINT_ONES))
    return _with_triples(facts, groups, shares, rho, spend=spend, triples=_triples(facts, spend), pure=False)


def _with_triples(
    facts: Facts,
    groups: Groups,
    shares: dict[str, float],
    amount: Fraction,
    *,
    spend: Bound,
    triples: Sequence[Columns],
    pure: bool,
) -> Release:
    """Return a stack of one- and two-way tables, and triples after it where they are not drowned in noise."""
    whole = _stack(facts, groups, shares, amount, spend, pure=pure)
    if not triples:
        return whole
    count = min(MOST_CHOSEN, len(triples))
    later = amount * Fraction(CHOSEN_SHARE).limit_denominator(100)
    # All of them need no choice.
    choosing = later * Fraction(CHOOSING_SHARE).limit_denominator(100) / count if count < len(triples) else Fraction(0)
    choice = choosing if pure else root_down(8 * choosing)
    measuring = later / count - (choice if pure else choice**2 / 8)
    units = [_part(facts, columns, not pure, pure, Fraction(1)) for columns in triples]
    replaced, rows = facts.setting.relation is REPLACE_ONE, facts.setting.rule.rows
    price = max(max(unit.most(), unit.added()) if replaced else unit.added() for unit in units)
    width = short_up(price * (rows if pure else rows**2) / measuring)
    least = SMALLEST_SCALE if pure else SMALLEST_SCALE**2
    found = ChosenTables(
        stack=_stack(facts, groups, shares, amount - later, spend, pure=pure),
        candidates=tuple(_part(facts, columns, not pure, pure, max(width, least)) for columns in triples),
        count=count,
        choice=choice,
        total=facts.total,
        fallback=None if facts.total is not None else _stack(facts, groups, shares, later, spend, pure=pure),
        drowned=DROWNED_FEW if count == len(triples) else DROWNED,
        relation=facts.setting.relation,
        reads=facts.setting.charged(facts.space.names),
    )
    return whole if facts.total is not None and found.drowns(facts.total) else found


def _triples(facts: Facts, spend: Bound) -> list[Columns]:
    """Return the triples of bits to choose from, or all triples of few columns.

    None per attribute, where a choice would cost its full price.
    """
    if not facts.triples or spend.unit != "person" or not is_dense(facts.space.sizes):
        return []
    wanted = set(facts.pairs)

    def listed(columns: Columns) -> list[Columns]:
        return [one for one in combinations(columns, 3) if all(pair in wanted for pair in combinations(one, 2))]

    bits, every = listed(facts.bits), listed(facts.wide)
    if len(every) <= MOST_CHOSEN:
        return every
    return bits if len(bits) > 3 else []


# Laplace noise


def _laplace(facts: Facts, epsilon: Fraction, spend: Bound) -> Release:
    amount = _positive(spend, epsilon)
    bits = facts.bits == facts.wide
    groups = _tables(facts, centred=lambda columns: bits)
    count = PAIRS_A_COLUMN * len(facts.wide)
    few = len(facts.pairs) <= count or (bits and is_dense(facts.space.sizes))
    if few or spend.unit != "person":
        sizes = [facts.space.sizes[place] for place in facts.wide]
        alone = PARITY_ONES * ones_share(sizes) if bits else PURE_ONES
        triples = _triples(facts, spend)
        all_of_few = triples if len(triples) <= MOST_CHOSEN else []
        return _with_triples(facts, groups, _shares(groups, alone), amount, spend=spend, triples=all_of_few, pure=True)
    first = amount * Fraction(PURE_ONES).limit_denominator(100)
    later = amount - first
    choice = later * Fraction(PURE_CHOOSING).limit_denominator(100) / count
    measuring = later / count - choice
    moved = 2 if facts.setting.relation is REPLACE_ONE else 1
    scale = max(short_up(moved * facts.setting.rule.rows / measuring), SMALLEST_SCALE)
    ones = {name: tables for name, tables in groups.items() if name != "pairs"}
    return ChosenTables(
        stack=_stack(facts, ones, _shares(ones, 1.0), first, spend, pure=True),
        candidates=tuple(_part(facts, columns, bits, True, scale) for columns in facts.pairs),
        count=count,
        choice=choice,
        total=facts.total,
        relation=facts.setting.relation,
        reads=facts.setting.charged(facts.space.names),
    )


# What both share


def _tables(facts: Facts, centred: Callable[[Columns], bool]) -> Groups:
    groups: Groups = {"total": [], "ones": [((place,), centred((place,))) for place in facts.wide]}
    groups["pairs"] = [(pair, centred(pair)) for pair in facts.pairs]
    plain = any(not one for _, one in groups["ones"])
    # Plain one-way tables add up to the number of rows, so that it need not be bought again.
    if facts.total is None and not plain:
        groups["total"] = [((), False)]
    return {name: tables for name, tables in groups.items() if tables}


def _shares(groups: Groups, ones: float) -> dict[str, float]:
    """Return what part of the spend each group of tables gets."""
    total = TOTAL_SHARE if "total" in groups else 0.0
    alone = 1.0 if "pairs" not in groups else ones
    shares = {"total": total, "ones": (1 - total) * alone, "pairs": (1 - total) * (1 - alone)}
    return {name: shares[name] for name in groups}


def _part(facts: Facts, columns: Columns, centred: bool, pure: bool, width: Fraction) -> Part:
    """Return a table whose centred cells all have the same noise; `width` is a scale or the variance of a cell."""
    sizes = tuple(facts.space.sizes[place] for place in columns)
    scale = math.prod(squared_scale(size) for size in sizes) if centred and not pure else 1
    if width * scale > (LARGEST_SCALE if pure else LARGEST_SCALE**2):
        raise UnsupportedSpend(
            "The spend is so small that the noise of its tables is wider than what can be drawn; spend more, choose "
            "fewer columns, or derive coarser bins."
        )
    return Part(columns, sizes, centred, DiscreteLaplace(width) if pure else DiscreteGaussian(width * scale))


def _stack(
    facts: Facts, groups: Groups, shares: dict[str, float], amount: Fraction, spend: Bound, *, pure: bool = False
) -> TableStack:
    """Return the tables with noise in proportion to their shares, scaled so that all of them cost the amount."""

    def build(widths: dict[str, Fraction]) -> TableStack:
        parts = tuple(
            _part(facts, columns, centred, pure, widths[name])
            for name, tables in groups.items()
            for columns, centred in tables
        )
        return TableStack(
            parts=parts,
            shown=facts.space.attributes,
            rows=facts.setting.rule.rows,
            relation=facts.setting.relation,
            reads=facts.setting.charged(facts.space.names),
        )

    def price(stack: TableStack) -> Fraction:
        if spend.unit == "person":
            return stack.person_price
        known = stack.attribute_prices
        return max(known.values(), default=stack.person_price)

    unit = {name: price(build_one(build, groups, name)) for name in groups}
    relative = {
        name: short_up(Fraction(unit[name] / Fraction(shares[name]).limit_denominator(10**6))) for name in groups
    }
    rough = price(build(relative))
    least = SMALLEST_SCALE if pure else SMALLEST_SCALE**2
    stack = build({name: max(short_up(width * rough / amount), least) for name, width in relative.items()})
    if price(stack) > amount:
        raise CertificationError("The noise found for these tables does not provably fit the spend; please report it.")
    return stack


def build_one(build: Callable[[dict[str, Fraction]], TableStack], groups: Groups, name: str) -> TableStack:
    """Return the tables of one group with unit noise, to see what they cost."""
    whole = build(dict.fromkeys(groups, Fraction(1)))
    wanted = {columns for columns, _ in groups[name]}
    return replace(whole, parts=tuple(part for part in whole.parts if part.columns in wanted))

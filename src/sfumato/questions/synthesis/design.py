"""Which tables are measured, and with how much noise: from the spend, sizes and public facts, never from data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

from sfumato.errors import UnsupportedSpend
from sfumato.noise.laws.base import LARGEST_SCALE, SMALLEST_SCALE
from sfumato.privacy import REPLACE_ONE, Approximate, Bound, Concentrated, Pure, Truncated
from sfumato.privacy.calibrate import concentrated_within
from sfumato.privacy.gaussian import gaussian_m
from sfumato.questions.synthesis.adaptive import ChosenTables
from sfumato.questions.synthesis.building import Groups, SynthesisFacts, part_of, shares_of, stack_of, tables_of
from sfumato.questions.synthesis.check import CheckedTables, Release
from sfumato.questions.synthesis.every_triple import EveryTriple
from sfumato.questions.synthesis.fit import is_dense
from sfumato.questions.synthesis.guarded import GuardedTables
from sfumato.questions.synthesis.looked import LookedTables, SecondLook
from sfumato.questions.synthesis.shares import ones_share, root_down, short_up, total_share
from sfumato.questions.synthesis.triples import BATCHES, CHOOSING, MOST, TripleTables, measured
from sfumato.totals.tables.parts import Columns
from sfumato.totals.tables.stack import TableStack

CHOSEN_SHARE, CHOOSING_SHARE, MOST_CHOSEN = 0.4, 0.3, 40
"""Of a Gaussian spend: what goes to chosen triples of bits, what of that goes to choosing, how many there are."""

DROWNED = 0.01
"""Chosen triples pay where their deviation is at most this part of all people; they did at 0.003, not at 0.02."""

DROWNED_FEW = 0.03
"""All triples of few columns pay earlier: pairs have little noise there, and no choice is bought."""

FAINT, FAINT_ONES = 60, 0.3
"""With fewer than so many people for each unit of noise pairs say little, and one-way tables get this share."""

HOPELESS, HOPELESS_CHOSEN, HOPELESS_DENSE = 12, 45, 9
"""One-way tables alone are nearer the truth with fewer people for each unit of noise of a pair's cell: of all pairs, of
chosen ones, and, times the root of a pair's cells, of few columns, whose fit is not held back by classes."""

TRIPLES_SHARE, TRIPLES_COLUMNS = 0.2, 16
"""Of a Gaussian spend: what batches of triples may get, less where there are more columns than this."""
MOST_TRIPLES, LARGEST_TRIPLE = 6000, 4096
"""So many triples are candidates of batches, those of the fewest cells, and none of more cells than this."""

PURE_ONES, PURE_CHOOSING, PAIRS_A_COLUMN = 0.1, 0.2, 2
"""Of a pure spend: what goes to one-way tables, what of the rest to choosing pairs, and how many are chosen."""

PARITY_ONES = 0.7
"""Laplace noise grows with the number of parities, not with its root: one-way ones get this part of their share."""


FIRST_ONES, FIRST_PAIRS = 0.15, 0.15
"""Of a Gaussian spend: what a first look at one-way tables and pairs gets. Pairs that then drown have cost no more."""

LIKELY_ONES = 0.5
"""About what single columns get in two looks where only a mixture can hold all; the number of rows is matched to it."""

CHECKED, FINEST_GRID = Fraction(1, 50), 16
"""The part of a spend that compares models with the data, and the finest grid that it counts in, as a power of 2."""

Lists = tuple[tuple[Columns, ...], ...]


def design(facts: SynthesisFacts, spend: Bound, lists: Lists = ()) -> Release | CheckedTables:
    """Return the release for a spend, and a check of the models made from it on some lists of tables.

    Few people for the spend: one-way tables alone. Pure: Laplace noise on parities of bits, or on plain tables, the
    pairs being chosen where they are many. Concentrated and Truncated: Gaussian noise on contrasts of all one- and
    two-way tables, and, where bits are few enough to hold all cells, on chosen triples. Approximate: the one of both
    whose predicted noise is smaller. Per attribute nothing is checked: a check reads all attributes.
    """
    checks = bool(lists) and spend.unit == "person"
    paid = replace(facts, kept=1 - CHECKED) if checks else facts
    bought = _designed(paid, spend)
    found = bought.release
    few = facts.total is not None and facts.pairs and not isinstance(found, LookedTables | TripleTables | EveryTriple)
    if few and facts.total is not None and facts.total < _fewest(facts, found):
        bought = _designed(replace(paid, pairs=(), triples=False), spend)
    return _checked(facts, bought, lists) if checks else bought.release


def pair_noise(facts: SynthesisFacts, spend: Bound) -> float:
    """Return the predicted deviation of a pair's cell, from public facts."""
    return _predicted(_designed(facts, spend).release)


class Bought(NamedTuple):
    """A release, what the whole spend amounts to in its noise, and the kind of that noise."""

    release: Release
    amount: Fraction
    noise: str


def _checked(facts: SynthesisFacts, bought: Bought, lists: Lists) -> Release | CheckedTables:
    """Return the release with a check, unless its noise would be wider than what can be drawn."""
    pairs = isinstance(bought.release, ChosenTables) or any(len(part.columns) > 1 for part in bought.release.parts)
    models = 1 if not pairs else 2 if is_dense(facts.space.sizes) else 3
    moved = facts.gauge.rows * (2 if facts.gauge.relation is REPLACE_ONE else 1)
    numbers, money = len(lists) * models, CHECKED * bought.amount
    pure = bought.noise == "laplace"
    spread = short_up(numbers * moved / money if pure else numbers * Fraction(moved**2) / (2 * money))
    width = float(spread) if pure else math.sqrt(spread)
    longest = max(map(len, lists))
    room = math.floor(math.log2(float(LARGEST_SCALE) / (width * longest)))
    if room < 0:
        return bought.release
    return CheckedTables(
        release=bought.release,
        lists=lists,
        models=models,
        spread=spread,
        noise=bought.noise,
        grid=2 ** min(FINEST_GRID, room),
        total=facts.total,
        relation=facts.gauge.relation,
        reads=facts.gauge.charged,
    )


def _designed(facts: SynthesisFacts, spend: Bound) -> Bought:
    kept, kind = facts.kept, facts.gauge.gaussians
    match spend:
        case Pure():
            return Bought(_laplace(facts, kept * spend.epsilon, spend), spend.epsilon, "laplace")
        case Concentrated() | Truncated():
            return Bought(_gaussian(facts, _positive(spend, kept * spend.rho), spend), spend.rho, kind)
        case Approximate():
            smooth = _smooth(facts, spend)
            plain = _laplace(facts, kept * spend.epsilon, spend)
            # Chosen pairs are fewer than all pairs, so that their noise does not compare.
            choosing = isinstance(plain, ChosenTables) and len(plain.candidates[0].columns) == 2
            # Triples are measured only where they stand out of their noise, and then say what no pair can.
            if choosing or _widest(smooth.release) > _widest(plain):
                return smooth
            return min((smooth, Bought(plain, spend.epsilon, "laplace")), key=lambda one: _predicted(one.release))
    raise UnsupportedSpend(f"{spend!r} is not one of the four bounds.")


def _smooth(facts: SynthesisFacts, spend: Approximate) -> Bought:
    """Return tables with Gaussian noise for an Approximate spend: exactly calibrated unless something is chosen.

    A choice costs a Rényi divergence, so it is converted together with the noise.
    """
    epsilon = _positive(spend, spend.epsilon)
    if facts.gauge.gaussians != "discrete":
        amount = gaussian_m(epsilon, spend.delta) / 2
        found = _gaussian(replace(facts, rounded=True), facts.kept * amount, spend)
        if not isinstance(found, ChosenTables) or not found.choice:
            return Bought(found, amount, "rounded")
    amount = concentrated_within(epsilon, spend.delta)
    return Bought(_gaussian(facts, facts.kept * amount, spend), amount, facts.gauge.gaussians)


def _widest(release: Release) -> int:
    """Return how many columns the widest table has."""
    parts = release.candidates if isinstance(release, ChosenTables) else release.parts
    return max(len(part.columns) for part in parts)


def _predicted(release: Release) -> float:
    """Return the predicted deviation of a pair's cell, or of a single column's where there are no pairs."""
    chosen = release.candidates if isinstance(release, ChosenTables) else ()
    stack = release.stack if isinstance(release, ChosenTables | TripleTables | EveryTriple) else release
    again = stack.second.evenly().parts if isinstance(stack, LookedTables) else ()
    parts = (*stack.parts, *again, *chosen)
    widest = max(min(len(part.columns), 2) for part in parts)
    precisions: dict[Columns, float] = {}
    for part in parts:
        if len(part.columns) == widest:
            precisions[part.columns] = precisions.get(part.columns, 0.0) + 1 / part.variance()
    return math.sqrt(sum(1 / precision for precision in precisions.values()) / len(precisions))


def _fewest(facts: SynthesisFacts, release: Release) -> float:
    """Return how many people pairs need, to say more than one-way tables do."""
    if isinstance(release, ChosenTables) and len(release.candidates[0].columns) == 2:
        return HOPELESS_CHOSEN * _predicted(release)
    if not is_dense(facts.space.sizes):
        return HOPELESS * _predicted(release)
    cells = [facts.space.sizes[first] * facts.space.sizes[second] for first, second in facts.pairs]
    return HOPELESS_DENSE * math.sqrt(sum(cells) / len(cells)) * _predicted(release)


def _positive(spend: Bound, amount: Fraction) -> Fraction:
    if amount == 0:
        raise UnsupportedSpend(f"{spend!r} pays for nothing; write a spend above zero, such as Pure(0.1).")
    return amount


# Gaussian noise


def _gaussian(facts: SynthesisFacts, rho: Fraction, spend: Bound) -> Release:
    groups = tables_of(facts, centred=lambda columns: True)
    alone = ones_share([facts.space.sizes[place] for place in facts.wide])
    shares = shares_of(groups, alone)
    if facts.total is not None and facts.total < FAINT * _predicted(stack_of(facts, groups, shares, rho, spend)):
        shares = shares_of(groups, max(alone, FAINT_ONES))
    if _looks_twice(facts, groups, spend):
        return _with_looks(facts, groups, rho, spend)
    return _with_triples(facts, groups, shares, rho, spend=spend, triples=_triples(facts, spend), pure=False)


def _with_looks(facts: SynthesisFacts, groups: Groups, amount: Fraction, spend: Bound) -> Release:
    """Return two looks at small tables, and triples after them where all cells can be held: all of a few, else batches.

    Where triples would drown by public facts, or their noise would be wider than what can be drawn, there are none.
    """
    alone, sizes = _looked(facts, groups, amount, spend, 1.0), facts.space.sizes
    triples = _closed(facts, facts.wide) if facts.triples and is_dense(sizes) else []
    few = len(triples) <= MOST_CHOSEN
    if not few:
        cells = {one: math.prod(sizes[place] for place in one) for one in triples}
        small = [one for one in triples if cells[one] <= LARGEST_TRIPLE]
        triples = sorted(sorted(small, key=lambda one: (cells[one], one))[:MOST_TRIPLES])
    if not triples:
        return alone
    part = CHOSEN_SHARE if few else TRIPLES_SHARE * min(1, TRIPLES_COLUMNS / len(facts.wide))
    share = Fraction(part).limit_denominator(100)
    units = _units(facts, [(columns, True) for columns in triples])
    # As wide as noise can become: of the most tables that a batch may measure, for the least that a batch has.
    dearest = max(max(part.most(), part.added()) * part.scale() for part in units.parts) * facts.gauge.rows**2
    if 2 * MOST * dearest / (min(BATCHES) * (1 - CHOOSING) * share * amount) > LARGEST_SCALE**2:
        return alone
    shared: dict[str, Any] = {
        "stack": _looked(facts, groups, (1 - share) * amount, spend, float(1 - share)),
        "units": units,
        "again": _again(facts, groups, share * amount),
        "price": share * amount,
        "noise": facts.gaussians,
        "total": facts.total,
        "relation": facts.gauge.relation,
        "reads": facts.gauge.charged,
    }
    if not few:
        return TripleTables(**shared)
    whole = measured(units, range(len(triples)), share * amount, facts.gaussians)
    widest = max(math.sqrt(part.variance() * math.prod(part.sizes)) for part in whole.parts)
    found = EveryTriple(**shared, fewest=_short(widest / DROWNED_FEW))
    return alone if facts.total is not None and found.drowns(facts.total) else found


def _with_triples(
    facts: SynthesisFacts,
    groups: Groups,
    shares: dict[str, float],
    amount: Fraction,
    *,
    spend: Bound,
    triples: Sequence[Columns],
    pure: bool,
) -> Release:
    """Return a stack of one- and two-way tables, and triples after it where they are not drowned in noise."""
    if not triples:
        return _guarded(facts, groups, shares, amount, spend=spend, pure=pure)
    whole = stack_of(facts, groups, shares, amount, spend, pure=pure)
    count = min(MOST_CHOSEN, len(triples))
    later = amount * Fraction(CHOSEN_SHARE).limit_denominator(100)
    # All of them need no choice.
    choosing = later * Fraction(CHOOSING_SHARE).limit_denominator(100) / count if count < len(triples) else Fraction(0)
    choice = choosing if pure else root_down(8 * choosing)
    measuring = later / count - (choice if pure else choice**2 / 8)
    units = [part_of(facts, columns, not pure, pure, Fraction(1)) for columns in triples]
    replaced, rows = facts.gauge.relation is REPLACE_ONE, facts.gauge.rows
    price = max(max(unit.most(), unit.added()) if replaced else unit.added() for unit in units)
    width = short_up(price * (rows if pure else rows**2) / measuring)
    least = SMALLEST_SCALE if pure else SMALLEST_SCALE**2
    candidates = tuple(part_of(facts, columns, not pure, pure, max(width, least)) for columns in triples)
    widest = max(math.sqrt(part.variance() * math.prod(part.sizes)) for part in candidates)
    private = facts.total is None
    # Where people turn out too few for triples, pairs get the rest of the spend: the noise that then counts is that of
    # the whole of it.
    stack = _guarded(facts, groups, shares, amount - later, spend=spend, pure=pure, judged=whole)
    ones, begun = _ones(groups, shares)
    other = stack_of(facts, groups, shares, later, spend, pure=pure)
    found = ChosenTables(
        stack=stack,
        candidates=candidates,
        count=count,
        choice=choice,
        total=facts.total,
        fallback=other if private else None,
        poor=stack_of(facts, ones, begun, later, spend, pure=pure) if isinstance(stack, GuardedTables) else None,
        fewest=_short(widest / (DROWNED_FEW if count == len(triples) else DROWNED)),
        relation=facts.gauge.relation,
        reads=facts.gauge.charged,
    )
    return whole if facts.total is not None and found.drowns(facts.total) else found


def _guarded(
    facts: SynthesisFacts,
    groups: Groups,
    shares: dict[str, float],
    amount: Fraction,
    *,
    spend: Bound,
    pure: bool,
    judged: TableStack | None = None,
) -> TableStack | GuardedTables:
    """Return a stack; where the number of rows is private, its pairs wait until the first tables have shown it.

    How many rows pairs need follows from the noise of `judged`, by default of the pairs themselves.
    """
    if facts.total is not None or "pairs" not in groups or spend.unit != "person":
        return stack_of(facts, groups, shares, amount, spend, pure=pure)
    paired = Fraction(shares["pairs"]).limit_denominator(10**6)
    ones, begun = _ones(groups, shares)
    rich = stack_of(facts, {"pairs": groups["pairs"]}, {"pairs": 1.0}, paired * amount, spend, pure=pure)
    return GuardedTables(
        first=stack_of(facts, ones, begun, (1 - paired) * amount, spend, pure=pure),
        rich=rich,
        poor=stack_of(facts, ones, begun, paired * amount, spend, pure=pure),
        fewest=_short(_fewest(facts, judged or rich)),
        relation=facts.gauge.relation,
        reads=facts.gauge.charged,
    )


def _looks_twice(facts: SynthesisFacts, groups: Groups, spend: Bound) -> bool:
    """Tell whether Gaussian tables are looked at twice: not few bits, where it lost on the one table that was tried."""
    few_bits = facts.bits == facts.wide and is_dense(facts.space.sizes)
    return not few_bits and "pairs" in groups and spend.unit == "person"


def _looked(facts: SynthesisFacts, groups: Groups, amount: Fraction, spend: Bound, part: float) -> LookedTables:
    """Return a first look at all tables, and a second one at those that it points to; `part` of a spend buys both."""
    sizes = [facts.space.sizes[place] for place in facts.wide]
    shares = {
        "ones": min(FIRST_ONES, ones_share(sizes)),
        "pairs": FIRST_PAIRS,
    }
    if "total" in groups:
        likely = ones_share(sizes) if is_dense(facts.space.sizes) else LIKELY_ONES
        shares["total"] = total_share(sizes, likely) / part
    paid = Fraction(sum(shares.values())).limit_denominator(100)
    return LookedTables(
        first=stack_of(facts, groups, shares, paid * amount, spend),
        second=_again(facts, groups, (1 - paid) * amount),
        total=facts.total,
        relation=facts.gauge.relation,
        reads=facts.gauge.charged,
    )


def _again(facts: SynthesisFacts, groups: Groups, price: Fraction) -> SecondLook:
    """Return a look at one- and two-way tables that evidence will choose."""
    units = _units(facts, [*groups["ones"], *groups["pairs"]])
    return SecondLook(units, price, facts.gaussians)


def _units(facts: SynthesisFacts, tables: Sequence[tuple[Columns, bool]]) -> TableStack:
    """Return tables with noise of variance 1 a centred cell, of which a run takes some and widens the noise."""
    return TableStack(
        parts=tuple(part_of(facts, columns, centred, False, Fraction(1)) for columns, centred in tables),
        shown=facts.space.attributes,
        rows=facts.gauge.rows,
        relation=facts.gauge.relation,
        reads=facts.gauge.charged,
    )


def _ones(groups: Groups, shares: dict[str, float]) -> tuple[Groups, dict[str, float]]:
    """Return the groups without pairs, and their shares."""
    ones = {name: tables for name, tables in groups.items() if name != "pairs"}
    return ones, {name: shares[name] for name in ones}


def _short(number: float) -> Fraction:
    return Fraction(number).limit_denominator(1000)


def _triples(facts: SynthesisFacts, spend: Bound) -> list[Columns]:
    """Return the triples of bits to choose from, or all triples of few columns.

    None per attribute, where a choice would cost its full price.
    """
    if not facts.triples or spend.unit != "person" or not is_dense(facts.space.sizes):
        return []
    bits, every = _closed(facts, facts.bits), _closed(facts, facts.wide)
    if len(every) <= MOST_CHOSEN:
        return every
    return bits if len(bits) > 3 else []


def _closed(facts: SynthesisFacts, columns: Columns) -> list[Columns]:
    """Return the triples of some columns of which all pairs are measured."""
    wanted = set(facts.pairs)
    return [one for one in combinations(columns, 3) if all(pair in wanted for pair in combinations(one, 2))]


# Laplace noise


def _laplace(facts: SynthesisFacts, epsilon: Fraction, spend: Bound) -> Release:
    amount = _positive(spend, epsilon)
    bits = facts.bits == facts.wide
    groups = tables_of(facts, centred=lambda columns: bits)
    count = PAIRS_A_COLUMN * len(facts.wide)
    few = len(facts.pairs) <= count or (bits and is_dense(facts.space.sizes))
    if few or spend.unit != "person":
        sizes = [facts.space.sizes[place] for place in facts.wide]
        alone = PARITY_ONES * ones_share(sizes) if bits else PURE_ONES
        triples = _triples(facts, spend)
        all_of_few = triples if len(triples) <= MOST_CHOSEN else []
        return _with_triples(
            facts, groups, shares_of(groups, alone), amount, spend=spend, triples=all_of_few, pure=True
        )
    first = amount * Fraction(PURE_ONES).limit_denominator(100)
    later = amount - first
    choice = later * Fraction(PURE_CHOOSING).limit_denominator(100) / count
    measuring = later / count - choice
    moved = 2 if facts.gauge.relation is REPLACE_ONE else 1
    scale = max(short_up(moved * facts.gauge.rows / measuring), SMALLEST_SCALE)
    ones = {name: tables for name, tables in groups.items() if name != "pairs"}
    later_ones = stack_of(facts, ones, shares_of(ones, 1.0), later, spend, pure=True)
    return ChosenTables(
        stack=stack_of(facts, ones, shares_of(ones, 1.0), first, spend, pure=True),
        candidates=tuple(part_of(facts, columns, bits, True, scale) for columns in facts.pairs),
        count=count,
        choice=choice,
        total=facts.total,
        fallback=later_ones if facts.total is None else None,
        fewest=_short(HOPELESS_CHOSEN * math.sqrt(2) * float(scale)),
        relation=facts.gauge.relation,
        reads=facts.gauge.charged,
    )

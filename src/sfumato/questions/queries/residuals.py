"""Which contrasts are measured for tables of counts, and with how much noise: from public facts alone (SY-RES)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod

from sfumato.noise import RoundedNormal
from sfumato.noise.laws.base import LARGEST_SCALE
from sfumato.privacy import REPLACE_ONE, Approximate, Bound, Concentrated, Truncated
from sfumato.privacy.calibrate import WIDE
from sfumato.privacy.gaussian import gaussian_m
from sfumato.questions.queries.contrasts import Contrasts, measured_sets, subsets, tables_of
from sfumato.questions.queries.noisy import NoisyWorkload
from sfumato.table.gauge import Gauge
from sfumato.totals.tables.contrasts import squared_scale
from sfumato.totals.tables.parts import Columns, Part
from sfumato.totals.tables.stack import TableStack
from sfumato.workload.blocks import Marginal
from sfumato.workload.space import Space
from sfumato.workload.workload import Workload

MOST_INTEGERS = 20_000_000
"""So many integers are released at most; more tables share one noise."""

MOST_SETS = 2**18
"""So many sets of columns, those of every table counted, are looked at when noise is planned."""

FINEST = 64
"""The integers with the widest noise are multiplied by this, the others by more: widths are met to a hundredth."""

WORTHWHILE = 0.98
"""Contrasts must bring the mean variance below this part of that of independent noise, which is simpler to read."""

LIGHTEST = 1e-9
"""A table counts at least so much of what the heaviest one does."""

RAISED = 1 + Fraction(1, 10**9)
"""Noise is wider by more than a price that was raised twice can differ."""


def best_noise(
    sizes: Sequence[int], tables: Sequence[Columns], moved: Mapping[Columns, float], shares: Sequence[float]
) -> dict[Columns, float]:
    """Return how the variances of centred cells should relate to each other, for sets that move so far.

    The weighted sum of the variances of all cells is Σ c_A·v_A, with c_A the sum over tables M around A of
    share_M·p_A/Π d² over the columns of M outside of A. Where the price Σ moved_A/v_A is given it is smallest for
    v_A = √(moved_A/c_A) (Cauchy and Schwarz). `shares` are the weights of the tables times their cells.

    >>> found = best_noise((2, 2), [(0, 1)], {(): 1.0, (0,): 0.5, (1,): 0.5, (0, 1): 0.25}, [1])
    >>> [round(found[some], 3) for some in [(), (0,), (0, 1)]]
    [4.0, 2.0, 1.0]
    """
    reached = dict.fromkeys(moved, 0.0)
    for table, share in zip(tables, shares, strict=True):
        for some in subsets(table):
            if some in reached:
                reached[some] += share / prod(sizes[column] for column in table if column not in some) ** 2
    centred = {some: prod(1 - 1 / sizes[column] for column in some) for some in moved}
    return {some: math.sqrt(far / (centred[some] * reached[some])) for some, far in moved.items()}


def contrasts_of(gauge: Gauge, spend: Bound, workload: Workload, weights: Sequence[Fraction] = ()) -> TableStack | None:
    """Return the contrasts of all tables of a workload with the best noise that fits a spend, None where there is none.

    Every table counts the same, or as much as its weight says.

    There is none for queries that are no tables of counts, for spends without Gaussian noise, for ledgers that draw
    another one, and where there would be too many numbers or too wide ones. A limit of attributes holds for what is
    stated of a changed one, where people come and go too.
    """
    spend = gauge.priced(spend, stated=True)
    amount = _amount(gauge, spend)
    if amount is None or not all(isinstance(block, Marginal) for block in workload.blocks):
        return None
    # Somebody who is replaced keeps the number of rows, and somebody who comes or goes does not: one row a person is
    # where it is public, and nothing else is planned for.
    if gauge.total is None and gauge.relation is REPLACE_ONE and gauge.rows == 1:
        return None
    tables = tables_of(workload)
    if sum(1 << len(table) for table in tables) > MOST_SETS:
        return None
    space = Space.of(gauge.schema, workload.columns)
    sets = measured_sets(workload)[0 if gauge.total is None else 1 :]
    units = TableStack(
        parts=tuple(_unit(space, columns) for columns in sets),
        shown=space.attributes,
        rows=gauge.rows,
        relation=gauge.relation,
        reads=gauge.charged,
    )
    if not sets or sum(prod(part.shape) for part in units.parts) > MOST_INTEGERS:
        return None
    moved = {part.columns: float(2 * _moved(units, part, spend)) for part in units.parts}
    wanted = best_noise(space.sizes, tables, moved, _shares(workload, weights))
    return _fitted(units, wanted, amount, spend)


def better(
    plain: NoisyWorkload, stack: TableStack, total: int | None, weights: Sequence[Fraction] = ()
) -> Contrasts | None:
    """Return what tables are added up from, None where independent noise has no larger mean variance of a table."""
    found, shares = Contrasts(plain.workload, stack.parts, total), _shares(plain.workload, weights)
    mean = sum(share * found.variance(place) for place, share in enumerate(shares)) / sum(shares)
    return found if mean < WORTHWHILE * plain.law.deviation() ** 2 else None


def _shares(workload: Workload, weights: Sequence[Fraction]) -> list[float]:
    """Return how much the tables count, at most 1, and not less than what noise of any width can follow."""
    most = max(weights, default=Fraction(1))
    return [max(LIGHTEST, float(one / most)) for one in weights or [most] * len(workload.blocks)]


def _amount(gauge: Gauge, spend: Bound) -> Fraction | None:
    """Return what a spend amounts to in rho, where it pays for rounded Gaussian noise."""
    if gauge.gaussians == "discrete":
        return None
    match spend:
        case Concentrated() | Truncated():
            return spend.rho or None
        case Approximate() if spend.epsilon:
            return gaussian_m(spend.epsilon, spend.delta) / 2
    return None


def _unit(space: Space, columns: Columns) -> Part:
    """Return the contrasts of some columns, or the number of rows, with noise of variance 1 a centred cell."""
    sizes = tuple(space.sizes[place] for place in columns)
    return Part(columns, sizes, bool(columns), RoundedNormal(Fraction(prod(map(squared_scale, sizes)))))


def _moved(units: TableStack, part: Part, spend: Bound) -> Fraction:
    """Return what one set costs with unit noise: of the neighbours that a spend limits, else of whole people."""
    added, replaced = part.added(), part.most()
    if spend.unit == "attribute":
        private = frozenset(place for place, name in enumerate(units.shown) if name is not None)
        # What only public columns show costs no attribute anything; it has noise as if it did, for people's sake.
        return part.most(private) or replaced or added
    if units.relation is not REPLACE_ONE:
        return added
    return replaced if units.rows == 1 else max(added, replaced)


def _fitted(units: TableStack, wanted: Mapping[Columns, float], amount: Fraction, spend: Bound) -> TableStack | None:
    """Return the contrasts with noise of wanted widths, so wide that they cost the amount; None if too wide to draw.

    One law for all: integers that need less noise are multiplied by more before it is added.
    """
    deviations = {part.columns: math.sqrt(wanted[part.columns] * part.scale()) for part in units.parts}
    widest = max(deviations.values())
    times = {columns: max(1, round(FINEST * widest / deviation)) for columns, deviation in deviations.items()}
    rough = _with(units, RoundedNormal(Fraction(WIDE)), times)
    variance = Fraction(math.ceil(WIDE * RAISED * _price(rough, spend) / amount))
    if variance > LARGEST_SCALE**2:
        return None
    stack = _with(units, RoundedNormal(max(variance, Fraction(WIDE))), times)
    return stack if 0 < _price(stack, spend) <= amount else None


def _with(units: TableStack, law: RoundedNormal, times: Mapping[Columns, int]) -> TableStack:
    return replace(units, parts=tuple(replace(part, law=law, times=times[part.columns]) for part in units.parts))


def _price(stack: TableStack, spend: Bound) -> Fraction:
    """Return what the neighbours pay whom a spend limits."""
    if spend.unit == "person":
        return stack.person_price
    known = stack.attribute_prices if stack.relation is REPLACE_ONE else stack.changed_prices
    return max(known.values(), default=stack.person_price)

"""How far contrasts move: formulas against all pairs of rows, prices against all sets of columns."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, RoundedNormal
from sfumato.totals.tables import prices
from sfumato.totals.tables.by_size import dearest_by_size
from sfumato.totals.tables.contrasts import centred, contrasted, restored, squared_scale
from sfumato.totals.tables.parts import Part
from sfumato.totals.tables.prices import price_added, price_replaced


def one_row(part: Part, codes: tuple[int, ...]) -> Any:
    table = np.zeros(part.sizes, dtype=np.int64)
    table[tuple(codes[column] for column in part.columns)] = 1
    return contrasted(table) if part.centred else table


def apart(part: Part, first: tuple[int, ...], second: tuple[int, ...] | None) -> Fraction:
    moved = one_row(part, first) - (one_row(part, second) if second is not None else 0)
    if isinstance(part.law, DiscreteLaplace):
        return Fraction(int(np.abs(moved).sum())) * part.times / part.law.scale
    assert isinstance(part.law, (DiscreteGaussian, RoundedNormal))
    return Fraction(int((moved**2).sum())) * part.times**2 / (2 * part.law.variance)


def all_parts(sizes: tuple[int, ...], widths: tuple[int, ...], *, pure: bool = False) -> list[Part]:
    found = []
    for width in widths:
        for columns in combinations(range(len(sizes)), width):
            own = tuple(sizes[column] for column in columns)
            if pure:
                found.append(Part(columns, own, set(own) == {2}, DiscreteLaplace(Fraction(width + 1))))
            else:
                scale = int(np.prod([squared_scale(size) for size in own]))
                found.append(Part(columns, own, True, DiscreteGaussian(Fraction(scale * (2 + width)))))
    return found


@pytest.mark.parametrize("sizes", [(2, 2, 2), (2, 3, 4), (3, 3, 2, 2)])
@pytest.mark.parametrize("pure", [False, True])
def test_prices_are_those_of_the_worst_pair_of_rows(sizes: tuple[int, ...], pure: bool) -> None:
    parts = all_parts(sizes, (1, 2), pure=pure)
    cells = list(product(*map(range, sizes)))
    worst: dict[frozenset[int], Fraction] = {}
    for first in cells:
        for second in cells:
            changed = frozenset(
                place for place, pair in enumerate(zip(first, second, strict=True)) if pair[0] != pair[1]
            )
            moved = sum((apart(part, first, second) for part in parts), Fraction(0))
            worst[changed] = max(worst.get(changed, Fraction(0)), moved)
            assert sum((part.replaced(changed) for part in parts), Fraction(0)) == moved
    largest = max(worst.values())
    found = price_replaced(parts, frozenset(range(len(sizes))))
    # Where tables and contrasts stand side by side, the largest sum is looked for in floats and raised.
    assert found == largest or (pure and largest < found <= largest * (1 + Fraction(1, 10**8)))
    assert price_replaced(parts, frozenset((0,))) == worst[frozenset((0,))]
    assert price_added(parts) == max(sum((apart(part, cell, None) for part in parts), Fraction(0)) for cell in cells)


def test_unequal_pairs_are_priced_from_above() -> None:
    sizes = (2, 3, 4, 2)
    parts = [part for part in all_parts(sizes, (1, 2)) if part.columns != (0, 2)]
    cells = list(product(*map(range, sizes)))
    exact = max(sum((apart(part, cells[0], other) for part in parts), Fraction(0)) for other in cells)
    found = price_replaced(parts, frozenset(range(4)))
    assert exact <= found <= exact * (1 + Fraction(1, 10**8))


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize(
    ("sizes", "widths"), [((2, 3, 2), (2, 3)), ((2, 3, 4, 2), (1, 3, 4)), ((2, 2, 2, 2), (1, 2, 3))]
)
def test_wider_tables_are_priced_over_all_sets_of_columns(sizes, widths, pure) -> None:
    given = all_parts(sizes, widths, pure=pure)
    parts = [replace(part, times=1 + 5 * place % 7) for place, part in enumerate(given)]
    if not pure:
        parts.append(Part((0, 1), sizes[:2], False, DiscreteGaussian(7)))
    cells = list(product(*map(range, sizes)))
    for width in range(1, len(sizes) + 1):
        for free in combinations(range(len(sizes)), width):
            others = [cell for cell in cells if all(code == 0 for at, code in enumerate(cell) if at not in free)]
            exact = max(sum((apart(part, cells[0], other) for part in parts), Fraction(0)) for other in others)
            assert exact <= price_replaced(parts, frozenset(free)) <= exact * (1 + Fraction(1, 10**9))
    for part in parts:
        assert part.most() == max(apart(part, first, second) for first in cells for second in cells)
    assert price_added(parts) == max(sum((apart(part, cell, None) for part in parts), Fraction(0)) for cell in cells)


@pytest.mark.parametrize("free", [range(7), (0, 1, 3), (0, 2, 4, 5), (6,)])
def test_columns_of_one_size_may_be_exchanged(free, monkeypatch) -> None:
    sizes = (2, 3, 2, 5, 3, 2, 5)
    parts = [replace(part, times=1 + sum(part.sizes) % 4) for part in all_parts(sizes, (1, 2, 3))]
    parts.append(Part((), (), False, DiscreteGaussian(3)))
    changes = [frozenset(some) for width in range(8) for some in combinations(free, width)]
    exact = max(sum((part.replaced(changed) for part in parts), Fraction(0)) for changed in changes)
    monkeypatch.setattr(prices, "LISTED", 0)
    assert exact <= price_replaced(parts, frozenset(free)) <= exact * (1 + Fraction(1, 10**9))
    touched = [part for part in parts if not set(free).isdisjoint(part.columns)]
    assert dearest_by_size(touched, frozenset(free)) is not None
    if len(free) > 1:
        other = [replace(touched[-1], times=9), *touched[:-1]]
        assert dearest_by_size(other, frozenset(free)) is None, "one table with other noise"
        assert dearest_by_size(touched[:-1], frozenset(free)) is None, "one table is missing"


def test_more_columns_than_are_listed_are_priced_table_by_table_where_they_are_not_alike() -> None:
    parts = all_parts((2,) * 17, (2, 3))
    alike = price_replaced(parts, frozenset(range(17)))
    listed = price_replaced(parts, frozenset(range(16)))
    whole = price_replaced(parts[:-1], frozenset(range(17)))
    assert listed < alike < whole == sum((part.most() for part in parts[:-1]), Fraction(0))


def test_what_every_part_is_multiplied_by_is_paid_for() -> None:
    for law in (DiscreteGaussian(10), DiscreteLaplace(3)):
        part = Part((0, 1), (2, 2), True, law)
        more = replace(part, times=3)
        grown = 3 if isinstance(law, DiscreteLaplace) else 9
        assert more.added() == grown * part.added() and more.most() == grown * part.most()
        assert more.variance() == pytest.approx(part.variance() / 9)
        table = np.array([[3, 1], [0, 2]])
        assert more.exact(table).tolist() == [[12]] and more.estimate(np.array([[12]])).tolist() == [[1, -1], [-1, 1]]
        assert more.to_json()["times"] == 3 and "times" not in part.to_json()
    with pytest.raises(ParameterError, match="from 1 on"):
        Part((0,), (2,), True, DiscreteLaplace(1), times=0)


@pytest.mark.parametrize("size", [2, 3, 7])
def test_contrasts_are_scaled_projections(size: int) -> None:
    matrix = np.stack([contrasted(row) for row in np.eye(size, dtype=np.int64)], axis=1)
    named = [[1, -1]] if size == 2 else size * np.eye(size, dtype=np.int64) - 1
    assert np.array_equal(matrix, named)
    projection = np.eye(size) - 1 / size
    np.testing.assert_allclose(matrix.T @ matrix, squared_scale(size) * projection)


def test_tables_come_back_from_contrasts() -> None:
    table = np.arange(24).reshape(2, 3, 4) ** 2
    np.testing.assert_allclose(restored(contrasted(table), table.shape), centred(table), atol=1e-9)


def test_laplace_noise_refuses_wide_contrasts() -> None:
    with pytest.raises(ParameterError, match="plain tables"):
        Part((0,), (3,), True, DiscreteLaplace(1))

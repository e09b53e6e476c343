"""How far contrasts move: formulas against all pairs of rows, prices against all sets of columns."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, RoundedNormal
from sfumato.totals.tables.contrasts import centred, contrast, contrasted, restored, squared_scale
from sfumato.totals.tables.parts import Part
from sfumato.totals.tables.prices import price_added, price_replaced


def one_row(part: Part, codes: tuple[int, ...]) -> Any:
    table = np.zeros(part.sizes, dtype=np.int64)
    table[tuple(codes[column] for column in part.columns)] = 1
    return contrasted(table) if part.centred else table


def apart(part: Part, first: tuple[int, ...], second: tuple[int, ...] | None) -> Fraction:
    moved = one_row(part, first) - (one_row(part, second) if second is not None else 0)
    if isinstance(part.law, DiscreteLaplace):
        return Fraction(int(np.abs(moved).sum())) / part.law.scale
    assert isinstance(part.law, (DiscreteGaussian, RoundedNormal))
    return Fraction(int((moved**2).sum())) / (2 * part.law.variance)


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


def test_triples_are_priced_from_above() -> None:
    sizes = (2, 3, 2)
    parts = all_parts(sizes, (2, 3))
    cells = list(product(*map(range, sizes)))
    exact = max(sum((apart(part, cells[0], other) for part in parts), Fraction(0)) for other in cells)
    assert exact <= price_replaced(parts, frozenset(range(3)))
    for part in parts:
        assert part.most() == max(apart(part, first, second) for first in cells for second in cells)


@pytest.mark.parametrize("size", [2, 3, 7])
def test_contrasts_are_scaled_projections(size: int) -> None:
    matrix = contrast(size)
    projection = np.eye(size) - 1 / size
    np.testing.assert_allclose(matrix.T @ matrix, squared_scale(size) * projection)


def test_tables_come_back_from_contrasts() -> None:
    table = np.arange(24).reshape(2, 3, 4) ** 2
    np.testing.assert_allclose(restored(contrasted(table), table.shape), centred(table), atol=1e-9)


def test_laplace_noise_refuses_wide_contrasts() -> None:
    with pytest.raises(ParameterError, match="plain tables"):
        Part((0,), (3,), True, DiscreteLaplace(1))

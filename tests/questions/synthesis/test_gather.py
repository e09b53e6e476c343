"""From released numbers to evidence, the contrasts that models are fitted in, and short numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sfumato.noise import DiscreteLaplace
from sfumato.questions.synthesis.fit_dense import basis, transform
from sfumato.questions.synthesis.gather import gather
from sfumato.questions.synthesis.shares import root_down, short_up
from sfumato.totals.tables.contrasts import centred, contrasted
from sfumato.totals.tables.parts import Part


def test_orthogonal_contrasts_are_applied_axis_by_axis() -> None:
    for size in (2, 3, 7):
        np.testing.assert_allclose(basis(size) @ basis(size).T, size * np.eye(size), atol=1e-12)
    table = np.arange(24).reshape(2, 3, 4) ** 2
    shape = (2, 3, 4)
    values = table / table.sum()
    direct = np.einsum("abc,ia,jb,kc->ijk", values, basis(2), basis(3), basis(4))
    np.testing.assert_allclose(transform(values, shape), direct, atol=1e-12)
    back = np.einsum("ijk,ia,jb,kc->abc", direct, basis(2), basis(3), basis(4))
    np.testing.assert_allclose(transform(direct, shape, back=True), back, atol=1e-12)


def test_gathering_without_noise_gives_the_truth() -> None:
    table = np.array([[5, 1, 2], [0, 4, 8]])
    plain = Part((0, 1), (2, 3), False, DiscreteLaplace(1))
    alone = Part((0,), (2,), True, DiscreteLaplace(1))
    found = gather([plain, alone], [table, contrasted(table.sum(axis=1))], (2, 3), None)
    assert found.total == pytest.approx(20)
    evidence = found.evidence()
    np.testing.assert_allclose(evidence.ones[0], table.sum(axis=1) / 20)
    np.testing.assert_allclose(evidence.ones[1], table.sum(axis=0) / 20)
    np.testing.assert_allclose(evidence.centred[0, 1][0], centred(table) / 20)


def test_short_numbers_err_to_the_safe_side() -> None:
    for value in (Fraction(1, 3), Fraction(10**9 + 1, 7), Fraction(5, 10**8)):
        assert value <= short_up(value) <= value * (1 + Fraction(1, 10**5))
        assert root_down(value) ** 2 <= value

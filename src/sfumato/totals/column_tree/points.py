"""Counts of the cells of a large domain with a pure bound: noise on every cell, the large ones published."""

from __future__ import annotations

from fractions import Fraction

from sfumato.answer import half_width
from sfumato.exact import Number, between_zero_and_one, positive_integer
from sfumato.noise import DiscreteLaplace
from sfumato.perturb import AdditiveNoise
from sfumato.privacy import EVERYTHING, Attributes, Bound
from sfumato.privacy.sensitivity import sensitivity
from sfumato.totals.column_tree.planner import require_pure
from sfumato.totals.sparse_noise import SparseNoise


def pure_points(
    spend: Bound, cells: int, *, failure: Number = Fraction(1, 20), reads: Attributes = EVERYTHING
) -> SparseNoise:
    """Return noise of scale 2/epsilon on all cells, of which those that no empty cell reaches are published.

    Cells that occur pass the same threshold as those that do not: publishing them always would reveal who is there
    (PL-SAN-POINT-PURE). With probability 1 - failure no cell is published that nobody is in.

    >>> from sfumato import Pure
    >>> points = pure_points(Pure(1), 2**64)
    >>> points.threshold, points.loss().person.epsilon, smallest_published(points)
    (95, Fraction(1, 1), 101)
    """
    scale = 2 / require_pure(spend).epsilon
    count = positive_integer(cells, "cells")
    noise = AdditiveNoise(law=DiscreteLaplace(scale), sensitivity=sensitivity(largest=1, changed=2), reads=reads)
    return SparseNoise(
        noise=noise, cells=count, threshold=noise.error(1 - between_zero_and_one(failure, "failure"), count)
    )


def smallest_published(points: SparseNoise, confidence: Number = Fraction(95, 100)) -> int:
    """Return the count from which a cell is published with at least this probability."""
    missed = 1 - between_zero_and_one(confidence, "confidence")
    return points.threshold + 1 + half_width(points.noise.law, 1 - 2 * missed)

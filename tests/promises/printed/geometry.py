"""The papers' printed charges for shaped noise, and bodies that leave somebody out."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from sfumato.papers.query_release.geometry import RecursiveNoise, ShapedNoise
from sfumato.papers.query_release.geometry.fan import Fan


def fewer_generators(mechanism: ShapedNoise, kept: int) -> ShapedNoise:
    """Return noise for the body of the first generators only."""
    return replace(mechanism, body=Fan(mechanism.lattice.points(mechanism.generators[:kept])))


def charged_by_natural_log(mechanism: RecursiveNoise, dimension: int) -> RecursiveNoise:
    """Return the levels as if L of them at epsilon each cost epsilon·ln d together (QR:D5)."""
    total = mechanism.loss().person.epsilon
    each = Fraction(total / Fraction(math.log(dimension))).limit_denominator(1000)
    return replace(mechanism, levels=tuple(replace(level, rate=each) for level in mechanism.levels))

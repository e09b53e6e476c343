"""Laws at many scales, narrow to wide, for the tests to walk through."""

from __future__ import annotations

from fractions import Fraction

from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Geometric, RoundedNormal, SinhNormal

NARROW = [
    DiscreteLaplace(Fraction(1, 100)),
    DiscreteLaplace(1),
    DiscreteLaplace(Fraction(7, 3)),
    DiscreteLaplace(10),
    Geometric(3),
    DiscreteGaussian(Fraction(1, 10_000)),
    DiscreteGaussian(Fraction(1, 2)),
    DiscreteGaussian(100),
    RoundedNormal(Fraction(1, 10_000)),
    RoundedNormal(Fraction(1, 2)),
    RoundedNormal(Fraction(179, 10)),
    SinhNormal(Fraction(1, 10_000), Fraction(1, 100)),
    SinhNormal(Fraction(289, 100), 3),
    SinhNormal(25, 10),
    SinhNormal(400, 2),
]
WIDE = [
    DiscreteLaplace(200),
    DiscreteLaplace(1000),
    DiscreteLaplace(10**6),
    DiscreteLaplace(10**9),
    Geometric(10**5),
    DiscreteGaussian(200**2),
    DiscreteGaussian(10**6),
    DiscreteGaussian(10**12),
    DiscreteGaussian(10**18),
    RoundedNormal(300**2),
    RoundedNormal(10**12),
    RoundedNormal(10**18),
    SinhNormal(10**6, 2000),
    SinhNormal(10**12, 2 * 10**6),
    SinhNormal(10**18, 2 * 10**9),
    SinhNormal(10**8, 300),
]
ALL = NARROW + WIDE


def name(law: object) -> str:
    return str(law).replace("Fraction", "").replace(", 1)", ")")

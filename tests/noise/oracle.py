"""Canonne, Kamath and Steinke's rejection samplers in big integers: independent of everything in noise/."""

from __future__ import annotations

import math
import random  # noqa: TID251 - an oracle must not share a source with what it judges
from fractions import Fraction


class Oracle:
    """Draws slowly, from rational arithmetic alone."""

    def __init__(self, seed: int) -> None:
        self._below = random.Random(seed).randrange

    def bernoulli(self, p: Fraction) -> bool:
        return self._below(p.denominator) < p.numerator

    def bernoulli_exp(self, x: Fraction) -> bool:
        if x > 1:
            return all(self.bernoulli_exp(Fraction(1)) for _ in range(math.floor(x))) and self.bernoulli_exp(x % 1)
        k = 1
        while self.bernoulli(x / k):
            k += 1
        return k % 2 == 1

    def laplace(self, scale: Fraction) -> int:
        s, t = scale.denominator, scale.numerator
        while True:
            u = self._below(t)
            if not self.bernoulli_exp(Fraction(u, t)):
                continue
            v = 0
            while self.bernoulli_exp(Fraction(1)):
                v += 1
            y, negative = (u + t * v) // s, self._below(2)
            if not (negative and y == 0):
                return -y if negative else y

    def gaussian(self, variance: Fraction) -> int:
        t = math.isqrt(math.floor(variance)) + 1
        while True:
            y = self.laplace(Fraction(t))
            if self.bernoulli_exp((abs(y) - variance / t) ** 2 / (2 * variance)):
                return y

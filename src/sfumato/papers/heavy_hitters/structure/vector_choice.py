"""Choosing a vector response: by what one device may spend, or by the law of each bit."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotProvable
from sfumato.exact import Number, above_zero, between_zero_and_one, enclose_up, positive_integer, rational_ball
from sfumato.exact.search import smallest_between
from sfumato.papers.heavy_hitters.structure.vector import MOST_BITS, VectorResponse, masses
from sfumato.privacy import Pure
from sfumato.privacy.coins import COIN, check_epsilon, report_epsilon

_SHELLS = 96
"""At most this many ends of a shell are tried on each side."""
_RATES = 60
Floats = NDArray[np.float64]
Ends = NDArray[np.int64]


def vector_response(spend: Pure, bits: int) -> VectorResponse:
    """Return the vector response with the strongest signal for a bit that was found within a spend.

    Shells and bit epsilons are tried on a grid, up to 95 bits with every shell; the loss is exact in any case.

    >>> from sfumato import Pure
    >>> chosen = vector_response(Pure(1), bits=64)
    >>> chosen.loss().person.epsilon <= 1
    True
    """
    target, count = report_epsilon(spend), _bits(bits)
    ends = np.unique(np.linspace(0, count, min(count + 1, _SHELLS)).round().astype(np.int64))
    shells = [_best(count, float(target), ends, ends)[1:]]
    if len(ends) <= count:
        step = -(-count // len(ends))
        near = np.arange(-step, step + 1)
        shells.append(_best(count, float(target), *(np.clip(near + end, 0, count) for end in shells[0]))[1:])
    return max((_calibrated(count, *shell, target) for shell in shells), key=lambda found: found.signal)


def independent_bits(bit_epsilon: Number, bits: int, distance: Number) -> VectorResponse:
    """Return the cheapest vector response whose reports are within `distance` of independent flips.

    Each bit flips as in randomized response at `bit_epsilon`. `distance` bounds how much likelier any event about
    the report is, or less likely, than if all bits were independent: the shell is the narrowest that keeps it.

    >>> from sfumato import Pure
    >>> like = independent_bits("0.05", bits=64, distance="0.01")
    >>> f"{float(like.loss().person.epsilon):.3f}", like.stray <= 0.01
    ('1.000', True)
    """
    rate, count = check_epsilon(above_zero(bit_epsilon, "bit_epsilon")), _bits(bits)
    allowed = between_zero_and_one(distance, "distance")
    flip = _flip(rate)
    law = masses(count, float(Fraction(flip, COIN)))
    below = np.concatenate([[0.0], np.cumsum(law)])
    above = np.concatenate([np.cumsum(law[::-1])[::-1], [0.0]])
    for width in range(count + 1):
        stray = below[: count + 1 - width] + above[width + 1 :]
        least = int(np.argmin(stray))
        chosen = VectorResponse(bits=count, flip=flip, least=least, most=least + width)
        if stray[least] <= float(allowed) * (1 + 1e-9) and chosen.stray <= allowed:
            return chosen
    raise AssertionError("The shell of all numbers strays nowhere.")


def _bits(bits: int) -> int:
    count = positive_integer(bits, "bits")
    VectorResponse(bits=count, flip=1, least=0, most=min(count, MOST_BITS))
    return count


def _flip(rate: Fraction) -> int:
    """Return the chance of a flip at a rate, in units of 2^-63, rounded up."""
    chance = enclose_up(lambda: 1 / (1 + rational_ball(rate).exp()), 63)
    assert chance is not None
    return min(int(chance * COIN), COIN // 2)


def _rates(target: float, bits: int) -> list[float]:
    """Return bit epsilons from what every bit may spend alone, up to the whole spend."""
    return [target / bits * bits ** (step / _RATES) for step in range(_RATES + 1)]


def _best(bits: int, target: float, firsts: Ends, lasts: Ends) -> tuple[float, int, int]:
    """Return (signal, least, most) of the best of these shells, over all bit epsilons."""
    least, most = (part.ravel() for part in np.meshgrid(firsts, lasts, indexing="ij"))
    least, most = least[least <= most], most[least <= most]
    return max(_best_shell(bits, rate, target, least, most) for rate in _rates(target, bits))


def _best_shell(bits: int, rate: float, target: float, least: Ends, most: Ends) -> tuple[float, int, int]:
    """Return (signal, least, most) of the best shell at a bit epsilon; the signal is -inf if none is within target."""
    chance = 1 / (1 + math.exp(rate))
    own, even = masses(bits, chance), masses(bits, 0.5)
    stray, flat = (_outside(law, least, most) for law in (own, even))
    moved, moved_flat = (_outside(law * np.arange(bits + 1), least, most) for law in (own, even))
    full = flat <= 0
    with np.errstate(divide="ignore"):  # a shell outside which nothing has a float's weight is left out below
        level = np.log(np.where(full, 1, stray) / np.where(full, 1, flat)) - bits * math.log(2)
    first, last = (end * math.log(chance) + (bits - end) * math.log1p(-chance) for end in (least, most))
    level = np.where(full, first, level)
    loss = np.maximum(first, level) - np.minimum(last, level)
    wrong = chance - (moved - stray * np.where(full, 0, moved_flat / np.where(full, 1, flat))) / bits
    signal = np.where((loss <= target) & np.isfinite(loss), 1 - 2 * wrong, -np.inf)
    best = int(np.argmax(signal))
    return float(signal[best]), int(least[best]), int(most[best])


def _outside(law: Floats, least: Ends, most: Ends) -> Floats:
    below = np.concatenate([[0.0], np.cumsum(law)])
    above = np.concatenate([np.cumsum(law[::-1])[::-1], [0.0]])
    return np.asarray(below[least] + above[most + 1])


def _calibrated(bits: int, least: int, most: int, target: Fraction) -> VectorResponse:
    """Return the smallest chance of a flip, to within one part in 2^40, at which a shell keeps the target."""
    most_flips = COIN // 2

    def made(flip: int) -> VectorResponse:
        return VectorResponse(bits=bits, flip=flip, least=least, most=most)

    def keeps(flip: int) -> bool:
        epsilon = made(flip).loss().person.epsilon
        return bool(epsilon <= target)

    if not keeps(most_flips):
        raise NotProvable("No chance of a flip keeps this spend; ask for a larger one.")
    return made(smallest_between(1, most_flips, keeps, parts=1 << 40))

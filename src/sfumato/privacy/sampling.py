"""What a secret random sample is worth: the amplification theorems as exact numbers, rounded up.

All functions bound the divergence between s·P + (1-s)·R and s·Q + (1-s)·R, in both orders, where s is the
public sampling rate and the curve `base` bounds every pair of P, Q, R. For Poisson sampling Q = R or P = R.
Each returned number is an upper bound that holds as it stands; searches only decide how good it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from sfumato.exact import Extended, Infinity, rational_ball, significant_up
from sfumato.exact.enclosure import Ball, precision
from sfumato.exact.search import halved
from sfumato.privacy.conversion import nearby
from sfumato.privacy.curve import Curve

DENSE_TERMS = 64
"""Up to here the binomial sum is added term by term, beyond it in blocks that grow geometrically."""

LARGEST_RHO = Fraction(1, 10)
"""Theorem 12 is proved for rho up to one tenth."""

WORKING_BITS = 192

CONSTANT = 13
"""Its constant: (rho, omega') becomes (13 s² rho, omega'/2)."""


@dataclass(frozen=True)
class _Moments:
    """Bounds on E|X|^j for X = (P - Q)/U, where U is the second law: exact inputs of the binomial sum.

    `square` is tau(2), `partner` an order b and its tau, `pieces` are (first, last, tau(last)) that cover
    j = 3 … a; a piece without tau uses the partner.
    """

    square: Fraction
    partner: tuple[Fraction, Fraction]
    pieces: tuple[tuple[int, int, Fraction | None], ...]


@lru_cache(maxsize=1 << 14)
def binomial_bound(base: Curve, rate: Fraction, order: int, poisson: bool) -> Fraction | None:
    """Bound (a-1)·D_a at a whole order a by the binomial expansion, None if it is infinite (TCDP:C-SUBWBK).

    log{1 + s² C(a,2) m_2 + sum_{j=3..a} s^j C(a,j) m_j}, where m_2 = min(4(e^{tau(2)} - 1), 2 e^{tau(2)}) for
    samples of a fixed size and e^{tau(2)} - 1 for Poisson samples. The printed m_j = 2 e^{(j-1) tau(j)} does
    not vanish with tau; moments are log-convex in j (Lyapunov), so m_2^{(b-j)/(b-2)} m_b^{(j-2)/(b-2)} with any
    b >= j is valid too, and the smaller one is taken.
    """
    moments = _moments(base, rate, order, poisson)
    if moments is None:
        return None
    if moments.square == 0:
        return Fraction(0)

    return upper_end(lambda: _binomial_sum(moments, rate, order, poisson).log1p())


def _binomial_sum(moments: _Moments, rate: Fraction, order: int, poisson: bool) -> Ball:
    s = rational_ball(rate)
    square = _square(moments.square, poisson)
    b, tau_b = map(rational_ball, moments.partner)
    rise = ((rational_ball(2).log() + (b - 1) * tau_b - square.log()) / (b - 2)).exp()
    weight = s**2 * math.comb(order, 2)
    moment = square
    amount = weight * square
    blocks = []
    for first, last, tau in moments.pieces:
        if first > DENSE_TERMS:
            growth = rise if tau is None else rational_ball(tau).exp()
            blocks.append((first, last, s * growth, square / rise**2 if tau is None else 2 / growth))
            continue
        weight *= s * (order - first + 1) / first
        moment *= rise
        amount += weight * (moment if tau is None else 2 * rational_ball((first - 1) * tau).exp())
    return amount + _block_sums(order, blocks)


def upper_end(evaluate: Callable[[], Ball]) -> Fraction | None:
    """Return a number with 64 significant bits that is proved to be at least the value; None if none is.

    One evaluation: these bounds need to be safe, not the closest ones.
    """
    with precision(WORKING_BITS):
        ball = evaluate()
        if not ball.is_finite():
            return None
        mantissa, exponent = (int(part) for part in ball.upper().man_exp())
    excess = max(0, mantissa.bit_length() - 64)
    mantissa, exponent = -(-mantissa >> excess), exponent + excess
    return Fraction(mantissa << exponent) if exponent >= 0 else Fraction(mantissa, 1 << -exponent)


def _square(tau: Fraction, poisson: bool) -> Ball:
    excess = rational_ball(tau).expm1()
    return excess if poisson else (4 * excess).min(2 * (excess + 1))


def _moments(base: Curve, rate: Fraction, order: int, poisson: bool) -> _Moments | None:
    """Choose, in floats, which bound on the moments serves each block best."""
    square = base.at(2)
    if isinstance(square, Infinity):
        return None
    blocks = list(_blocks(order))
    taus = [base.at(last) for _, last in blocks]
    if any(isinstance(tau, Infinity) for tau in taus):
        return None
    if not blocks or square == 0:
        return _Moments(square, (Fraction(3), Fraction(0)), ())
    with precision(64):
        level = float(_square(square, poisson).log())
    partner, rise = min((_partner(base, b, level) for b in _partners(base.end, order)), key=lambda pair: pair[1])
    pieces = tuple(
        (first, last, tau if isinstance(tau, Fraction) and _direct(tau, last) < level + (last - 2) * rise else None)
        for (first, last), tau in zip(blocks, taus, strict=True)
    )
    return _Moments(square, partner, pieces)


def _direct(tau: Fraction, order: int) -> float:
    return math.log(2) + (order - 1) * nearby(tau)


def _partner(base: Curve, b: Fraction, level: float) -> tuple[tuple[Fraction, Fraction], float]:
    """Return an order with its tau, and the slope of the line from (2, level) to it."""
    tau = base.at(b)
    if isinstance(tau, Infinity):
        return (b, Fraction(0)), math.inf
    return (b, tau), (math.log(2) + float(b - 1) * nearby(tau) - level) / float(b - 2)


def _partners(end: Extended, order: int) -> Iterator[Fraction]:
    """Yield orders b from a on; log E|X|^b being convex, the best line from order 2 touches one of them closely."""
    b = Fraction(max(order, 3))
    last = b * 256 if isinstance(end, Infinity) else end
    while b < last:
        yield b
        b = Fraction(math.ceil(b * 3 / 2))
    if b >= last >= order and not isinstance(end, Infinity):
        yield max(last, Fraction(order))


def _blocks(order: int) -> Iterator[tuple[int, int]]:
    """Yield (first, last) that cover j = 3 … order, one by one at first and then growing."""
    first = 3
    while first <= order:
        last = first if first <= DENSE_TERMS else min(order, first + first // 32)
        yield first, last
        first = last + 1


def _block_sums(order: int, blocks: list[tuple[int, int, Ball, Ball]]) -> Ball:
    """Enclose a bound on the sum of factor·C(order, j)·growth^j over j = first … last of every block.

    The ratio of neighbouring terms falls with j, so no term exceeds the first one times a power of its ratio.
    """
    amount = rational_ball(0)
    whole = rational_ball(order + 1).lgamma() if blocks else amount
    for first, last, growth, factor in blocks:
        choose = (whole - _log_factorial(first, WORKING_BITS) - rational_ball(order - first + 1).lgamma()).exp()
        ratio = (growth * (order - first) / (first + 1)).max(rational_ball(1))
        amount += factor * choose * growth**first * (last - first + 1) * ratio ** (last - first)
    return amount


@lru_cache(maxsize=1 << 12)
def _log_factorial(number: int, bits: int) -> Ball:
    with precision(bits):
        return rational_ball(number + 1).lgamma()


@lru_cache(maxsize=1 << 14)
def numeric_bound(base: Curve, rate: Fraction, order: Fraction) -> Fraction | None:
    """Bound (a-1)·D_a at any order by the inequality inside the proof of Theorem 12 (TCDP:C-SUBNUM).

    log{1 + 4a(a-1)s² (e^{tau(2)} - 1) + min_b (a s)^a ((a-1)s)^{b-a} e^{(b-1) tau(b)}} over b >= a; every b
    is valid, a good one is looked for. None if the curve does not reach order 2 or a.
    """
    second = base.at(2)
    if isinstance(second, Infinity) or order > base.end:
        return None
    chosen = _best_partner(base, float(rate), order)
    loss = base.at(chosen)
    if isinstance(loss, Infinity):
        return None

    def evaluate() -> Ball:
        a, b, s = rational_ball(order), rational_ball(chosen), rational_ball(rate)
        square = 4 * a * (a - 1) * s**2 * rational_ball(second).expm1()
        exponent = a * (a * s).log() + (b - a) * ((a - 1) * s).log() + (b - 1) * rational_ball(loss)
        return (square + exponent.exp()).log1p()

    return upper_end(evaluate)


def _best_partner(base: Curve, rate: float, order: Fraction) -> Fraction:
    a = float(order)
    slope = math.log((a - 1) * rate)

    def exponent(candidate: float) -> float:
        return (candidate - a) * slope + (candidate - 1) * base.float_at(candidate)

    last = 1024 * a if isinstance(base.end, Infinity) else float(base.end)
    factors = [(last / a) ** (i / 24) for i in range(25)]
    best = min((a * factor for factor in factors), key=exponent)
    near = Fraction(best).limit_denominator(1 << 10)
    ceiling = Fraction(1 << 60) if isinstance(base.end, Infinity) else base.end
    return min(max(near, order), ceiling)


def pure_bound(epsilon: Fraction, rate: Fraction) -> Fraction:
    """Return log(1 + s(e^eps - 1)), the pure loss of a sampled mechanism (TCDP:C-SUBDP).

    >>> round(float(pure_bound(Fraction(1), Fraction(1, 100))), 6)
    0.017037
    """
    return attribute_bound(epsilon, epsilon, rate)


def attribute_bound(loss: Fraction, person: Fraction, rate: Fraction) -> Fraction:
    """Return the pure loss of some attributes after sampling, from theirs and the person's (PDP:C-18).

    log(1 + p(1 - e^{-l}) / ((1-p) e^{-L} + p e^{-l})). A sampled and an unsampled table differ in a whole
    record, so the usual formula on l alone would be wrong.
    """
    if loss == 0 or rate == 1:
        return loss

    def evaluate() -> Ball:
        kept = rational_ball(-loss).exp()
        swapped = rational_ball(1 - rate) * rational_ball(-person).exp()
        return (-rational_ball(rate) * rational_ball(-loss).expm1() / (swapped + rational_ball(rate) * kept)).log1p()

    found = significant_up(evaluate)
    return loss if found is None else min(found, loss)


def admissible_orders(rho: Fraction, rate: Fraction) -> tuple[Fraction, Fraction] | None:
    """Return the interval of omega' that Condition (5) of Theorem 12 allows, rounded inward; None if empty.

    2 + log2(1/rho) + log2(1/((w-2)s)) <= w <= (1/rho) log(1/((w-2)s)): the left side minus w falls with w, and
    w·rho + log((w-2)s) rises.

    >>> low, high = admissible_orders(Fraction(1, 10), Fraction(1, 100))
    >>> round(float(low), 2), round(float(high), 2)
    (9.13, 18.2)
    """

    def long_enough(w: Fraction) -> Ball:
        two = rational_ball(2).log()
        return 2 - (rational_ball(rho).log() + rational_ball((w - 2) * rate).log()) / two - rational_ball(w)

    def short_enough(w: Fraction) -> Ball:
        return rational_ball(w * rho) + rational_ball((w - 2) * rate).log()

    low = _certain_root(lambda w: long_enough(w) <= 0)
    high = _certain_root(lambda w: not short_enough(w) <= 0)
    if low is None or high is None or low[1] > high[0]:
        return None
    return low[1], high[0]


def _certain_root(reached: Callable[[Fraction], bool]) -> tuple[Fraction, Fraction] | None:
    """Return neighbouring dyadic numbers above 2 of which the second has reached the property, the first not."""
    outside, inside = Fraction(2) + Fraction(1, 1 << 60), Fraction(4)
    with precision(256):
        if reached(outside):
            return None
        while not reached(inside):
            outside, inside = inside, 2 * inside
            if inside > 1 << 200:
                return None
        return halved(outside, inside, reached, 80)

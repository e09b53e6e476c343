"""Shares of people with intervals, from exact counts or from counts that carry the noise of privacy (MD-AUDIT).

A share is known by two sums of cells: those that have the outcome, and the rest. Without noise the interval is that of
Clopper and Pearson; with noise it is Fieller's, whose ends solve a quadratic equation in closed form. Two groups are
compared by recovering their variances from their intervals (MOVER). Where rows are counted and a person may have k of
them, N rows are as sure as N/k people are, and no surer: rows of one person may all be alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, inf, isfinite, log, sqrt
from typing import NamedTuple


class Ends(NamedTuple):
    """The lower and the upper end of an interval."""

    low: float
    high: float


@dataclass(frozen=True)
class CellNoise:
    """The noise that privacy added to each cell: its variance in people, and whether its tails are those of Laplace.

    `rows` is how many of the counted rows one person may have; above 1, rows are counted in place of people. `luck`
    says whether intervals are about the population that these people were drawn from, or about these people alone.
    """

    variance: float = 0.0
    heavy: bool = False
    rows: int = 1
    luck: bool = True

    def around(self, count: float, cells: int, confidence: float = 0.95) -> Ends:
        """Return between which numbers of people the true sum of cells lies, whose noisy sum is a count.

        >>> [round(end) for end in CellNoise(8.0, heavy=True).around(30, 4)]
        [18, 42]
        """
        from scipy.special import ndtri

        normal = float(ndtri((1 + confidence) / 2))
        multiple = max(normal, log(1 / (1 - confidence)) / sqrt(2)) if self.heavy else normal
        far = multiple * sqrt(cells * self.variance)
        return Ends(max(0.0, count - far), max(0.0, count + far))


EXACT = CellNoise()
ROUNDS = 3
"""How often an end of an interval is looked for with the tails that hold there."""


@dataclass(frozen=True)
class Share:
    """`part` of `part + rest`; `cells` says of how many noisy cells each of the two is the sum.

    `spread` is the sum of squared deviations of people's probabilities where these are known: their mean is then far
    better known than a share of decisions.

    >>> Share(6, 4).value
    0.6
    """

    part: float
    rest: float
    cells: tuple[int, int] = (1, 1)
    spread: float | None = None

    @property
    def total(self) -> float:
        """How many people it is a share of, with noise where there is some."""
        return self.part + self.rest

    @property
    def value(self) -> float:
        """The share itself, between 0 and 1; NaN of nobody."""
        above, below = max(self.part, 0.0), max(self.rest, 0.0)
        return above / (above + below) if above + below > 0 else float("nan")

    def interval(self, confidence: float = 0.95, noise: CellNoise = EXACT) -> Ends:
        """Return the interval of the share in the population that these people were drawn from, or among them alone.

        >>> [round(end, 3) for end in Share(6, 4).interval()]
        [0.262, 0.878]
        >>> Share(24, 16).interval(noise=CellNoise(rows=4)) == Share(6, 4).interval()
        True
        """
        if noise.rows > 1 and noise.luck:
            # In units of a person's most rows the table is one of so many fewer people, whose rows are all alike.
            people = replace(self, part=self.part / noise.rows, rest=self.rest / noise.rows)
            return people.interval(confidence, CellNoise(noise.variance / noise.rows**2, noise.heavy))
        if noise.variance > 0:
            return _fieller(self, 1 - confidence, noise)
        if self.total <= 0:
            return Ends(0.0, 1.0)
        if self.spread is not None:
            return _of_probabilities(self, 1 - confidence)
        return _clopper_pearson(self, 1 - confidence)


def _clopper_pearson(share: Share, alpha: float) -> Ends:
    from scipy.special import betaincinv

    part, rest = share.part, share.rest
    low = 0.0 if part <= 0 else float(betaincinv(part, rest + 1, alpha / 2))
    high = 1.0 if rest <= 0 else float(betaincinv(part + 1, rest, 1 - alpha / 2))
    return Ends(low, high)


def _of_probabilities(share: Share, alpha: float) -> Ends:
    """Return Student's interval; a quarter of a person is added to the spread, so that equal values are not certain."""
    from scipy.special import stdtrit

    people, spread = share.total, share.spread or 0.0
    if people < 2:
        return Ends(0.0, 1.0)
    error = float(stdtrit(people - 1, 1 - alpha / 2)) * sqrt((spread + 0.25) / (people - 1) / people)
    return Ends(max(0.0, share.value - error), min(1.0, share.value + error))


def _fieller(share: Share, alpha: float, noise: CellNoise) -> Ends:
    """Return all p for which (1 - p)·part - p·rest is within what sampling and noise explain.

    Laplace noise has heavier tails than sampling has, so the multiple of the deviation grows with the part of the
    variance that is noise. That part is taken at the end itself: of a rare outcome nearly all of it is noise, although
    most of it would be sampling at a rate of one half. Starting from the whole multiple, every round comes nearer to
    that end and stays outside of it.
    """
    from scipy.special import ndtri

    normal = float(ndtri(1 - alpha / 2))
    (one, two), variance = share.cells, noise.variance
    both = (one + two) * variance
    # About these people alone there is no sampling: the noise is all that is not known.
    people = max(share.total, 1.0) + normal * sqrt(both) / 2 if noise.luck else 0.0
    further = max(0.0, log(1 / alpha) / sqrt(2) - normal) if noise.heavy else 0.0
    low_known = abs(share.part) > 0.5 + (normal + further) * sqrt(one * variance)
    high_known = abs(share.rest) > 0.5 + (normal + further) * sqrt(two * variance)

    def root(part: float, sign: int, multiple: float) -> float:
        square = multiple**2
        a = share.total**2 + square * people - square * both
        b = -2 * part * share.total - square * people + 2 * square * one * variance
        inside = b * b - 4 * a * (part**2 - square * one * variance)
        if a <= 0 or inside < 0:
            return 0.0 if sign < 0 else 1.0
        return min(1.0, max(0.0, (-b + sign * sqrt(inside)) / (2 * a)))

    def end(part: float, sign: int) -> float:
        rate = root(part, sign, normal + further)
        for _ in range(ROUNDS if further else 0):
            added = ((1 - rate) ** 2 * one + rate**2 * two) * variance
            rate = root(part, sign, normal + further * added / (added + people * rate * (1 - rate)))
        return rate

    low = end(share.part - 0.5, -1) if low_known else 0.0
    high = end(share.part + 0.5, 1) if high_known else 1.0
    return Ends(low, max(low, high))


def ratio_interval(one: Share, two: Share, confidence: float = 0.95, noise: CellNoise = EXACT) -> Ends:
    """Return the interval of one share divided by another; the groups share no people, or at most `noise.rows` rows.

    >>> [round(end, 2) for end in ratio_interval(Share(30, 70), Share(60, 40))]
    [0.34, 0.7]
    """
    first, second = one.interval(confidence, noise), two.interval(confidence, noise)
    recovered = _recovered_ratio(_inside(one.value, first), first, _inside(two.value, second), second)
    if not {first.low, first.high, second.low, second.high} & {0.0, 1.0}:
        return recovered
    # At the ends of the range the recovery covers too little: each share at half the error, whatever happens together.
    halved = 1 - (1 - confidence) / 2
    wide, other = one.interval(halved, noise), two.interval(halved, noise)
    low = wide.low / other.high if other.high > 0 else 0.0
    high = wide.high / other.low if other.low > 0 else inf
    return Ends(min(recovered.low, low), max(recovered.high, high))


def difference_interval(one: Share, two: Share, confidence: float = 0.95, noise: CellNoise = EXACT) -> Ends:
    """Return the interval of one share minus another.

    >>> [round(end, 2) for end in difference_interval(Share(30, 70), Share(60, 40))]
    [-0.43, -0.16]
    """
    first, second = one.interval(confidence, noise), two.interval(confidence, noise)
    p, q = _inside(one.value, first), _inside(two.value, second)
    low = p - q - sqrt((p - first.low) ** 2 + (second.high - q) ** 2)
    high = p - q + sqrt((first.high - p) ** 2 + (q - second.low) ** 2)
    if {first.low, first.high, second.low, second.high} & {0.0, 1.0}:
        halved = 1 - (1 - confidence) / 2
        wide, other = one.interval(halved, noise), two.interval(halved, noise)
        low, high = min(low, wide.low - other.high), max(high, wide.high - other.low)
    return Ends(max(-1.0, low), min(1.0, high))


def _recovered_ratio(p: float, first: Ends, q: float, second: Ends) -> Ends:
    low, high = 0.0, inf
    if p > 0 and q > 0:
        middle = log(p) - log(q)
        if first.low > 0 and second.high > 0:
            low = exp(middle - sqrt((log(p) - log(first.low)) ** 2 + (log(second.high) - log(q)) ** 2))
        if second.low > 0 and first.high > 0:
            high = exp(middle + sqrt((log(first.high) - log(p)) ** 2 + (log(q) - log(second.low)) ** 2))
    return Ends(low, high)


def _inside(value: float, ends: Ends) -> float:
    """Return an estimate clamped into its own interval; the middle where there is no estimate."""
    return min(max(value, ends.low), ends.high) if isfinite(value) else (ends.low + ends.high) / 2

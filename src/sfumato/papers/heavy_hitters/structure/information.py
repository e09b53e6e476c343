"""How much randomized reports can tell about the people behind them, and what tests chosen after them are worth.

MAXINFO: whatever the joint distribution of the data, an event that depends on data and reports is at most e^nats
times likelier (plus beta) than if the reports came from fresh data of the same kind. So a test that was chosen after
looking at the reports, on the very data that made them, is honest at a smaller level.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from sfumato.errors import NotProvable, ParameterError, UnsupportedSpend, warn
from sfumato.exact import Number, between_zero_and_one, enclose_up, rational_ball
from sfumato.exact.rational import show
from sfumato.papers.heavy_hitters.structure.groups import Method, group_privacy
from sfumato.privacy import Pure

USELESS = Fraction(1, 10**12)
"""A test at a level below this one hardly ever rejects anything."""
_LEVEL_BITS = 128
_SHARES = tuple(Fraction(share, 100) for share in (1, 2, 5, 10, 15, 20, 25, 30, 35, 40, 50, 60, 75))
"""Parts of the level that are tried as beta."""


@dataclass(frozen=True)
class Information:
    """At most `nats` of max-information, except for a probability `beta`. Sums are for one analysis after another.

    >>> from sfumato import Pure
    >>> told = max_information(10_000, Pure("0.01"), beta="0.005")
    >>> f"{told.bits:.2f} bits", f"{float(told.threshold(0.05)):.4f}"
    ('3.73 bits', '0.0034')
    """

    nats: Fraction
    beta: Fraction

    @property
    def bits(self) -> float:
        """The same in bits, rounded up."""
        bits = enclose_up(lambda: rational_ball(self.nats) / rational_ball(2).log(), 64)
        assert bits is not None
        return float(bits)

    def __add__(self, other: Information) -> Information:
        return Information(self.nats + other.nats, self.beta + other.beta)

    def threshold(self, level: Number) -> Fraction:
        """Return the p-value below which a test chosen after the reports rejects falsely at most at `level`.

        That is (level - beta)·e^-nats, rounded down (C-MAXI-P). beta must be fixed before the data are seen.
        """
        wanted = between_zero_and_one(level, "level")
        if self.beta >= wanted:
            raise NotProvable(
                f"beta must be below the level, and {show(self.beta)} is not below {show(wanted)}; "
                "choose a smaller beta before the data are seen.",
                {"beta": self.beta, "level": wanted},
            )
        negative = enclose_up(
            lambda: -rational_ball(wanted - self.beta) * (-rational_ball(self.nats)).exp(), _LEVEL_BITS
        )
        assert negative is not None
        if -negative < USELESS:
            warn(
                "These reports tell so much that a test chosen after them is useless; keep some people apart for "
                "the test, or spend less: users·epsilon² should be about 1."
            )
        return -negative

    def __str__(self) -> str:
        return f"at most {show(self.nats)} nats, except with probability {show(self.beta)}"


def max_information(users: int, spend: Pure, beta: Number, *, method: Method = "exact") -> Information:
    """Return how much the reports of `users` devices can tell about their data, for every joint distribution.

    `exact` is C-MAXI-X: the smallest epsilon of the whole group at delta = beta. `paper` is Theorem 4.5,
    n·epsilon²/2 + epsilon·√(2n·log(1/beta)). Only for randomizers that are fixed before any report is seen.

    >>> from sfumato import Pure
    >>> print(max_information(10_000, Pure("0.01"), beta="0.005"))
    at most 2.58754 nats, except with probability 0.005
    """
    if not isinstance(spend, Pure):
        raise UnsupportedSpend(f"Max-information is known for Pure spends, not for {spend!r}; write Pure(0.01).")
    found = group_privacy(spend, users, beta, method=method)
    return Information(found.epsilon, found.delta)


def add_information(parts: Iterable[Information]) -> Information:
    """Return what several collections from the same people tell together: nats and betas add.

    A later collection may be planned after looking at the earlier ones.

    >>> from sfumato import Pure
    >>> week = [max_information(10_000, Pure("0.001"), beta="0.001")] * 7
    >>> print(add_information(week))
    at most 1.3827 nats, except with probability 0.007
    """
    found = list(parts)
    if not found or not all(isinstance(part, Information) for part in found):
        raise ParameterError("parts must be what max_information() returned, at least one of them.")
    return Information(sum((part.nats for part in found), Fraction(0)), sum((part.beta for part in found), Fraction(0)))


@dataclass(frozen=True)
class AdaptiveLevel:
    """Run the test at `threshold`; it then rejects falsely with probability at most `level`.

    >>> from sfumato import Pure
    >>> honest = adaptive_p_value(0.05, 10_000, Pure("0.01"))
    >>> print(honest.information)
    at most 2.14766 nats, except with probability 0.015
    >>> honest.threshold < honest.level
    True
    """

    level: Fraction
    threshold: Fraction
    information: Information


def adaptive_p_value(level: Number, users: int, spend: Pure, beta: Number | None = None) -> AdaptiveLevel:
    """Return the p-value at which a test chosen after the reports must reject to be honest at `level`.

    Without `beta` the best of thirteen is taken; this looks at public numbers only, so it may be done at any time.

    >>> from sfumato import Pure
    >>> found = adaptive_p_value(0.05, 10_000, Pure("0.01"))
    >>> f"{float(found.threshold):.5f}", float(found.information.beta)
    ('0.00409', 0.015)
    """
    wanted = between_zero_and_one(level, "level")
    betas = [share * wanted for share in _SHARES] if beta is None else [between_zero_and_one(beta, "beta")]
    choices = [max_information(users, spend, choice) for choice in betas]
    best = max(choices, key=lambda found: _promise(found, wanted))
    return AdaptiveLevel(wanted, best.threshold(wanted), best)


def _promise(found: Information, level: Fraction) -> float:
    """Return the logarithm of the threshold, nearly: only to choose."""
    left = float(level - found.beta)
    return (math.log(left) if left > 0 else -math.inf) - float(found.nats)

"""From any local randomizer, even an approximate one, to a pure one with reports of a few bits (GENPROT).

Public coins give each device a short list of outcomes of a reference input. The device keeps each outcome with a
chance that follows how much likelier its own value makes it, and sends the place of one that it kept. The chance is
clamped, so the report is pure whatever the randomizer is; the server reads the outcome as if the device had sent it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.errors import NotProvable, ParameterError, UnsupportedSpend
from sfumato.exact import Number, at_least_zero, between_zero_and_one, enclose_up, positive_integer, rational_ball
from sfumato.exact.enclosure import Ball
from sfumato.exact.rational import show
from sfumato.local.seed import Seed
from sfumato.mechanism import Event, Mechanism
from sfumato.noise import Noise
from sfumato.papers.heavy_hitters.structure.references import Reference
from sfumato.privacy import Approximate, Bound, Cost, Loss, Pure, require_bound
from sfumato.privacy.coins import COIN, LOSS_BITS

HALF = Fraction(1, 2)
MOST_CHOICES = 1 << 16
_SLACK = 40


@dataclass(frozen=True, kw_only=True)
class PureReport(Mechanism):
    """Send the place of one of `choices` public outcomes.

    Each outcome is kept with the chance `base`·ratio, in units of 2^-63; a chance below `low` or above `high`, or one
    that cannot be computed, becomes `base`. Promise: with p = low/2^63, r = high/2^63 and T choices, epsilon is the
    logarithm of the largest chance of a place, (r(1-(1-p)^T)/p + (1-r)(1-p)^(T-1))/T, over the smallest, the same
    with p and r exchanged. It holds for every seed and reference. Spec: GENPROT, C-APX2PURE-X.

    `run` takes (user, value): the public number of the device, which must not depend on its value, and the value.

    >>> from sfumato import Noise, Pure
    >>> from sfumato.papers.heavy_hitters.structure import TableReference
    >>> coin = TableReference({"no": ["0.55", "0.45"], "yes": ["0.45", "0.55"]}, reference="no")
    >>> few = pure_report(coin, Pure("0.21"), users=1_000, failure=0.01, seed=Seed(bytes(32)))
    >>> few.report_bits, float(few.loss().person.epsilon) <= 4 * 0.21
    (5, True)
    >>> few.outcome(17, few.run((17, "yes"), Noise(insecure_seed=1)))
    1
    """

    spec: ClassVar[str] = "GENPROT"

    reference: Reference
    seed: Seed
    choices: int
    low: int
    base: int
    high: int

    def __post_init__(self) -> None:
        if not isinstance(self.reference, Reference):
            raise ParameterError("reference must be a Reference; write a subclass with outcome() and ratio().")
        if positive_integer(self.choices, "choices") > MOST_CHOICES:
            raise ParameterError(f"choices must be at most {MOST_CHOICES}, and {self.choices} is above.")
        if not 0 < self.low <= self.base <= self.high <= COIN:
            raise ParameterError("Chances must be 0 < low <= base <= high <= 2^63; take them from pure_report().")

    def loss(self) -> Loss:
        """Return the exact worst ratio, as a logarithm rounded up."""
        low, high = Fraction(self.low, COIN), Fraction(self.high, COIN)

        def extreme(own: Ball, others: Ball) -> Ball:
            empty = (1 - others) ** (self.choices - 1)
            return own * (1 - empty * (1 - others)) / others + (1 - own) * empty

        def evaluate() -> Ball:
            below, above = rational_ball(low), rational_ball(high)
            return (extreme(above, below) / extreme(below, above)).log()

        epsilon = enclose_up(evaluate, LOSS_BITS)
        assert epsilon is not None
        return Loss.flat(Cost.pure(max(epsilon, Fraction(0))), self.reads, self.relation)

    @property
    def report_bits(self) -> int:
        """How many bits a report has."""
        return (self.choices - 1).bit_length()

    def outcome(self, user: int, place: int) -> Any:
        """Return the public outcome at a place of a device's list: what the server reads from a report."""
        size = self.reference.stream_bytes
        stream = self.seed.stream(f"pure report {user}", place, size)
        return self.reference.outcome(stream)

    def run(self, exact: tuple[int, Any], noise: Noise) -> int:
        """Return the report of one device: a place in its list."""
        user, value = exact
        kept = [place for place in range(self.choices) if noise.bernoulli(self._chance(user, value, place))]
        pool = kept or range(self.choices)
        return pool[noise.uniform(len(pool))]

    def _chance(self, user: int, value: Any, place: int) -> Fraction:
        """Return the chance to keep an outcome; privacy rests on the clamp below and on nothing above it."""
        try:
            weight = round(Fraction(self.reference.ratio(value, self.outcome(user, place))) * self.base)
        except Exception:  # whatever a value does to the ratio, the device must send a report like any other
            weight = self.base
        # Ratios that a float or the rounding put just outside still count as inside, or the edges would be lost.
        if not self.low - (self.low >> _SLACK) - 1 <= weight <= self.high + (self.high >> _SLACK) + 1:
            weight = self.base
        return Fraction(min(max(weight, self.low), self.high), COIN)

    def check(self, value: Any, user: int = 0) -> None:
        """For developers: compute a ratio openly and let its code raise; a device never raises but sends noise."""
        ratio = float(self.reference.ratio(value, self.outcome(user, 0)))
        if not 0 <= ratio < math.inf:
            raise ParameterError(f"ratio() must return a finite number of at least 0, and {ratio} is none.")

    def event(self) -> Event:
        """Return the public record; the reference is told by its description."""
        found = super().event()
        told = {"reference": repr(self.reference), "seed": self.seed.value.hex()}
        return replace(found, parameters={**found.parameters, **told})

    def distance(self, claim: Bound, users: int) -> Fraction:
        """Return how far the outcomes of all users together are from those of the randomizer itself, at most.

        n·((1 - base·(1 - d))^T + 3·d/2) in total variation, d = delta·(1 + e^-2epsilon)/(1 - e^-epsilon), rounded up,
        for a randomizer that keeps `claim`: an outcome that was kept has nearly its law, and exactly without a delta.
        Chances are also rounded to 2^-63, which is counted; ratios and outcomes are taken to be exact. C-APX2PURE.
        """
        epsilon, delta = _claim(claim)
        people = positive_integer(users, "users")
        low, high = _edges(Fraction(self.base, COIN), epsilon, delta)
        if self.low > low + 1 or self.high < high:
            raise NotProvable(
                "This report was made for a smaller epsilon and clamps ratios that the claim allows; make it for this "
                "claim by pure_report().",
                {"low": self.low, "high": self.high, "epsilon": epsilon},
            )

        def apart() -> Ball:
            strange = _strange(epsilon, delta)
            empty = (1 - rational_ball(Fraction(self.base, COIN)) * (1 - strange)) ** self.choices
            return people * (empty + 3 * strange / 2)

        total = enclose_up(apart, LOSS_BITS)
        # Two units: a chance is rounded, and so is the edge that it may be moved to.
        rounding = Fraction(2 * people * self.choices, COIN)
        return Fraction(1) if total is None else min(Fraction(1), total + rounding)


def pure_report(
    reference: Reference, claim: Bound, users: int, failure: Number, *, base: Number = HALF, seed: Seed | None = None
) -> PureReport:
    """Return the pure version of a randomizer that keeps `claim`: Pure(epsilon) or Approximate(epsilon, delta).

    The reports spend at most 4 epsilons of a Pure claim and at most 8 of an Approximate one; `loss()` says exactly.
    With probability 1 - `failure` or more, the outcomes of all `users` are as if the randomizer had sent them, as
    far as its delta allows; `distance()` says exactly. A smaller `base` serves a larger epsilon with more choices.

    >>> from sfumato import Approximate
    >>> from sfumato.papers.heavy_hitters.structure import gaussian_reference
    >>> claim = Approximate("0.1", 1e-12)
    >>> pure = pure_report(gaussian_reference(claim, radius=1), claim, users=10_000, failure=0.01)
    >>> pure.choices, pure.report_bits, f"{float(pure.loss().person.epsilon):.3f}"
    (21, 5, '0.800')
    """
    epsilon, delta = _claim(claim)
    people, missed = positive_integer(users, "users"), between_zero_and_one(failure, "failure")
    share = between_zero_and_one(base, "base")
    low, high = _edges(share, epsilon, delta)
    if high > COIN:
        reach = 2 * epsilon if delta else epsilon
        raise ParameterError(
            f"base·e^{show(reach)} must be at most 1, and {show(share)} is too large a base; "
            f"write base={math.exp(-float(reach)) * 0.99:.3g}, or claim a smaller epsilon."
        )
    strange = enclose_up(lambda: _strange(epsilon, delta), LOSS_BITS)
    if strange is None or strange >= 1:
        raise NotProvable(
            "With so large a delta the outcomes need have nothing to do with the randomizer's; use a smaller delta.",
            {"epsilon": epsilon, "delta": delta},
        )
    # Half of the failure for lists of which nothing is kept; the rest is there for the delta.
    wanted = math.log(2 * people / float(missed)) / -math.log1p(-float(share * (1 - strange)))
    choices = max(1, math.ceil(wanted * (1 + 1e-12)))
    return PureReport(
        reference=reference,
        seed=Seed.fresh() if seed is None else seed,
        choices=choices,
        low=low,
        base=int(share * COIN),
        high=high,
    )


def _claim(claim: Bound) -> tuple[Fraction, Fraction]:
    bound = require_bound(claim, "claim")
    if not isinstance(bound, (Pure, Approximate)) or bound.unit != "person" or bound.epsilon <= 0:
        raise UnsupportedSpend(f"claim must be Pure or Approximate, not {bound!r}; write Approximate(0.2, 1e-6).")
    return bound.epsilon, at_least_zero(bound.delta, "delta") if isinstance(bound, Approximate) else Fraction(0)


def _strange(epsilon: Fraction, delta: Fraction) -> Ball:
    """Return the mass that outcomes have at most whose ratio is outside of e^-2epsilon … e^2epsilon (C-OBS)."""
    power = rational_ball(epsilon)
    return rational_ball(delta) * (1 + (-2 * power).exp()) / -(-power).expm1()


def _edges(base: Fraction, epsilon: Fraction, delta: Fraction) -> tuple[int, int]:
    """Return the least and the largest chance that a randomizer with this claim may ask for, outside of C-OBS."""
    reach = 2 * epsilon if delta else epsilon
    return _edge(base, -reach), _edge(base, reach)


def _edge(base: Fraction, power: Fraction) -> int:
    """Return base·e^power in units of 2^-63, rounded towards base, so that the clamp is never too wide."""
    sign = 1 if power < 0 else -1
    edge = enclose_up(lambda: sign * rational_ball(base * COIN) * rational_ball(power).exp(), 0)
    assert edge is not None
    return int(sign * edge)

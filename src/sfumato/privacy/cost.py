"""Cost: what one mechanism certifies for one relation, and the sum of many."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.errors import NotProvable, ParameterError
from sfumato.exact import (
    INFINITY,
    Extended,
    Infinity,
    Number,
    at_least_zero,
    between_zero_and_one,
    exact,
    from_text,
    positive_integer,
    rational_ball,
    significant_up,
    to_text,
)
from sfumato.exact.rational import show
from sfumato.privacy.bounds import Approximate, Bound, Concentrated, Pure, Truncated
from sfumato.privacy.conversion import smallest_delta, smallest_epsilon
from sfumato.privacy.curve import Curve, curve_from_json
from sfumato.privacy.derived import least
from sfumato.privacy.forms import ZERO, LinearCurve, PureCurve


@dataclass(frozen=True)
class Cost:
    """(epsilon, curve, leak) of one certificate.

    For every ordered pair of neighbours some part of the output's law, of mass at least 1 - leak, has ratios
    of at most e^epsilon and Rényi divergences of at most the curve. All three add under adaptive composition.
    """

    epsilon: Extended
    curve: Curve
    leak: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        # Nobody types a cost, so nothing is converted here; a float or a NaN must not slip into exact sums.
        if not isinstance(self.epsilon, (Fraction, Infinity)) or not isinstance(self.leak, Fraction):
            raise ParameterError("A cost holds exact numbers; write Cost.pure(0.1) or Cost.approximate(1, 1e-6).")
        if not isinstance(self.curve, Curve):
            raise ParameterError(f"A cost holds a Rényi curve, not {type(self.curve).__name__}.")
        if not 0 <= self.leak < 1 or self.epsilon < 0:
            raise ParameterError("A cost has an epsilon of at least 0 and a leak of at least 0 and below 1.")

    def __str__(self) -> str:
        if self.is_zero:
            return "nothing"
        if not isinstance(self.epsilon, Infinity):
            return f"epsilon {show(self.epsilon, 3)}" + (f", delta {show(self.leak, 3)}" if self.leak else "")
        return f"epsilon {show(self.epsilon_at(Fraction(1, 10**6)), 3)} at delta 1e-6"

    @classmethod
    def zero(cls) -> Cost:
        """Return the cost of what does not look at the data."""
        return cls(Fraction(0), ZERO)

    @classmethod
    def pure(cls, epsilon: Number) -> Cost:
        """Return the cost of an epsilon-private mechanism, with randomized response's curve (TCDP:C-PURE+)."""
        value = at_least_zero(epsilon, "epsilon")
        return cls(value, PureCurve(value)) if value else cls.zero()

    @classmethod
    def concentrated(cls, rho: Number) -> Cost:
        """Return the cost of a rho-concentrated mechanism such as Gaussian noise."""
        value = at_least_zero(rho, "rho")
        return cls(INFINITY, LinearCurve(value)) if value else cls.zero()

    @classmethod
    def truncated(cls, rho: Number, omega: Number) -> Cost:
        """Return the cost of a (rho, omega)-truncated mechanism."""
        value, limit = at_least_zero(rho, "rho"), exact(omega, "omega")
        if limit <= 1:
            raise ParameterError(f"omega must be above 1, and {limit} is not; write for example 20.")
        return cls(INFINITY, LinearCurve(value, limit)) if value else cls.zero()

    @classmethod
    def approximate(cls, epsilon: Number, delta: Number) -> Cost:
        """Return the cost of an (epsilon, delta) mechanism: the curve of epsilon, and delta as leak."""
        return cls.leaking(at_least_zero(epsilon, "epsilon"), between_zero_and_one(delta, "delta"))

    @classmethod
    def leaking(cls, epsilon: Fraction, leak: Fraction) -> Cost:
        """Return (epsilon, its pure curve, leak); the leak may be 0."""
        return cls(epsilon, PureCurve(epsilon) if epsilon else ZERO, leak)

    @classmethod
    def range_bounded(cls, epsilon: Number) -> Cost:
        """Return the cost of an exponential mechanism: log-ratios in a window of width epsilon (TCDP:C-EXPM)."""
        value = at_least_zero(epsilon, "epsilon")
        return cls(value, least((LinearCurve(value**2 / 8), PureCurve(value)))) if value else cls.zero()

    @classmethod
    def of(cls, bound: Bound) -> Cost:
        """Return the cost of a mechanism of which nothing but its bound is known."""
        match bound:
            case Pure():
                return cls.pure(bound.epsilon)
            case Concentrated():
                return cls.concentrated(bound.rho)
            case Truncated():
                return cls.truncated(bound.rho, bound.omega)
            case Approximate():
                return cls.approximate(bound.epsilon, bound.delta)
        raise ParameterError(f"{bound!r} is not one of the four bounds.")

    @property
    def is_zero(self) -> bool:
        """Whether nothing at all is lost."""
        return self.epsilon == 0 and self.leak == 0

    def tau(self, order: Number) -> Extended:
        """Return the Rényi loss at an order: the smaller of the curve and epsilon, which bounds every order."""
        return min(self.curve.at(order), self.epsilon)

    def rho(self, omega: Number | Extended = INFINITY) -> Extended:
        """Return a bound on tau(a)/a over all orders up to omega."""
        return self.curve.rho(omega)

    def __add__(self, other: Cost) -> Cost:
        leak = self.leak + other.leak
        if leak >= 1:
            raise ParameterError("These leaks add up to 1 or more: nothing would be promised any longer.")
        return Cost(self.epsilon + other.epsilon, self.curve + other.curve, leak)

    def __mul__(self, count: int) -> Cost:
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise ParameterError(f"A cost is repeated a whole number of times, not {count!r} times.")
        if count * self.leak >= 1:
            raise ParameterError("These leaks add up to 1 or more: nothing would be promised any longer.")
        return Cost(self.epsilon * count, self.curve * count, self.leak * count) if count else Cost.zero()

    __rmul__ = __mul__

    def merge(self, other: Cost) -> Cost:
        """Return one certificate from two for the same mechanism: the better entries, the leaks added.

        Without leaks this is the entrywise minimum; with leaks the minimum alone would lose them.
        """
        return Cost(min(self.epsilon, other.epsilon), least((self.curve, other.curve)), self.leak + other.leak)

    def for_group(self, people: int) -> Cost:
        """Return the cost for `people` people who change together."""
        size = positive_integer(people, "people")
        if size == 1 or self.is_zero:
            return self
        return Cost(self.epsilon * size, self.curve.group(size), self._group_leak(size))

    def _group_leak(self, size: int) -> Fraction:
        if self.leak == 0:
            return self.leak
        if isinstance(self.epsilon, Infinity) or self.curve not in (PureCurve(self.epsilon), ZERO):
            raise NotProvable(
                "A mechanism with both a leak and a Rényi curve of its own has no known loss for groups; "
                "ask for a limit on single people, or use a mechanism without leak.",
                {"people": size},
            )
        grown = grown_leak(self.epsilon, self.leak, size)
        if grown is None:
            raise NotProvable(
                f"For {size} people the leak grows to 1 or more, which promises nothing; use a spend without delta.",
                {"people": size},
            )
        return grown

    def epsilon_at(self, delta: Number) -> Extended:
        """Return the smallest epsilon proved at this delta, rounded up (TCDP:C-DP+)."""
        allowed = at_least_zero(delta, "delta")
        if allowed >= 1:
            raise ParameterError("delta must be below 1; write for example 1e-6.")
        if self.leak > allowed:
            return INFINITY
        if self.leak == allowed or self.epsilon == 0:
            return self.epsilon
        return min(self.epsilon, smallest_epsilon(self.tau, self.curve.end, allowed - self.leak))

    def delta_at(self, epsilon: Number) -> Fraction:
        """Return the smallest delta proved at this epsilon, rounded up (TCDP:C-DP-INV)."""
        value = at_least_zero(epsilon, "epsilon")
        if self.epsilon <= value:
            return self.leak
        return min(Fraction(1), self.leak + smallest_delta(self.tau, self.curve.end, value))

    def within(self, bound: Bound) -> bool:
        """Tell whether the cost, known beforehand, satisfies a bound; exact arithmetic.

        >>> (10 * Cost.pure(0.1)).within(Pure(1)), (11 * Cost.pure(0.1)).within(Pure(1))
        (True, False)
        """
        match bound:
            case Pure():
                return self.leak == 0 and self.epsilon <= bound.epsilon
            case Concentrated():
                return self.leak == 0 and self.rho(INFINITY) <= bound.rho
            case Truncated():
                return self.leak == 0 and self.curve.keeps(bound.rho, bound.omega)
            case Approximate():
                if self.leak > bound.delta:
                    return False
                return self.epsilon <= bound.epsilon or self.epsilon_at(bound.delta) <= bound.epsilon
        raise ParameterError(f"{bound!r} is not one of the four bounds.")

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `from_json` reads back exactly."""
        return {"epsilon": to_text(self.epsilon), "curve": self.curve.to_json(), "leak": to_text(self.leak)}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Cost:
        """Read what `to_json` wrote."""
        leak = from_text(record["leak"])
        assert isinstance(leak, Fraction)
        return cls(from_text(record["epsilon"]), curve_from_json(record["curve"]), leak)


def grown_leak(epsilon: Fraction, leak: Fraction, people: int) -> Fraction | None:
    """Return leak·(e^{k eps} - 1)/(e^eps - 1), the leak of a group of k people; None if it reaches 1."""
    if epsilon == 0:
        return leak * people if leak * people < 1 else None
    if leak == 0:
        return leak
    # At least leak·e^{(k-1) eps}: said first, because that exponential may have more digits than memory.
    if (people - 1) * epsilon > leak.denominator.bit_length():
        return None
    grown = significant_up(
        lambda: rational_ball(leak) * rational_ball(people * epsilon).expm1() / rational_ball(epsilon).expm1()
    )
    return grown if grown is not None and grown < 1 else None

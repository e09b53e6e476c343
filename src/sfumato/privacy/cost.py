"""Cost: what one mechanism certifies for one relation, and the sum of many."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

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
from sfumato.exact.written import rounded
from sfumato.privacy.bounds import Approximate, Bound, Concentrated, Pure, Truncated
from sfumato.privacy.conversion import smallest_delta, smallest_epsilon
from sfumato.privacy.curve import Curve, curve_from_json
from sfumato.privacy.derived import least
from sfumato.privacy.forms import ZERO, LinearCurve, PureCurve
from sfumato.privacy.gauss import NONE, UNKNOWN_GAUSS, Exactly, Gauss, Randomized, gauss_from_json, smallest
from sfumato.privacy.gaussian import gaussian_delta, gaussian_epsilon, keeps
from sfumato.words import understood

if TYPE_CHECKING:
    from sfumato.privacy.fixed_list import FixedList


@dataclass(frozen=True)
class Cost:
    """(epsilon, curve, leak, gauss) of one certificate.

    For every ordered pair of neighbours one part of the output's law, of mass at least 1 - leak, has ratios of at most
    e^epsilon, Rényi divergences of at most the curve, and uses up at most `gauss` of a Gaussian (AC-GDP). All four add
    under adaptive composition. The lost part is the same for all entries: two certificates are two costs.
    """

    epsilon: Extended
    curve: Curve
    leak: Fraction = Fraction(0)
    gauss: Gauss = UNKNOWN_GAUSS

    def __post_init__(self) -> None:
        # Nobody types a cost, so nothing is converted here; a float or a NaN must not slip into exact sums.
        if not isinstance(self.epsilon, (Fraction, Infinity)) or not isinstance(self.leak, Fraction):
            raise ParameterError("A cost holds exact numbers; write Cost.pure(0.1) or Cost.approximate(1, 1e-6).")
        if not isinstance(self.curve, Curve):
            raise ParameterError(f"A cost holds a Rényi curve, not {type(self.curve).__name__}.")
        if not isinstance(self.gauss, Gauss):
            raise ParameterError(f"A cost holds a Gaussian charge, not {type(self.gauss).__name__}.")
        if not 0 <= self.leak < 1 or self.epsilon < 0:
            raise ParameterError("A cost has an epsilon of at least 0 and a leak of at least 0 and below 1.")

    def __str__(self) -> str:
        """Return it for people, in three digits, rounded up.

        >>> print(Cost.pure("1.9945"), Cost.approximate("0.1", "1.0001e-9"))
        epsilon 2 epsilon 0.1, delta 1.01e-9
        """
        if self.is_zero:
            return "nothing"
        if not isinstance(self.epsilon, Infinity):
            leak = f", delta {rounded(self.leak, up=True)}" if self.leak else ""
            return f"epsilon {rounded(self.epsilon, up=True)}{leak}"
        return f"epsilon {rounded(self.epsilon_at(Fraction(1, 10**6)), up=True)} at delta 1e-6"

    @classmethod
    def zero(cls) -> Cost:
        """Return the cost of what does not look at the data."""
        return cls(Fraction(0), ZERO, gauss=NONE)

    @classmethod
    def pure(cls, epsilon: Number) -> Cost:
        """Return the cost of an epsilon-private mechanism: randomized response's (TCDP:C-PURE+, AC-GDP)."""
        value = at_least_zero(epsilon, "epsilon")
        return cls(value, PureCurve(value), gauss=Randomized(value)) if value else cls.zero()

    @classmethod
    def concentrated(cls, rho: Number) -> Cost:
        """Return the cost of a rho-concentrated mechanism such as discrete Gaussian noise."""
        value = at_least_zero(rho, "rho")
        return cls(INFINITY, LinearCurve(value)) if value else cls.zero()

    @classmethod
    @understood
    def gaussian(cls, amount: Number) -> Cost:
        """Return the cost of rounded Gaussian noise of public width with mu² = amount: rho is half of it (AC-GAUSS).

        >>> Cost.gaussian("1/50").rho(), Cost.gaussian("1/50").gauss
        (Fraction(1, 100), Exactly(amount=Fraction(1, 50)))
        """
        value = at_least_zero(amount, "mu²")
        return cls(INFINITY, LinearCurve(value / 2), gauss=Exactly(value)) if value else cls.zero()

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
        """Return (epsilon, its pure curve, leak), the certificate of an (epsilon, leak) release; the leak may be 0."""
        if not epsilon:
            return cls(epsilon, ZERO, leak, NONE)
        return cls(epsilon, PureCurve(epsilon), leak, Randomized(epsilon))

    @classmethod
    def range_bounded(cls, epsilon: Number) -> Cost:
        """Return the cost of an exponential mechanism: log-ratios in a window of width epsilon (TCDP:C-EXPM)."""
        value = at_least_zero(epsilon, "epsilon")
        if not value:
            return cls.zero()
        return cls(value, least((LinearCurve(value**2 / 8), PureCurve(value))), gauss=Randomized(value))

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
        if not isinstance(other, Cost):
            raise ParameterError(f"A cost is added to a cost, not to {other!r}; write for example Cost.pure(0.1).")
        leak = self.leak + other.leak
        if leak >= 1:
            raise ParameterError("These leaks add up to 1 or more: nothing would be promised any longer.")
        return Cost(self.epsilon + other.epsilon, self.curve + other.curve, leak, self.gauss + other.gauss)

    def __radd__(self, other: int) -> Cost:
        # What sum() begins with.
        return self if type(other) is int and other == 0 else self + other  # type: ignore[operator]

    def __mul__(self, count: int) -> Cost:
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise ParameterError(f"A cost is repeated a whole number of times, not {count!r} times.")
        if count * self.leak >= 1:
            raise ParameterError("These leaks add up to 1 or more: nothing would be promised any longer.")
        if not count:
            return Cost.zero()
        return Cost(self.epsilon * count, self.curve * count, self.leak * count, self.gauss * count)

    __rmul__ = __mul__

    def merge(self, other: Cost) -> Cost:
        """Return one certificate from two for the same mechanism: the better entries, the leaks added.

        Without leaks this is the entrywise minimum; with leaks the minimum alone would lose them.
        """
        return Cost(
            min(self.epsilon, other.epsilon),
            least((self.curve, other.curve)),
            self.leak + other.leak,
            smallest((self.gauss, other.gauss)),
        )

    def for_group(self, people: int) -> Cost:
        """Return the cost for `people` people who change together."""
        size = positive_integer(people, "people")
        if size == 1 or self.is_zero:
            return self
        return Cost(self.epsilon * size, self.curve.group(size), self._group_leak(size), self.gauss.group(size))

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
        """Return the smallest epsilon proved at this delta, rounded up (TCDP:C-DP+, AC-GDP, AC-PLAN).

        For costs that were fixed beforehand: a single release, a plan or a list, never what a ledger has spent.
        """
        allowed = at_least_zero(delta, "delta")
        if allowed >= 1:
            raise ParameterError("delta must be below 1; write for example 1e-6.")
        if self.leak > allowed:
            return INFINITY
        if self.leak == allowed or self.epsilon == 0:
            return self.epsilon
        return min([self._closed_epsilon(allowed), *(one.epsilon(allowed) for one in self._lists())])

    def _closed_epsilon(self, delta: Fraction) -> Extended:
        """Return the epsilon at a delta above the leak by the curve or by a Gaussian that covers the release."""
        rest = delta - self.leak
        by_curve = min(self.epsilon, smallest_epsilon(self.tau, self.curve.end, rest))
        # A single pure release is never better as a Gaussian, so the search is spared.
        pure = isinstance(self.gauss, Randomized)
        by_gauss = None if pure else gaussian_epsilon(self.gauss.covering(), rest)
        return by_curve if by_gauss is None else min(by_curve, by_gauss)

    def _lists(self) -> tuple[FixedList, ...]:
        """Return the lists of pairs behind a cost that is made of several releases or of a sample (AC-PLAN)."""
        if isinstance(self.gauss, (Exactly, Randomized)):
            return ()  # known in closed form, or no better than its epsilon
        from sfumato.privacy.fixed_list import lists_of

        return lists_of(self)

    def delta_at(self, epsilon: Number) -> Fraction:
        """Return the smallest delta proved at this epsilon, rounded up (TCDP:C-DP-INV, AC-GDP)."""
        value = at_least_zero(epsilon, "epsilon")
        if self.epsilon <= value:
            return self.leak
        found = smallest_delta(self.tau, self.curve.end, value)
        amount = self.gauss.covering()
        if isinstance(amount, Fraction):
            found = min(found, gaussian_delta(amount, value))
        return min([Fraction(1), self.leak + found, *(one.delta(value) for one in self._lists())])

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
                if self.epsilon <= bound.epsilon or self._gaussian_within(bound):
                    return True
                # Calibration asks this many times, so a loss distribution is not worked out for it.
                return self.leak < bound.delta and self._closed_epsilon(bound.delta) <= bound.epsilon
        raise ParameterError(f"{bound!r} is not one of the four bounds.")

    def _gaussian_within(self, bound: Approximate) -> bool:
        """Tell whether the Gaussian that covers the release keeps the bound; equality counts, unlike in a search."""
        amount = INFINITY if isinstance(self.gauss, Randomized) else self.gauss.covering()
        return isinstance(amount, Fraction) and keeps(amount, bound.epsilon, bound.delta - self.leak)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `from_json` reads back exactly; without `gauss` nothing is known of it."""
        record = {"epsilon": to_text(self.epsilon), "curve": self.curve.to_json(), "leak": to_text(self.leak)}
        return record if self.gauss == UNKNOWN_GAUSS else {**record, "gauss": self.gauss.to_json()}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Cost:
        """Read what `to_json` wrote."""
        leak = from_text(record["leak"])
        assert isinstance(leak, Fraction)
        return cls(
            from_text(record["epsilon"]), curve_from_json(record["curve"]), leak, gauss_from_json(record.get("gauss"))
        )


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

"""Whole numbers in a range, and real numbers on a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any, ClassVar

from sfumato.domain.base import SKIP, Domain, Ranged
from sfumato.domain.figures import Figures
from sfumato.errors import ParameterError
from sfumato.exact import Number, above_zero, exact, to_text
from sfumato.exact.rational import show

LARGEST_STEPS = 2**49
"""Up to here doubles times a step lose less than half a step, so clamping before rounding is enough."""


_PLAIN = Figures()


def plain_number(value: Any, figures: Figures = _PLAIN) -> Fraction | float | None:
    """Return a cell as an exact number or a double, or None for null, NaN and what is no number.

    Whole numbers stay exact; text, written as `figures` say, and decimals become doubles, as they do inside an engine.
    """
    if value is None:
        return None
    if isinstance(value, (bool, Integral, Rational)):
        return Fraction(int(value)) if isinstance(value, (bool, Integral)) else Fraction(value)
    if isinstance(value, str):
        return figures.read(value)
    if isinstance(value, Decimal) and value.is_nan():
        return None  # a signalling one cannot even be converted
    if isinstance(value, (Real, Decimal)):
        number = float(value)
        return None if math.isnan(number) else number
    return None


def double_ends(low: Fraction, high: Fraction) -> tuple[float, float]:
    """Return the doubles between which a cell is clamped before it is rounded.

    They are the nearest ones; for whole numbers beyond 2^53 the nearest ones inside, because a double above
    `high` would not fit the integer type that it is cast to.
    """
    least, most = float(low), float(high)
    if abs(least) > 2**53 and Fraction(least) < low:
        least = math.nextafter(least, math.inf)
    if abs(most) > 2**53 and Fraction(most) > high:
        most = math.nextafter(most, -math.inf)
    return least, most


@dataclass(frozen=True)
class Numbers(Domain):
    """What columns of numbers share: how their text is written."""

    decimal: str = field(default=".", repr=False, kw_only=True)
    """The mark before decimals in text: 1.5 or 1,5."""
    thousands: str = field(default="", repr=False, kw_only=True)
    """What groups the digits of large numbers in text, if anything does."""
    unit: str = field(default="", repr=False, kw_only=True)
    """What stands beside every number in text, such as %; the number is kept as it is written."""

    @property
    def figures(self) -> Figures:
        """How text is read."""
        return Figures(self.decimal, self.thousands, self.unit)


@dataclass(frozen=True)
class Integers(Ranged, Numbers):
    """The whole numbers from `low` to `high`; the code of a number is the number itself.

    >>> age = Integers(17, 90)
    >>> age.encode(25), age.encode(200), age.encode("44"), age.decode(age.encode(None)), age.size
    (25, 90, 44, None, 75)
    """

    kind: ClassVar[str] = "integer"
    low: int
    high: int

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral):
                raise ParameterError(
                    f"{name} must be a whole number, and {value!r} is not; for reals write fixed(low, high, step=0.01)."
                )
            object.__setattr__(self, name, int(value))
        if self.low > self.high:
            raise ParameterError(f"low is {self.low} and high is {self.high}; write the smaller one first.")
        self.figures  # noqa: B018  reading it checks how numbers are written
        self._settle_missing()

    def encode(self, value: Any) -> int:
        """Round to the nearest whole number, clamp into the range; what is no number becomes `missing`."""
        number = plain_number(value, self.figures)
        if number is None:
            return self.missing_code
        if isinstance(number, float):
            low, high = double_ends(Fraction(self.low), Fraction(self.high))
            return math.floor(min(max(number, low), high) + 0.5)
        return min(max(math.floor(number + Fraction(1, 2)), self.low), self.high)

    def decode(self, code: int) -> int | None:
        """Return the number itself."""
        if self.low <= code <= self.high:  # the level of missing cells lies above
            return int(code)
        return None if self.is_missing(code) else self._check_code(code)

    def code(self, value: Any) -> int:
        """Accept a whole number of the range."""
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise ParameterError(f"{value!r} is no whole number; write one from {self.low} to {self.high}.")
        if not self.low <= int(value) <= self.high:
            raise ParameterError(f"{value} lies outside {self.low} to {self.high}.")
        return int(value)

    def to_json(self) -> dict[str, Any]:
        """Return the ends of the range and the missing value."""
        missing = SKIP if self.missing is None else self.missing
        return self._record(low=self.low, high=self.high, missing=missing, **self.figures.to_json())


@dataclass(frozen=True)
class FixedPoint(Numbers):
    """Real numbers from `low` to `high`, rounded to whole steps; the code is floor(x/step + 1/2).

    >>> gain = FixedPoint(0, 100, "0.01")
    >>> gain.encode(12.344), gain.decode(1234), gain.encode(1e300), gain.decode(gain.encode(float("nan")))
    (1234, Fraction(617, 50), 10000, None)
    """

    kind: ClassVar[str] = "fixed"
    low: Fraction
    high: Fraction
    step: Fraction

    def __init__(
        self,
        low: Number,
        high: Number,
        step: Number,
        *,
        missing: Number | None = None,
        public: bool = False,
        decimal: str = ".",
        thousands: str = "",
        unit: str = "",
    ) -> None:
        object.__setattr__(self, "missing", missing)
        for name, sign in (("decimal", decimal), ("thousands", thousands), ("unit", unit)):
            object.__setattr__(self, name, sign)
        self.figures  # noqa: B018  reading it checks how numbers are written
        values = {"low": exact(low, "low"), "high": exact(high, "high"), "step": above_zero(step, "step")}
        for name, value in values.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "public", public)
        if self.low > self.high:
            raise ParameterError(f"low is {show(self.low)} and high is {show(self.high)}; write the smaller one first.")
        for name in ("low", "high"):
            if (values[name] / self.step).denominator != 1:
                raise ParameterError(f"{name} must be a whole number of steps of {show(self.step)}; move it to one.")
        if max(abs(self.first), abs(self.highest), self.step.numerator, self.step.denominator) > LARGEST_STEPS:
            raise ParameterError(f"The range has more than 2^49 steps of {show(self.step)}; write a larger step.")
        self._settle_missing()

    @property
    def first(self) -> int:
        """The lowest value in steps."""
        return int(self.low / self.step)

    @property
    def highest(self) -> int:
        """The highest value in steps."""
        return int(self.high / self.step)

    def encode(self, value: Any) -> int:
        """Clamp, then round to the nearest step, ties upward; what is no number becomes `missing`."""
        number = plain_number(value, self.figures)
        if number is None:
            return self.missing_code
        if isinstance(number, float):
            low, high = double_ends(self.low, self.high)
            clamped = min(max(number, low), high)
            # The same two double operations as in the engine, so that ties fall the same way everywhere.
            return math.floor(clamped * float(self.step.denominator) / float(self.step.numerator) + 0.5)
        return math.floor(min(max(number, self.low), self.high) / self.step + Fraction(1, 2))

    def decode(self, code: int) -> Fraction | None:
        """Return the exact value, a fraction."""
        return None if self.is_missing(code) else self._check_code(code) * self.step

    def code(self, value: Any) -> int:
        """Accept a number of the range that is a whole number of steps."""
        number = exact(value, "the value")
        steps = number / self.step
        if steps.denominator != 1 or not self.low <= number <= self.high:
            inside = self.low <= number <= self.high
            # A double beside a step is shown in full: rounded for people it would be the step itself.
            beside = isinstance(value, float) and inside and abs(steps - round(steps)) <= abs(steps) / 10**9
            raise ParameterError(
                f"{repr(float(value)) if beside else show(number)} is none of the values {show(self.low)} to "
                f"{show(self.high)} in steps of {show(self.step)}{f'; write {self._rounding}' if beside else ''}."
            )
        return int(steps)

    @property
    def _rounding(self) -> str:
        """How a program brings a double onto a step."""
        step, places = show(self.step), 0
        while places < 15 and (self.step * 10**places).denominator > 1:
            places += 1
        if self.step == Fraction(1, 10**places):
            return f"round(x, {places})"
        whole = f"round(x / {step}) * {step}"
        return whole if self.step.denominator.bit_count() == 1 else f"round({whole}, {places})"

    def to_json(self) -> dict[str, Any]:
        """Return the ends, the step and the missing value, exact numbers as text."""
        ends = {name: to_text(getattr(self, name)) for name in ("low", "high", "step")}
        missing = SKIP if self.missing is None else to_text(self.missing)
        return self._record(**ends, missing=missing, **self.figures.to_json())

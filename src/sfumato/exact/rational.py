"""Exact rationals from what people type."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real

from sfumato.errors import ParameterError
from sfumato.exact.infinity import INFINITY, Extended, Infinity

Number = int | float | str | Decimal | Fraction
"""What a user may write for a number; `0.1`, `"0.1"` and `Fraction(1, 10)` all mean one tenth."""


LONGEST_NUMBER = 10_000
"""Digits, or tenfolds, of the longest number that is read from text."""


def exact(value: Number, name: str) -> Fraction:
    """Return the number that `value` shows, exactly.

    A float means the decimal that it prints as, so that ten tenths make one.

    >>> exact(0.1, "epsilon"), exact("1/3", "epsilon"), exact(2, "epsilon")
    (Fraction(1, 10), Fraction(1, 3), Fraction(2, 1))
    """
    if isinstance(value, bool) or not isinstance(value, (Real, str, Decimal)):
        raise ParameterError(
            f"{name} must be a number, not {type(value).__name__}; "
            f"write an int, a float, a Fraction or text such as '1/3'."
        )
    if isinstance(value, (Integral, Rational)):
        # Plain ints: numpy's would overflow inside a Fraction.
        return Fraction(int(value.numerator), int(value.denominator))
    try:
        return Fraction(_short(str(value)))
    except (ValueError, ZeroDivisionError, OverflowError):
        shown = str(value)[:40]
        raise ParameterError(
            f"{name} must be a finite number, and {shown!r} is none; write for example 0.1 or '1/3'."
        ) from None


def _short(text: str) -> str:
    """Refuse text whose number would have more digits than anybody could mean; writing it out would take for ever."""
    if len(text) > LONGEST_NUMBER:
        raise ValueError
    return _without_large_exponent(text)


def _without_large_exponent(text: str) -> str:
    exponent = re.search(r"[eE]([+-]?\d+)", text.replace("_", ""))
    if exponent and abs(int(exponent[1])) > LONGEST_NUMBER:
        raise ValueError
    return text


def at_least_zero(value: Number, name: str) -> Fraction:
    """Return `value` exactly, refusing what is below zero."""
    number = exact(value, name)
    if number < 0:
        usual = 0.1 if name == "epsilon" else 0  # a spend of nothing buys nothing
        raise ParameterError(f"{name} must be zero or more, and {show(number)} is below zero; {_such_as(name, usual)}")
    return number


def above_zero(value: Number, name: str) -> Fraction:
    """Return `value` exactly, refusing zero and below."""
    number = exact(value, name)
    if number <= 0:
        raise ParameterError(f"{name} must be above zero, and {show(number)} is not; {_such_as(name, 0.1)}")
    return number


def between_zero_and_one(value: Number, name: str) -> Fraction:
    """Return `value` exactly, refusing what does not lie strictly between 0 and 1."""
    number = exact(value, name)
    if not 0 < number < 1:
        usual = {"delta": 1e-6, "confidence": 0.95}.get(name, 0.5)  # nobody should be advised a large chance of failure
        raise ParameterError(
            f"{name} must lie strictly between 0 and 1, and {show(number)} does not; {_such_as(name, usual)}"
        )
    return number


def positive_integer(value: object, name: str) -> int:
    """Return `value` as an int, refusing what is no whole number above zero."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ParameterError(f"{name} must be a whole number, not {type(value).__name__}; write for example 10.")
    count = int(value)
    if count < 1:
        raise ParameterError(f"{name} must be at least 1, and {count} is not; {_such_as(name, 1)}")
    return count


def _such_as(name: str, value: float) -> str:
    """Say what to write; a name may also be a phrase, which nobody can write before an equals sign."""
    return f"write for example {name}={value}." if name.isidentifier() else f"write for example {value}."


def float_log(number: Fraction) -> float:
    """Return about the logarithm of a positive number, which may be far below the smallest float."""
    return math.log(number.numerator) - math.log(number.denominator)


def show(number: Extended, digits: int = 6) -> str:
    """Return a short text for people; only for messages, never for storage.

    >>> show(Fraction(1, 2)), show(Fraction(20)), show(Fraction(1, 3))
    ('0.5', '20', '0.333333')
    >>> show(Fraction(1, 10**3000))
    '1e-3000'
    """
    if isinstance(number, Infinity):
        return "infinity"
    if number.denominator == 1 and abs(number.numerator) < 10**digits:
        return str(number.numerator)
    near = float(number) if abs(number) < 10**300 else math.inf
    if near and math.isfinite(near):
        return f"{near:.{digits}g}"
    return f"{(Decimal(number.numerator) / Decimal(number.denominator)).normalize():.{digits}g}"


def to_text(number: Extended) -> str:
    """Return the exact text that `from_text` reads back."""
    return "inf" if isinstance(number, Infinity) else str(number)


def from_text(text: str) -> Extended:
    """Read what `to_text` wrote; it may also come from a stranger, whose nine characters must not take for ever.

    >>> from_text(to_text(Fraction(1, 3))), from_text("inf")
    (Fraction(1, 3), ∞)
    """
    if isinstance(text, str):
        _without_large_exponent(text)
    return INFINITY if text == "inf" else Fraction(text)

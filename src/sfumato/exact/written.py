"""Exact numbers as people write and read them: as they were typed, or rounded to the safe side."""

from __future__ import annotations

from fractions import Fraction

from sfumato.exact.infinity import Extended, Infinity
from sfumato.exact.rational import show

LONGEST = 12
"""A number with more characters was computed, and is shown rounded."""


def typed(number: Fraction) -> str:
    """Return a number as somebody would have typed it, exactly.

    >>> typed(Fraction(1, 10)), typed(Fraction(1, 10**6)), typed(Fraction(1, 3)), typed(Fraction(3))
    ('0.1', '1e-6', '1/3', '3')
    """
    twos, rest = 0, number.denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    fives = 0
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    if rest != 1 or places > 30:
        return str(number)
    return _decimal(int(number * 10**places), places)


def _decimal(units: int, places: int) -> str:
    """Return units·10^-places without trailing zeros, small numbers with an exponent."""
    while places and units % 10 == 0:
        units, places = units // 10, places - 1
    if not places:
        return str(units)
    digits = str(units)
    if len(digits) <= places - 4:
        head = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
        return f"{head}e-{places - len(digits) + 1}"
    digits = digits.rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}"


def shown(number: Extended, up: bool, digits: int = 2) -> str:
    """Return a number with two decimals, or two digits if it is small, rounded to the safe side.

    >>> shown(Fraction(1, 3), up=True), shown(Fraction(1, 3), up=False), shown(Fraction(1, 30000), up=True)
    ('0.34', '0.33', '3.4e-5')
    """
    if isinstance(number, Infinity):
        return "infinity"
    places = digits
    while number and number * 10**places < 10 ** (digits - 1):
        places += 1
    scaled = number * 10**places
    return _decimal(-(-scaled // 1) if up else scaled // 1, places)


def rounded_up(number: Extended, digits: int = 3) -> str:
    """Return a loss in so many digits for people: never less than it is.

    >>> rounded_up(Fraction("1.9945")), rounded_up(Fraction(1, 3)), rounded_up(Fraction(1, 10))
    ('2', '0.334', '0.1')
    """
    return _rounded(number, digits, up=True)


def rounded_down(number: Extended, digits: int = 3) -> str:
    """Return what is left, or a limit, in so many digits for people: never more than it is.

    >>> rounded_down(Fraction("1.9945")), rounded_down(Fraction(1, 3)), rounded_down(Fraction(1, 10))
    ('1.99', '0.333', '0.1')
    """
    return _rounded(number, digits, up=False)


def _rounded(number: Extended, digits: int, up: bool) -> str:
    if isinstance(number, Infinity) or not number:
        return show(number, digits)
    step = Fraction(10) ** (len(str(number.numerator)) - len(str(number.denominator)) - digits)
    while number >= step * 10**digits:
        step *= 10
    return show((-(-number // step) if up else number // step) * step, digits)


def amount(number: Fraction) -> str:
    """Return a number as it was typed if that is short, rounded up if it was computed.

    >>> amount(Fraction(1, 10**6)), amount(Fraction(6116621116004834069, 36893488147419103232))
    ('1e-6', '0.166')
    """
    text = typed(number)
    return text if len(text) <= LONGEST else shown(number, up=True, digits=3)

"""Exact numbers as people write and read them: as they were typed, or rounded to the safe side."""

from __future__ import annotations

from fractions import Fraction

from sfumato.exact.infinity import Extended, Infinity

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


def rounded(number: Extended, *, up: bool, digits: int = 3) -> str:
    """Return a number in so many digits, rounded to the safe side: losses up, limits and what is left down.

    Whole units are kept, and nothing is shown as 0 that is not 0.

    >>> rounded(Fraction(1, 3), up=True), rounded(Fraction(1, 3), up=False), rounded(Fraction("13.792"), up=True)
    ('0.334', '0.333', '13.8')
    >>> rounded(Fraction(1, 30000), up=True), rounded(Fraction("1234.5"), up=False)
    ('3.34e-5', '1234')
    """
    if isinstance(number, Infinity):
        return "infinity"
    if number < 0:
        return "-" + rounded(-number, up=not up, digits=digits)
    places = _places(number, digits) if number else 0
    scaled = number * 10**places
    return _decimal(-(-scaled // 1) if up else scaled // 1, places)


def _places(number: Fraction, digits: int) -> int:
    """Return how many places after the point show so many digits of a number above 0; none below whole units."""
    # Bits tell the power of ten to within two, also where the number is far too small to be tried out place by place.
    bits = number.denominator.bit_length() - number.numerator.bit_length()
    places = max(0, digits - 3 + bits * 30 // 100)
    while number * 10**places < 10 ** (digits - 1):
        places += 1
    return places


def amount(number: Fraction, *, up: bool = True) -> str:
    """Return a number exactly as it was typed if that is short, rounded if it was computed.

    >>> amount(Fraction(1, 10**6)), amount(Fraction(6116621116004834069, 36893488147419103232))
    ('1e-6', '0.166')
    """
    text = typed(number)
    return text if len(text) <= LONGEST else rounded(number, up=up)

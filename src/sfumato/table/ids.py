"""Ids that are Python objects, each spelled in one way: equal ones are one person, and different ones are two.

The rule is public and looks at one cell alone. An id is what is written:

- text and bytes as they are;
- a number by its digits, whatever class holds it, so that 7, 7.0, `numpy.float32(7)`, a decimal 7.00 and True, which
  Python takes for 1, are what the text 7 is; NaN is nobody;
- a day as 2020-01-31, which is also its midnight; a moment as 2020-01-31T10:00:00.5, with all digits that it has; a
  moment with a zone as the same moment in UTC, with a Z behind it;
- a UUID as databases write it.

Everything else is nobody. As in `objects`, no method of somebody else's class is called.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from sfumato.table.objects import numpy_integers, object_bytes

_MOST_ZEROS = 131_072
"""As many as a number of PostgreSQL has before its point; a longer one is written with an exponent."""
_SHORT = 96
"""Whole numbers of so many bits are printed at once; Python refuses to print very long ones."""
_A_DAY, _EPOCH, _FOUR_CENTURIES = 86_400, date(1970, 1, 1).toordinal(), 146_097
_UNITS = {"W": (604_800, 0), "D": (_A_DAY, 0), "h": (3600, 0), "m": (60, 0), "s": (1, 0)}
_UNITS |= {"ms": (1, 3), "us": (1, 6), "ns": (1, 9), "ps": (1, 12), "fs": (1, 15), "as": (1, 18)}
"""The units of numpy's moments: how many seconds one is, or which power of ten makes a second of them."""
_ZONES = ("pytz", "dateutil")
"""Packages, beside Python itself, whose zones are asked for their distance from UTC."""


def object_identity(cell: Any) -> bytes | None:
    """Return the bytes of an id, None for nobody.

    >>> object_identity(7) == object_identity(7.0) == object_identity(Decimal("7.00")) == object_identity("7")
    True
    >>> object_identity(10**40) == object_identity(10**40 + 1)
    False
    >>> object_identity(datetime(2020, 1, 31, 12, tzinfo=timezone(timedelta(hours=2))))
    b'2020-01-31T10:00:00Z'
    """
    kind = type(cell)
    if issubclass(kind, (str, bytes)):
        return object_bytes(cell)
    if issubclass(kind, int):
        return _whole(int.__int__(cell))
    if issubclass(kind, float):
        return number_identity(Decimal.from_float(float.__float__(cell)))
    if issubclass(kind, Decimal):
        return number_identity(cell)
    if issubclass(kind, Fraction):
        return _fraction(*(Fraction.__dict__[part].__get__(cell) for part in ("_numerator", "_denominator")))
    if issubclass(kind, datetime):
        return _moment(cell, kind)
    if issubclass(kind, date):
        return _spelled((date.toordinal(cell) - _EPOCH) * _A_DAY, "", zoned=False)
    return str(UUID(int=cell.int)).encode() if kind is UUID else _numpy(cell, kind)


def number_identity(number: Decimal) -> bytes | None:
    """Return the digits of an exact number without zeros that say nothing, None for NaN.

    >>> number_identity(Decimal("-0.050")), number_identity(Decimal("1e3")), number_identity(Decimal("-0.0"))
    (b'-0.05', b'1000', b'0')
    """
    if Decimal.is_nan(number):
        return None
    if not Decimal.is_finite(number):
        return b"-Infinity" if Decimal.is_signed(number) else b"Infinity"
    if Decimal.is_zero(number):
        return b"0"
    first = Decimal.adjusted(number)
    if abs(first) <= _MOST_ZEROS:
        text = Decimal.__format__(number, "f")
        return (text.rstrip("0").rstrip(".") if "." in text else text).encode("ascii")
    digits = "".join(map(str, Decimal.as_tuple(number).digits)).strip("0")
    return f"{'-' * Decimal.is_signed(number)}{digits}e{first}".encode("ascii")


def _whole(number: int) -> bytes | None:
    return b"%d" % number if number.bit_length() <= _SHORT else number_identity(Decimal(number))


def _fraction(above: int, below: int) -> bytes | None:
    twos = (below & -below).bit_length() - 1
    rest, fives = below >> twos, 0
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:  # no decimal number, and so no other class's
        return f"{Decimal(above)}/{Decimal(below)}".encode("ascii")
    places = max(twos, fives)
    return number_identity(Decimal(f"{Decimal(above * 10**places // below)}E-{places}"))


def _numpy(cell: Any, kind: type) -> bytes | None:
    import numpy as np

    if kind in numpy_integers() or kind is np.bool_:
        return _whole(int(cell))
    if kind in (np.float16, np.float32):
        return number_identity(Decimal.from_float(float(cell)))
    if kind is np.longdouble:
        # Its ratio is exact; a double of it would not be.
        return _fraction(*cell.as_integer_ratio()) if np.isfinite(cell) else number_identity(Decimal(float(cell)))
    return _numpy_moment(cell, zoned=False) if kind is np.datetime64 else None


# Days and moments


def _moment(cell: Any, kind: type) -> bytes | None:
    import pandas

    if cell is pandas.NaT:
        return None
    zone = datetime.tzinfo.__get__(cell)
    if issubclass(kind, pandas.Timestamp):
        # Its nanoseconds, and years that Python does not know, are no part of the datetime that it descends from.
        return _numpy_moment(pandas.Timestamp.to_datetime64(cell), zoned=zone is not None)
    ahead = timedelta(0) if zone is None else _ahead(cell, zone)
    if ahead is None:
        return None
    time = datetime.time(cell)
    seconds = (datetime.toordinal(cell) - _EPOCH) * _A_DAY + (time.hour * 60 + time.minute) * 60 + time.second
    moved = timedelta(microseconds=time.microsecond) - ahead
    seconds += moved.days * _A_DAY + moved.seconds
    return _spelled(seconds, f"{moved.microseconds:06d}", zoned=zone is not None)


def _ahead(cell: datetime, zone: Any) -> timedelta | None:
    """Return how far a zone is ahead of UTC, None where its class is none that is known."""
    kind = type(zone)
    if kind not in (timezone, ZoneInfo) and kind.__module__.split(".")[0] not in _ZONES:
        return None
    try:
        return datetime.utcoffset(cell)
    except Exception:
        return None  # the class is somebody else's, and one cell must not fail the others


def _numpy_moment(cell: Any, *, zoned: bool) -> bytes | None:
    import numpy as np

    unit, count = np.datetime_data(cell.dtype)
    if np.isnat(cell) or (unit not in _UNITS and unit not in ("M", "Y")):
        return None
    number = int(cell.astype(np.int64)) * count
    if unit in ("M", "Y"):
        year, month = divmod(number if unit == "M" else 12 * number, 12)
        cycles, year = divmod(1970 + year - 1, 400)
        days = date(year + 1, month + 1, 1).toordinal() - _EPOCH + cycles * _FOUR_CENTURIES
        return _spelled(days * _A_DAY, "", zoned=zoned)
    seconds, power = _UNITS[unit]
    whole, part = divmod(number * seconds, 10**power)
    return _spelled(whole, f"{part:0{power}d}" if power else "", zoned=zoned)


def _spelled(seconds: int, fraction: str, *, zoned: bool) -> bytes:
    """Return a moment, in seconds since 1970 and the digits behind their point, in the calendar of any year."""
    days, second = divmod(seconds, _A_DAY)
    cycles, place = divmod(days + _EPOCH - 1, _FOUR_CENTURIES)
    day = date.fromordinal(place + 1)
    text, fraction = f"{day.year + 400 * cycles:04d}-{day.month:02d}-{day.day:02d}", fraction.rstrip("0")
    if second or fraction or zoned:
        text += f"T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
    return (text + (f".{fraction}" if fraction else "") + ("Z" if zoned else "")).encode("ascii")

"""Cells of columns that hold any Python object, one by one, as bytes or nothing.

A class of somebody else can make any of its methods raise, so none is called: what a cell is follows from its type
alone, and it is read by the methods of the class that it descends from.
"""

from __future__ import annotations

import math
import re
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Any
from uuid import UUID

from sfumato.domain.figures import NUMBER_TEXT

_NUMBER = re.compile(NUMBER_TEXT)
_WIDE = 96
"""Whole numbers of more bits are larger than every range; a text of them would not be read as a number."""


def object_bytes(cell: Any) -> bytes | None:
    """Return the text of a cell as bytes; None for null and for what is no text, number, truth value, day or moment.

    >>> object_bytes(12), object_bytes("a"), object_bytes(10**40), object_bytes(float("nan")), object_bytes([1])
    (b'12', b'a', b'9e99', None, None)
    """
    # Not isinstance: it believes an attribute of the cell.
    kind = type(cell)
    if issubclass(kind, str):
        # Half of a surrogate pair is no text: its bytes stay, and the engine reads them as none.
        return str.encode(cell, "utf-8", "surrogatepass")
    if issubclass(kind, bytes):
        return bytes.__getitem__(cell, slice(None))
    text = _text(cell, kind)
    return None if text is None else text.encode("ascii")


def _text(cell: Any, kind: type) -> str | None:
    if kind is bool:
        return "True" if cell else "False"
    if issubclass(kind, int):
        return _whole(cell)
    if issubclass(kind, float):
        return _real(float.__float__(cell))
    if issubclass(kind, Decimal):
        return _decimal(cell)
    if issubclass(kind, date):
        return _moment(cell, kind)
    if kind is UUID:
        return f"{cell.int:032x}"
    return _numpy(cell, kind)


def _whole(cell: int) -> str:
    if int.bit_length(cell) > _WIDE:
        return "-9e99" if int.__lt__(cell, 0) else "9e99"
    return int.__repr__(cell)


def _real(number: float) -> str | None:
    if math.isnan(number):
        return None
    if abs(number) >= 1e60:
        return "-9e99" if number < 0 else "9e99"
    return repr(number) if abs(number) > 1e-60 else "0.0"


def _decimal(cell: Decimal) -> str | None:
    if Decimal.is_nan(cell):
        return None
    text = Decimal.__str__(cell) if Decimal.is_finite(cell) and abs(Decimal.adjusted(cell)) < _WIDE else ""
    # A number of a thousand digits is no text that a number is read from; as a double it is clamped like any other.
    return text if _NUMBER.fullmatch(text) else _real(Decimal.__float__(cell))


def _moment(cell: Any, kind: type) -> str | None:
    if kind.__name__ == "NaTType":  # pandas' missing moment, which descends from datetime
        return None
    if not issubclass(kind, datetime):
        return _day(cell)
    if datetime.tzinfo.__get__(cell) is not None:
        return None  # its day depends on who looks, and its offset on a class that may be anybody's
    time = datetime.time(cell)
    return _day(datetime.date(cell)) + ("" if time == type(time)() else f"T{time.isoformat()}")


def _day(cell: date) -> str:
    # Every range of days starts at the year 1000 or later, so an earlier day is clamped to the same end.
    return date.isoformat(cell) if date.year.__get__(cell) >= 1000 else "1000-01-01"


def _numpy(cell: Any, kind: type) -> str | None:
    import numpy as np

    if kind is np.bool_:
        return "True" if cell else "False"
    if kind in numpy_integers():
        return _whole(int(cell))
    return _real(float(cell)) if kind in (np.float16, np.float32, np.longdouble) else None


@cache
def numpy_integers() -> frozenset[type]:
    """Return numpy's own classes of whole numbers, of which there are more than sizes."""
    import numpy as np

    return frozenset(np.dtype(code).type for code in np.typecodes["AllInteger"])

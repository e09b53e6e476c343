"""Days and moments from text and from an engine's own times, in integers: the twin of `sfumato.domain.written`."""

from __future__ import annotations

from typing import Any

from sfumato.domain.clock import SECOND, Times
from sfumato.domain.written import MONTHS, Written

NANOSECONDS = 9
"""The scale of moments that are kept in billionths of a second."""


def written_day(cell: Any, written: Written) -> Any:
    """Return the days since 1970-01-01 that a text says, null where it says none."""
    import ibis

    found = _Parts(cell, written)
    return ibis.ifelse(found.is_day(), found.days(), ibis.null("int64"))


def written_month(cell: Any, written: Written) -> Any:
    """Return the months since January 1970 of the day that a text says, null where it says none."""
    import ibis

    found = _Parts(cell, written)
    return ibis.ifelse(found.is_day(), (found.year - 1970) * 12 + found.month() - 1, ibis.null("int64"))


def moment_code(cell: Any, domain: Times) -> Any:
    """Return the step of a moment, clamped into the range of the domain, null where there is none."""
    import ibis

    if cell.type().is_string():
        found = _Parts(cell, domain.written)
        seconds, fraction = found.days() * 86_400 + found.seconds(), found.number("fraction")
        absent = ~(found.is_day() & found.is_clock())
    else:
        seconds, fraction = _stored(cell)
        absent = cell.isnull()
    # What is absent is replaced before anything is multiplied: a product of null is null, one of chance may not fit.
    step = domain.nanoseconds
    low, high = domain.first * step // SECOND, ((domain.highest + 1) * step - 1) // SECOND
    inside = _between(ibis.ifelse(absent, _whole(low), seconds), low - 1, high + 1)
    if step >= SECOND:
        each = step // SECOND
        start = (low - each) // each * each
        code = small_quotient(inside - start, each) + start // each
    else:
        code = inside * (SECOND // step) + quotient(ibis.ifelse(absent, _whole(0), fraction), step)
    return ibis.ifelse(absent, ibis.null("int64"), _between(code, domain.first, domain.highest))


def quotient(number: Any, divisor: int) -> Any:
    """Return the whole quotient of a number that is not negative; engines have no division of integers in common.

    The dividend is a multiple of the divisor, so the double is off by less than a half, and rounding finds it.
    """
    return number if divisor == 1 else ((number - number % divisor) / divisor).round().cast("int64")


def small_quotient(number: Any, divisor: int) -> Any:
    """Return the whole quotient of a number from 0 to 2^40: its double is never off by as much as 1/divisor.

    The number stands in it once. An engine is given an expression as text, which doubles with every second use.
    """
    return (number / divisor).floor().cast("int64")


def _between(number: Any, low: int, high: int) -> Any:
    """Clamp a number that is never null: the engines' least and greatest would pass over null."""
    import ibis

    return ibis.greatest(ibis.least(number, _whole(high)), _whole(low))


def _whole(number: int) -> Any:
    import ibis

    return ibis.literal(number, "int64")


def _stored(cell: Any) -> tuple[Any, Any]:
    """Return seconds and nanoseconds of a day or a moment of the engine's own type."""
    import ibis

    if cell.type().is_date():
        return cell.delta(ibis.date("1970-01-01"), unit="day").cast("int64") * 86_400, _whole(0)
    fine = cell.type().scale == NANOSECONDS
    name = ("epoch_ns" if fine else "epoch_us") if cell.get_backend().name == "duckdb" else "unix_micros"
    units = SECOND if fine else 10**6

    @ibis.udf.scalar.builtin(name=name, signature=((cell.type(),), "int64"))
    def counted(moment): ...  # type: ignore[no-untyped-def]

    # Engines differ on the remainder of a negative number; taken twice it is the same everywhere.
    number = counted(cell)
    rest = (number % units + units) % units
    return ((number - rest) / units).round().cast("int64"), rest * (SECOND // units)


def whole_second(cell: Any) -> Any:
    """Return a moment without its fraction of a second, as an engine's own moment.

    An engine that keeps billionths rounds them when it makes a day of them: the last ones of a year are the next year.
    """
    import ibis

    @ibis.udf.scalar.builtin(name="make_timestamp", signature=(("int64",), "timestamp"))
    def moment(microseconds): ...  # type: ignore[no-untyped-def]

    return moment(_stored(cell)[0] * 10**6)


class _Parts:
    """The integers that a text is made of; all of them null where it is written otherwise."""

    def __init__(self, cell: Any, written: Written) -> None:
        self.cell, self.written = cell, written

    def text(self, name: str) -> Any:
        return self.cell.re_extract(f"^{self.written.pattern}\\z", self.written.groups[name])

    def number(self, name: str) -> Any:
        """Return a part as a number, zero where it may be left out and is."""
        if name not in self.written.groups:
            return _whole(0)
        text = self.text(name)
        if name == "fraction":
            text = (text + "000000000").substr(0, 9)
        return text.try_cast("int64").fill_null(_whole(0))

    @property
    def year(self) -> Any:
        return self.text("year").try_cast("int64")

    def is_leap(self) -> Any:
        year = self.year
        return (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))

    def month(self) -> Any:
        import ibis

        if "month" in self.written.groups:
            return self.number("month")
        if "name" in self.written.groups:
            # The names stand in one text, three letters each, and none of them occurs across two others.
            return small_quotient(ibis.literal("".join(MONTHS)).find(self.text("name").lower()), 3) + 1
        # From the day of the year, as if February had thirty days.
        leap = ibis.ifelse(self.is_leap(), _whole(1), _whole(0))
        longer = ibis.ifelse(self.number("ordinal") > leap + 59, 2 - leap, _whole(0))
        return small_quotient((self.number("ordinal") - 1 + longer) * 12 + 373, 367)

    def is_day(self) -> Any:
        """Tell whether there is such a day; never null."""
        import ibis

        leap = ibis.ifelse(self.is_leap(), _whole(1), _whole(0))
        if "ordinal" in self.written.groups:
            found = self.number("ordinal").between(1, leap + 365)
        else:
            month = self.month()
            short = ibis.ifelse(month.isin([4, 6, 9, 11]), _whole(30), _whole(31))
            length = ibis.ifelse(month == 2, leap + 28, short)
            found = month.between(1, 12) & self.number("day").between(1, length)
        return (self.year.notnull() & found).fill_null(False)

    def days(self) -> Any:
        """Return days since 1970-01-01 in integers, as `days_from_civil` does; a year of four digits is positive."""
        import ibis

        by_ordinal = "ordinal" in self.written.groups
        month = _whole(1) if by_ordinal else self.month()
        day = self.number("ordinal" if by_ordinal else "day")
        year = self.year - (_whole(1) if by_ordinal else ibis.ifelse(month <= 2, _whole(1), _whole(0)))
        leaps = small_quotient(year, 4) - small_quotient(year, 100) + small_quotient(year, 400)
        return year * 365 + leaps + small_quotient((month + 9) % 12 * 153 + 2, 5) + day - 719_469

    def _hour(self) -> Any:
        import ibis

        hour = self.number("hour")
        if "half" not in self.written.groups:
            return hour
        later = ibis.ifelse(self.text("half").lower() == "pm", _whole(12), _whole(0))
        return ibis.ifelse(hour.between(1, 12), hour % 12 + later, _whole(24))

    def is_clock(self) -> Any:
        """Tell whether there is such a time of day; never null."""
        return (self._hour() <= 23) & (self.number("minute") <= 59) & (self.number("second") <= 59)

    def seconds(self) -> Any:
        """Return seconds since midnight, less the offset."""
        import ibis

        seconds = self._hour() * 3600 + self.number("minute") * 60 + self.number("second")
        if "offset" not in self.written.groups:
            return seconds
        offset = self.text("offset")
        parts = (offset.substr(1, 2), offset.substr(3, 3).replace(":", ""))
        hours, minutes = (part.try_cast("int64").fill_null(_whole(0)) for part in parts)
        ahead = hours * 3600 + minutes * 60
        return seconds - ibis.ifelse(offset.substr(0, 1) == "+", ahead, -ahead)

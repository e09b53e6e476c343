"""Days, and the months, years and weekdays that follow from them, as codes inside the engine."""

from __future__ import annotations

from typing import Any

from sfumato.domain import Dates, Derived, Domain, Months, Weekdays, Years
from sfumato.domain.calendar import DATE_TEXT, EPOCH
from sfumato.table.cells import within
from sfumato.table.moments import NANOSECONDS, small_quotient, whole_second, written_day, written_month


def day_code(cell: Any, domain: Dates) -> Any:
    """Return the code of a day: of a date, of a moment, or of text in ISO form or in the format of the domain."""
    if domain.format is not None and cell.type().is_string():
        return _inside(written_day(cell, domain.written), domain)
    return _or_missing(_days(_clamped_date(_date(cell), domain)), _date(cell), domain)


def calendar_code(cell: Any, rule: Months | Years | Weekdays, domain: Derived) -> Any:
    """Return the code of the month, year or weekday of a day."""
    base = domain.base
    assert isinstance(base, Dates)
    if base.format is not None and cell.type().is_string():
        return _formatted_part(cell, rule, domain)
    return _or_missing(_calendar_part(_clamped_date(_date(cell), base), rule, base), _date(cell), domain)


def _literal(code: int) -> Any:
    import ibis

    return ibis.literal(code, "int64")


def _inside(code: Any, domain: Domain) -> Any:
    """Clamp a code that is null where the cell is missing."""
    import ibis

    assert domain.highest is not None
    filled = code.fill_null(_literal(domain.first if domain.may_be_missing else domain.missing_code))
    inside = ibis.greatest(ibis.least(filled, _literal(domain.highest)), _literal(domain.first))
    return _or_missing(inside, code, domain)


def _or_missing(code: Any, cell: Any, domain: Domain) -> Any:
    """Return the code, and the level of missing cells where the cell is null; elsewhere it was filled before."""
    import ibis

    return ibis.ifelse(cell.isnull(), _literal(domain.missing_code), code) if domain.may_be_missing else code


def _date(cell: Any) -> Any:
    """Return the day that a cell holds, null where it holds none."""
    if cell.type().is_string():
        return cell.re_extract(f"^{DATE_TEXT}\\z", 1).try_cast("date")
    if not cell.type().is_timestamp():
        return cell
    return (whole_second(cell) if cell.type().scale == NANOSECONDS else cell).date()


def _clamped_date(day: Any, domain: Dates) -> Any:
    """Return a day of the range, never null."""
    import ibis

    filled = day.fill_null(ibis.date((domain.missing or domain.earliest).isoformat()))
    latest, earliest = ibis.date(domain.latest.isoformat()), ibis.date(domain.earliest.isoformat())
    return within(filled, earliest, latest)


def _days(day: Any) -> Any:
    import ibis

    return day.delta(ibis.date(EPOCH.isoformat()), unit="day").cast("int64")


def _formatted_part(cell: Any, rule: Months | Years | Weekdays, domain: Derived) -> Any:
    """Return a month, year or weekday of a text that is read by a format.

    A month of a clamped day is the clamped month, because months grow with days; a weekday is that of the clamped day.
    """
    import ibis

    base = domain.base
    assert isinstance(base, Dates)
    if isinstance(rule, Weekdays):
        day = _inside(written_day(cell, base.written), base)
        found = (day + (3 - (base.first + 3) // 7 * 7)) % 7
        absent = day == base.missing_code
        return ibis.ifelse(absent, _literal(domain.missing_code), found) if base.may_be_missing else found
    months = written_month(cell, base.written)
    if isinstance(rule, Months):
        return _inside(months, domain)
    # Years count from 0 here, so that the quotient is of nothing negative.
    return _inside(small_quotient(months + 1970 * 12, 12), domain)


def _calendar_part(day: Any, rule: Months | Years | Weekdays, base: Dates) -> Any:
    if isinstance(rule, Months):
        return day.year().cast("int64") * 12 + day.month().cast("int64") - (1970 * 12 + 1)
    if isinstance(rule, Years):
        return day.year().cast("int64")
    # Whole weeks are added until the remainder is taken of nothing negative, on which engines differ.
    return (_days(day) + (3 - (base.first + 3) // 7 * 7)) % 7

"""Expressions of a statement with the range, the step and the reads that follow from their columns (SQ-EXPR).

A value is an exact number on a public grid, a day, one of listed labels, or a truth value. Inside an engine it is an
integer code, null where it is missing. No expression is handed to an engine whose failure its range does not exclude:
codes stay below 2^62, quotients are of whole numbers below 2^52, and nothing divides by a column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from math import ceil, floor, gcd
from typing import Any, Literal

from sfumato.domain import Text
from sfumato.domain.calendar import day_of_number
from sfumato.errors import ParameterError
from sfumato.grammar.printing import printed_number
from sfumato.table.moments import small_quotient

LARGEST = 2**62
QUOTIENT = 2**52
"""Up to here the double of a whole number, divided and rounded down, is the whole quotient."""

MOST_DIGITS = 9
"""To so many digits after the point a value is rounded at most."""

Kind = Literal["number", "date", "label", "truth", "time", "text"]
Build = Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class Expression:
    """One expression: its canonical text, what it may be, what it reads, and how an engine computes its code.

    Codes lie between `low` and `high`; a number is its code times `step`, a label the one at the place of its code.
    """

    text: str
    kind: Kind
    build: Build
    low: int = 0
    high: int = 1
    step: Fraction = Fraction(1)
    labels: tuple[Any, ...] = ()
    nullable: bool = False
    reads: frozenset[str] = frozenset()
    columns: frozenset[str] = frozenset()
    constant: bool = False
    compound: bool = False
    raw: Build | None = None
    """How the code is had with missing cells as the one after the highest, where the table holds it so."""
    compares: Callable[[str, Sequence[Any]], Expression] | None = None
    """How a column itself is compared with literals, whatever it holds."""
    texts: Text | None = None
    """What a column of texts holds."""

    def __post_init__(self) -> None:
        if max(abs(self.low), abs(self.high)) > LARGEST:
            raise ParameterError(
                f"The values of {self.text} need more than 62 bits; write {self._smaller()} around a part of it."
            )

    def _smaller(self) -> str:
        """Return what brings values into 62 bits: so many digits as they leave room for, or ends."""
        most = max(map(abs, self.ends))
        digits = [place for place in range(MOST_DIGITS + 1) if most * 10**place <= LARGEST]
        return f"ROUND(…, {digits[-1]})" if digits else "LEAST(…, 1000000)"

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The smallest and the largest value of a number."""
        return self.low * self.step, self.high * self.step

    def code(self, rows: Any) -> Any:
        """Return the code inside an engine, never null: a missing value is the code after the highest."""
        import ibis

        if self.raw is not None:
            return self.raw(rows)
        found = self.build(rows)
        if self.texts is not None:
            return found
        found = found.cast("int64")
        return found.fill_null(ibis.literal(self.high + 1, "int64")) if self.nullable else found

    @property
    def shown(self) -> str:
        """The text as a part of a longer expression."""
        return f"({self.text})" if self.compound else self.text


def _changed(part: Expression, **facts: Any) -> Expression:
    """Return an expression made of another one: what holds for a stored column itself does not hold for it."""
    return replace(part, raw=None, compares=None, **facts)


def _whole(number: int) -> Any:
    import ibis

    return ibis.literal(number, "int64")


def together(parts: Sequence[Expression]) -> dict[str, Any]:
    """Return what an expression has of its parts: reads, columns, and whether a missing one makes it missing."""
    return {
        "reads": frozenset[str]().union(*(part.reads for part in parts)),
        "columns": frozenset[str]().union(*(part.columns for part in parts)),
        "nullable": any(part.nullable for part in parts),
        "constant": all(part.constant for part in parts),
    }


def number(value: Fraction) -> Expression:
    """Return a number."""
    code = (value > 0) - (value < 0)
    text = printed_number(value)
    return Expression(
        text,
        "number",
        lambda rows: _whole(code),
        code,
        code,
        abs(value) or Fraction(1),
        constant=True,
        compound=value < 0,
    )


def day(value: date, code: int) -> Expression:
    """Return a day."""
    return Expression(f"DATE '{value.isoformat()}'", "date", lambda rows: _whole(code), code, code, constant=True)


def truth(value: bool) -> Expression:
    """Return TRUE or FALSE."""
    import ibis

    return Expression("TRUE" if value else "FALSE", "truth", lambda rows: ibis.literal(value), constant=True)


def label(value: Any, text: str) -> Expression:
    """Return a text that stands for a label."""
    return Expression(text, "label", lambda rows: _whole(0), 0, 0, labels=(value,), constant=True)


def require(kind: Kind, part: Expression, where: str) -> None:
    """Refuse a part of another kind than `where` takes."""
    if part.kind != kind:
        words = {"number": "a number", "date": "a date", "truth": "a condition", "label": "a label"}
        raise ParameterError(
            f"{part.text} is no {words.get(kind, kind).split(' ', 1)[1]}, and {where} takes one; write one."
        )


# Numbers on a common grid


def _common(parts: Sequence[Expression]) -> Fraction:
    """Return the greatest step of which all values are whole multiples; zero is a multiple of any."""
    steps = [part.step for part in parts if (part.low, part.high) != (0, 0)] or [Fraction(1)]
    found = steps[0]
    for step in steps[1:]:
        top = gcd(found.numerator * step.denominator, step.numerator * found.denominator)
        found = Fraction(top, found.denominator * step.denominator)
    return found


def _on(part: Expression, step: Fraction) -> Expression:
    """Return a number on a finer grid."""
    factor = 1 if (part.low, part.high) == (0, 0) else part.step / step
    assert Fraction(factor).denominator == 1
    times = int(factor)
    if times == 1:
        return _changed(part, step=step)
    build = part.build
    low, high = part.low * times, part.high * times
    return _changed(part, step=step, low=low, high=high, build=lambda rows: build(rows) * _whole(times))


def _numbers(parts: Sequence[Expression], where: str) -> list[Expression]:
    for part in parts:
        require("number", part, where)
    return [_on(part, _common(parts)) for part in parts]


def add(parts: Sequence[Expression], signs: Sequence[str]) -> Expression:
    """Return a sum or difference, from left to right; of a day and whole numbers it is a day, of two days a number."""
    text = _chained(parts, signs)
    if any(part.kind == "date" for part in parts):
        return _days(parts, signs, text)
    found, *rest = _numbers(parts, "+ and -")
    for sign, part in zip(signs, rest, strict=True):
        low, high = (part.low, part.high) if sign == "+" else (-part.high, -part.low)
        build = _added(found.build, part.build, sign)
        found = Expression(
            text, "number", build, found.low + low, found.high + high, found.step, **together([found, part])
        )
    return replace(found, text=text, compound=True)


def _added(left: Build, right: Build, sign: str) -> Build:
    return (lambda rows: left(rows) + right(rows)) if sign == "+" else (lambda rows: left(rows) - right(rows))


def _days(parts: Sequence[Expression], signs: Sequence[str], text: str) -> Expression:
    found, *rest = parts
    for sign, part in zip(signs, rest, strict=True):
        both = (found.kind, part.kind, sign)
        whole = part.kind != "number" or part.step.denominator == 1
        if both not in (("date", "date", "-"), ("date", "number", "+"), ("date", "number", "-")) or not whole:
            raise ParameterError(f"{text} is no date; write date - date, or a date and whole days.")
        counted = replace(_on(part, Fraction(1)), kind="number") if part.kind == "number" else part
        low, high = (counted.low, counted.high) if sign == "+" else (-counted.high, -counted.low)
        kind: Kind = "number" if part.kind == "date" else "date"
        build = _added(found.build, counted.build, sign)
        found = Expression(text, kind, build, found.low + low, found.high + high, **together([found, part]))
    if found.kind == "date":
        for end in (found.low, found.high):
            _checked_day(end, text)
    return replace(found, text=text, compound=True)


def _checked_day(code: int, text: str) -> date:
    try:
        return day_of_number(code)
    except (ValueError, OverflowError):
        raise ParameterError(f"{text} leaves the calendar; write fewer days.") from None


def _chained(parts: Sequence[Expression], signs: Sequence[str]) -> str:
    rest = zip(signs, parts[1:], strict=True)
    return parts[0].shown + "".join(f" {sign} {part.shown}" for sign, part in rest)


def multiply(parts: Sequence[Expression], signs: Sequence[str]) -> Expression:
    """Return a product, or a quotient by numbers, from left to right."""
    found, *rest = parts
    for place, (sign, part) in enumerate(zip(signs, rest, strict=True), 1):
        text = _chained(parts[: place + 1], signs[:place])  # what is too large is spoken of alone
        for one in (found, part):
            require("number", one, sign)
        if sign == "*":
            corners = [a * b for a in (found.low, found.high) for b in (part.low, part.high)]
            build, step = _times(found.build, part.build), found.step * part.step
            found = Expression(text, "number", build, min(corners), max(corners), step, **together([found, part]))
        else:
            found = _divided(found, part, text)
    return replace(found, text=text, compound=True)


def _times(left: Build, right: Build) -> Build:
    return lambda rows: left(rows) * right(rows)


def _divided(found: Expression, by: Expression, text: str) -> Expression:
    if not by.constant or by.low != by.high:
        raise ParameterError(f"{text} has no grid to count on; divide totals, or make a column of it.")
    value = by.ends[0]
    if not value:
        raise ParameterError(f"{text} divides by zero; write another number.")
    step = found.step / abs(value)
    return _changed(found, step=step) if value > 0 else negative(replace(found, step=step))


def negative(part: Expression) -> Expression:
    """Return the number with the other sign."""
    require("number", part, "-")
    build = part.build
    return _changed(
        part, text=f"- {part.shown}", build=lambda rows: -build(rows), low=-part.high, high=-part.low, compound=True
    )


def absolute(part: Expression) -> Expression:
    """Return the size of a number."""
    require("number", part, "ABS")
    build, ends = part.build, (abs(part.low), abs(part.high))
    low = 0 if part.low <= 0 <= part.high else min(ends)
    return _function("ABS", [part], lambda rows: build(rows).abs().cast("int64"), (low, max(ends)), part.step)


def _function(
    name: str, parts: Sequence[Expression], build: Build, ends: tuple[int, int], step: Fraction
) -> Expression:
    text = f"{name}({', '.join(part.text for part in parts)})"
    return Expression(text, "number", build, *ends, step, **together(parts))


def floored(part: Expression) -> Expression:
    """Return the whole number below a number."""
    require("number", part, "FLOOR")
    top, under = part.step.numerator, part.step.denominator
    low, high = floor(part.ends[0]), floor(part.ends[1])
    # Whole numbers are added before, so that the quotient is of nothing negative, and taken off after it.
    lift = max(0, ceil(-part.ends[0]))
    _check_quotient(part, max(abs(part.low), abs(part.high)) * top + lift * under)
    build = part.build

    def built(rows: Any) -> Any:
        scaled = build(rows) * _whole(top)
        return scaled if under == 1 else small_quotient(scaled + _whole(lift * under), under) - _whole(lift)

    return _function("FLOOR", [part], built, (low, high), Fraction(1))


def _check_quotient(part: Expression, most: int) -> None:
    if most >= QUOTIENT:
        raise ParameterError(
            f"The values of {part.text} are too large to be rounded exactly; give its columns larger steps."
        )


def rounded(part: Expression, digits: Expression | None) -> Expression:
    """Return the number to some digits, half away from zero: sign·floor((2·|a| + u) / 2u)."""
    require("number", part, "ROUND")
    places = Fraction(0) if digits is None else digits.ends[0]
    if places.denominator != 1 or not 0 <= places <= MOST_DIGITS or (digits is not None and not digits.constant):
        raise ParameterError(f"ROUND takes 0 to 9 digits; write ROUND({part.text}, 2).")
    scaled: Fraction = part.step * 10 ** int(places)
    top, under = scaled.numerator, scaled.denominator
    most = max(abs(part.low), abs(part.high))
    _check_quotient(part, 2 * most * top + under)

    def half(code: int) -> int:
        size: int = (2 * abs(code) * top + under) // (2 * under)
        return size if code >= 0 else -size

    build = part.build

    def built(rows: Any) -> Any:
        import ibis

        code = build(rows)
        if under == 1:
            return code * _whole(top)
        size = small_quotient(code.abs().cast("int64") * _whole(2 * top) + _whole(under), 2 * under)
        return ibis.ifelse(code < 0, -size, size)

    step = Fraction(1, 10 ** int(places))
    parts = [part] if digits is None else [part, digits]
    return _function("ROUND", parts, built, (half(part.low), half(part.high)), step)


def clamped(name: str, parts: Sequence[Expression]) -> Expression:
    """Return LEAST or GREATEST of one expression and numbers; what is missing stays missing."""
    free = [part for part in parts if not part.constant]
    if len(free) > 1 or len(parts) < 2:
        raise ParameterError(f"{name} takes one expression and numbers; write CASE WHEN a < b THEN a ELSE b END.")
    aligned = _numbers(parts, name)
    pick = min if name == "LEAST" else max
    limit = pick(part.low for part in aligned if part.constant) if any(part.constant for part in aligned) else None
    moving = [part for part in aligned if not part.constant]
    found = moving[0] if moving else aligned[0]
    assert limit is not None
    build, end = found.build, limit

    def built(rows: Any) -> Any:
        import ibis

        code = build(rows)
        passes = code > end if name == "LEAST" else code < end
        return ibis.ifelse(passes, _whole(end), code)

    low, high = pick(found.low, end), pick(found.high, end)
    return replace(_function(name, parts, built, (low, high), found.step), nullable=found.nullable)


def clamping(written: Expression, name: str, of: Expression, end: Expression) -> Expression:
    """Return a CASE that does what LEAST or GREATEST of a value and a number does, with the range that they have."""
    return replace(clamped(name, [of, end]), text=written.text)


# What chooses between values


def alike(parts: Sequence[Expression], where: str) -> list[Expression]:
    """Return values of one kind: numbers on one grid, labels of one list."""
    kinds = {part.kind for part in parts}
    if len(kinds) != 1 or kinds & {"text", "time"}:
        raise ParameterError(f"{where} takes values of one kind: numbers, dates, labels or truth values.")
    if kinds == {"number"}:
        return _numbers(parts, where)
    if kinds != {"label"}:
        return list(parts)
    labels = tuple(dict.fromkeys(one for part in parts for one in part.labels))
    return [_relabelled(part, labels) for part in parts]


def _relabelled(part: Expression, labels: tuple[Any, ...]) -> Expression:
    if part.labels == labels[: len(part.labels)]:
        return _changed(part, labels=labels, high=len(labels) - 1, low=0)
    places = [labels.index(one) for one in part.labels]
    build = part.build

    def built(rows: Any) -> Any:
        import ibis

        code = build(rows)
        cases = [(code == place, _whole(to)) for place, to in enumerate(places)]
        return ibis.cases(*cases, else_=ibis.null("int64"))

    return _changed(part, labels=labels, low=0, high=len(labels) - 1, build=built)


def _hull(parts: Sequence[Expression], text: str, nullable: bool, build: Build) -> Expression:
    first = parts[0]
    facts = {**together(parts), "nullable": nullable, "constant": False}
    low, high = min(part.low for part in parts), max(part.high for part in parts)
    return Expression(text, first.kind, build, low, high, first.step, first.labels, **facts)


def coalesced(parts: Sequence[Expression]) -> Expression:
    """Return the first value that is there."""
    if len(parts) < 2:
        raise ParameterError("COALESCE takes two values or more; write COALESCE(a, 0).")
    same = alike(parts, "COALESCE")

    def built(rows: Any) -> Any:
        import ibis

        return ibis.coalesce(*(cell_of(part, rows) for part in same))

    text = f"COALESCE({', '.join(part.text for part in parts)})"
    return _hull(same, text, all(part.nullable for part in parts), built)


def cell_of(part: Expression, rows: Any) -> Any:
    """Return a truth value, or a code in 64 bits."""
    cell = part.build(rows)
    return cell if part.kind == "truth" else cell.cast("int64")


def case(branches: Sequence[tuple[Expression, Expression]], otherwise: Expression | None) -> Expression:
    """Return CASE: the value of the first condition that is true."""
    for condition, _ in branches:
        require("truth", condition, "WHEN")
    values = [value for _, value in branches] + ([] if otherwise is None else [otherwise])
    same = alike(values, "CASE")

    def built(rows: Any) -> Any:
        import ibis

        pairs = [
            (condition.build(rows), cell_of(value, rows)) for (condition, _), value in zip(branches, same, strict=False)
        ]
        kind = "boolean" if same[0].kind == "truth" else "int64"
        return ibis.cases(*pairs, else_=ibis.null(kind) if otherwise is None else cell_of(same[-1], rows))

    shown = " ".join(f"WHEN {condition.text} THEN {value.text}" for condition, value in branches)
    text = f"CASE {shown}{'' if otherwise is None else f' ELSE {otherwise.text}'} END"
    nullable = otherwise is None or any(value.nullable for value in values)
    found = _hull(same, text, nullable, built)
    conditions = together([condition for condition, _ in branches])
    return replace(found, reads=found.reads | conditions["reads"], columns=found.columns | conditions["columns"])


def extracted(part: str, of: Expression) -> Expression:
    """Return the year, quarter, month or day of a date."""
    require("date", of, "EXTRACT")
    first, last = _checked_day(of.low, of.text), _checked_day(of.high, of.text)
    ends = {
        "YEAR": (first.year, last.year),
        "QUARTER": ((first.month + 2) // 3, (last.month + 2) // 3) if first.year == last.year else (1, 4),
        "MONTH": (first.month, last.month) if first.year == last.year else (1, 12),
        "DAY": (first.day, last.day) if (first.year, first.month) == (last.year, last.month) else (1, 31),
    }[part]
    build = of.build
    text = f"EXTRACT({part} FROM {of.text})"
    return Expression(text, "number", lambda rows: _civil(build(rows), part), *ends, **together([of]))


def _civil(days: Any, part: str) -> Any:
    """Return a part of the date of a day number, in whole numbers; days since 0000-03-01 are never negative."""
    import ibis

    since = days.cast("int64") + _whole(719_468)
    era = small_quotient(since, 146_097)
    of_era = since - era * 146_097
    year = small_quotient(
        of_era - small_quotient(of_era, 1460) + small_quotient(of_era, 36_524) - small_quotient(of_era, 146_096), 365
    )
    of_year = of_era - (year * 365 + small_quotient(year, 4) - small_quotient(year, 100))
    place = small_quotient(of_year * 5 + 2, 153)
    if part == "DAY":
        return of_year - small_quotient(place * 153 + 2, 5) + 1
    month = ibis.ifelse(place < 10, place + 3, place - 9)
    if part == "YEAR":
        return year + era * 400 + ibis.ifelse(month <= 2, _whole(1), _whole(0))
    return month if part == "MONTH" else small_quotient(month + 2, 3)

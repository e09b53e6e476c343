"""Columns made from another column: bins, months, years, weekdays. Their domains are public because their base's is."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from math import ceil, floor
from typing import Any, ClassVar

from sfumato.domain.base import Domain
from sfumato.domain.calendar import Dates, as_date, day_number, day_of_number
from sfumato.domain.numbers import FixedPoint, Integers
from sfumato.errors import ParameterError
from sfumato.exact import above_zero, exact, to_text
from sfumato.exact.search import smallest_between
from sfumato.words import Understood

MOST_LABELS = 2**12
"""Nobody reads the labels of more bins than this."""

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True)
class Derivation(metaclass=Understood):
    """How a column follows from the codes of the column `of`; `on(base)` is its domain."""

    kind: ClassVar[str]
    of: str

    def __post_init__(self) -> None:
        if not isinstance(self.of, str) or not self.of:
            raise ParameterError("A derived column names its base; write for example bins('age', step=10).")

    def on(self, base: Domain) -> Derived:
        """Return the domain of this column when its base has the domain `base`."""
        rule = self.over(base)
        rule.check(base)
        return Derived(rule, base, public=base.public)

    def over(self, base: Domain) -> Derivation:
        """Return the rule with a part for every value of the base."""
        return self

    def as_stored(self, base: Domain) -> Derived:
        """Return the domain of a rule that was stored beside an answer, with every code as it stood then."""
        return self.on(base)

    @abstractmethod
    def check(self, base: Domain) -> None:
        """Refuse a base that this rule cannot read."""

    @abstractmethod
    def derive(self, base: Domain, code: int) -> int:
        """Return the derived code of a base code; never falls as the base code grows, weekdays excepted."""

    @abstractmethod
    def value(self, base: Domain, code: int) -> Any:
        """Return the value that people see for a derived code."""

    def label(self, base: Domain, code: int) -> str | None:
        """Return what people read for a derived code whose value is only where a part begins; None elsewhere."""
        return None

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `column_from_json` reads back."""


@dataclass(frozen=True)
class Derived(Domain):
    """The domain of a derived column: a rule on a base.

    `encode` reads a value of the base; `decode` and `code` speak of the derived values (the lower end of a bin,
    the first day of a month, a year, the name of a weekday).

    >>> decade = Bins("age", step=10).on(Integers(17, 90))
    >>> decade.encode(44), decade.decode(4), decade.code(40), decade.size
    (4, 40, 4, 10)
    """

    kind: ClassVar[str] = "derived"
    rule: Derivation
    base: Domain

    @property
    def first(self) -> int:
        """The derived code of the base's smallest code."""
        if isinstance(self.rule, Weekdays):
            return 0
        return self.rule.derive(self.base, self.base.first)

    @property
    def highest(self) -> int:
        """The derived code of the base's highest value."""
        if isinstance(self.rule, Weekdays):
            return 6
        assert self.base.highest is not None
        return self.rule.derive(self.base, self.base.highest)

    @property
    def may_be_missing(self) -> bool:
        """Whether a cell of the base may be missing: then this one is missing with it."""
        return self.base.may_be_missing

    @property
    def missing_code(self) -> int:
        """What the base's missing value becomes."""
        return self.highest + 1 if self.may_be_missing else self.derive(self.base.missing_code)

    def derive(self, code: int) -> int:
        """Return the derived code of a base code; missing stays missing."""
        return self.missing_code if self.base.is_missing(code) else self.rule.derive(self.base, code)

    def encode(self, value: Any) -> int:
        """Repair a value of the base, then derive."""
        return self.derive(self.base.encode(value))

    def decode(self, code: int) -> Any:
        """Return the derived value that people see."""
        return None if self.is_missing(code) else self.rule.value(self.base, self._check_code(code))

    def labels(self) -> dict[Any, str]:
        """Return what people read for each value, where that says more than the value; of very many, nothing."""
        listed = range(self.first, self.highest + 1)[: MOST_LABELS + 1]
        if len(listed) > MOST_LABELS:
            return {}
        said = {self.decode(code): self.rule.label(self.base, code) for code in listed}
        return {value: label for value, label in said.items() if label is not None}

    def code(self, value: Any) -> int:
        """Accept a derived value: a lower end, a first day, a year or a weekday."""
        if isinstance(self.rule, Weekdays):
            if value in WEEKDAYS:
                return WEEKDAYS.index(value)
            raise ParameterError(f"{value!r} is no weekday; write one of {', '.join(WEEKDAYS)}.")
        first = self.first
        try:
            wanted = as_date(value) if isinstance(self.decode(first), date) else exact(value, "the value")
            # Values grow with codes, so the code is found by halving.
            found = smallest_between(first - 1, self.highest, lambda code: self.decode(code) >= wanted)
            if self.decode(found) == wanted:
                return found
        except TypeError:
            pass
        raise ParameterError(f"{value!r} is no value of this column; they are the lower ends of its parts.")

    def to_json(self) -> dict[str, Any]:
        """Return the rule; the base stands in its own column."""
        return self.rule.to_json()


@dataclass(frozen=True)
class Bins(Derivation):
    """Parts of a number or date column: of equal width `step` and aligned to zero, or between given `edges`.

    A bin's value is its lower end, and its label names both. With `edges`, the last bin holds its upper end too; where
    the base reaches below the first edge or above the last one, there is a further bin for that.

    >>> stage = Bins("age", edges=(18, 65)).on(Integers(0, 120))
    >>> stage.encode(18), list(stage.labels().values())
    (1, ['below 18', '18 to 64', '65 and more'])

    A ledger of an earlier version has them `clipped`: what is beyond the edges is in the first and the last bin.
    """

    kind: ClassVar[str] = "bins"
    step: Fraction | None = None
    edges: tuple[Any, ...] | None = None
    clipped: bool = field(default=False, kw_only=True, repr=False)
    declared: tuple[Any, ...] | None = field(default=None, kw_only=True, repr=False, compare=False)
    """The edges as they were written, where there are more now."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.step is None) == (self.edges is None):
            raise ParameterError("Bins need either step= or edges=; write bins('age', step=10).")
        if self.step is not None:
            object.__setattr__(self, "step", above_zero(self.step, "step"))
        if self.edges is not None:
            object.__setattr__(self, "edges", tuple(_edge(edge) for edge in self.edges))
            if len(self.edges) < 2 or any(a >= b for a, b in zip(self.edges, self.edges[1:], strict=False)):
                raise ParameterError("Edges grow from one to the next and there are at least two; list them in order.")

    def over(self, base: Domain) -> Bins:
        """Return the bins with one more at each end to which the base reaches beyond the edges."""
        if self.edges is None or self.clipped or not self._fits(base):
            return self
        assert base.highest is not None
        least, most = self.outer_codes(base)
        below = (base.decode(base.first),) if base.first < least else ()
        above = (base.decode(base.highest),) if base.highest > most else ()
        if not below and not above:
            return self
        return replace(self, edges=(*below, *self.edges, *above), declared=self.declared or self.edges)

    @property
    def earlier(self) -> Bins:
        """What an earlier version made of the same words: everything beyond the edges in the first and last bin."""
        return self if self.declared is None else Bins(self.of, edges=self.declared, clipped=True)

    def as_stored(self, base: Domain) -> Derived:
        """Return the domain; of edges that do not reach over the base it is that of an earlier version."""
        found = self.on(base)
        assert isinstance(found.rule, Bins)
        return found.rule.earlier.on(base)

    def _fits(self, base: Domain) -> bool:
        """Tell whether the edges are of the kind of the base's values."""
        assert self.edges is not None
        kind = isinstance(base, (Integers, FixedPoint, Dates))
        return kind and not any(isinstance(edge, date) is not isinstance(base, Dates) for edge in self.edges)

    def check(self, base: Domain) -> None:
        """Refuse a base without order or steps, and edges that make an empty bin."""
        if not isinstance(base, (Integers, FixedPoint, Dates)):
            raise ParameterError(
                f"Bins need a column of numbers or dates, and {self.of!r} is none; of times the step= is the bin."
            )
        assert base.highest is not None
        if base.highest - base.first >= 2**53:
            raise ParameterError(f"The range of {self.of!r} has more than 2^53 values; bins need fewer.")
        if self.step is not None and (self.step / _unit(base)).denominator != 1:
            raise ParameterError(f"step must be a whole number of the steps of {self.of!r}; round it to one.")
        if self.edges is not None:
            if not self._fits(base):
                raise ParameterError(f"The edges must be of the same kind as the values of {self.of!r}.")
            inner = self.edge_codes(base)
            if len(set(inner)) != len(inner) or (inner and not base.first < inner[0] <= inner[-1] <= base.highest):
                raise ParameterError(
                    f"Every edge between the first and the last must fall on its own value of {self.of!r} inside its "
                    "range; remove the edges that make an empty bin."
                )

    def width(self, base: Domain) -> int:
        """Return the width of an equal bin in base codes."""
        assert self.step is not None
        return int(self.step / _unit(base))

    def edge_codes(self, base: Domain) -> tuple[int, ...]:
        """Return the base code at which each bin after the first starts."""
        assert self.edges is not None
        inner = self.edges[1:-1]
        if isinstance(base, Dates):
            return tuple(day_number(edge) for edge in inner)
        return tuple(-int(-edge // _unit(base)) for edge in inner)

    def outer_codes(self, base: Domain) -> tuple[int, int]:
        """Return the base codes between the first and the last edge: the least and the largest."""
        assert self.edges is not None
        first, last = self.edges[0], self.edges[-1]
        if isinstance(base, Dates):
            return day_number(first), day_number(last)
        return ceil(first / _unit(base)), floor(last / _unit(base))

    def derive(self, base: Domain, code: int) -> int:
        """Return code // width, or the number of edges at or below the code."""
        return bisect_right(self.edge_codes(base), code) if self.step is None else code // self.width(base)

    def value(self, base: Domain, code: int) -> Any:
        """Return the bin's lower end."""
        if self.edges is not None:
            return self.edges[code]
        lower = code * self.width(base)
        if isinstance(base, Dates):
            return day_of_number(lower)
        return lower if isinstance(base, Integers) else lower * _unit(base)

    def label(self, base: Domain, code: int) -> str:
        """Return from where to where a bin goes; the outermost are open, because cells beyond the range count there.

        >>> fee = Bins("fee", edges=(1, 5)).on(FixedPoint(0, 50, step="0.5"))
        >>> list(fee.labels().values())
        ['below 1', '1 to <5', '5 and more']
        """
        if self.step is not None:
            width = self.width(base)
            return _closed(base, code * width, (code + 1) * width - 1)
        inner = self.edge_codes(base)
        if not inner:
            assert base.highest is not None
            return _closed(base, base.first, base.highest)
        if code == 0:
            return f"below {_shown(base, inner[0])}"
        return (
            f"{_shown(base, inner[-1])} and more"
            if code == len(inner)
            else _closed(base, inner[code - 1], inner[code] - 1)
        )

    def to_json(self) -> dict[str, Any]:
        """Return the base's name and the step or the edges."""
        if self.step is not None:
            return {"type": self.kind, "of": self.of, "step": to_text(self.step)}
        assert self.edges is not None
        edges = [edge.isoformat() if isinstance(edge, date) else to_text(edge) for edge in self.edges]
        return {"type": self.kind, "of": self.of, "edges": edges}


@dataclass(frozen=True)
class _CalendarRule(Derivation):
    """A rule that reads a date column."""

    def check(self, base: Domain) -> None:
        """Refuse a base that holds no dates."""
        if not isinstance(base, Dates):
            raise ParameterError(
                f"{type(self).__name__} need a column of dates, and {self.of!r} is none; declare {self.of!r} with "
                "dates(…), which also takes the day of a moment. A ledger is made for one of the two: where there is "
                f"one already, ask by conditions such as {self.of} < '2025-02-01', or make a new one, whose promise "
                "adds to that of the first."
            )

    def to_json(self) -> dict[str, Any]:
        """Return the base's name."""
        return {"type": self.kind, "of": self.of}


@dataclass(frozen=True)
class Months(_CalendarRule):
    """The month of a date; its value is the month's first day, its code counts months from January 1970.

    >>> Months("born").on(Dates("1960-01-01", "2030-12-31")).decode(13)
    datetime.date(1971, 2, 1)
    """

    kind: ClassVar[str] = "months"

    def derive(self, base: Domain, code: int) -> int:
        """Count months from January 1970."""
        day = day_of_number(code)
        return (day.year - 1970) * 12 + day.month - 1

    def value(self, base: Domain, code: int) -> date:
        """Return the first day of the month."""
        return date(1970 + code // 12, code % 12 + 1, 1)


@dataclass(frozen=True)
class Years(_CalendarRule):
    """The year of a date, which is its own code.

    >>> Years("born").on(Dates("1960-01-01", "2030-12-31")).encode("1971-02-03")
    1971
    """

    kind: ClassVar[str] = "years"

    def derive(self, base: Domain, code: int) -> int:
        """Return the year."""
        return day_of_number(code).year

    def value(self, base: Domain, code: int) -> int:
        """Return the year itself."""
        return code


@dataclass(frozen=True)
class Weekdays(_CalendarRule):
    """The day of the week of a date, Monday first.

    >>> Weekdays("born").on(Dates("1960-01-01", "2030-12-31")).decode(3)
    'Thursday'
    """

    kind: ClassVar[str] = "weekdays"

    def derive(self, base: Domain, code: int) -> int:
        """Return 0 for Monday to 6 for Sunday."""
        return (code + 3) % 7  # 1970-01-01 was a Thursday

    def value(self, base: Domain, code: int) -> str:
        """Return the English name."""
        return WEEKDAYS[code]


def _unit(base: Domain) -> Fraction:
    return base.step if isinstance(base, FixedPoint) else Fraction(1)


def _closed(base: Domain, start: int, end: int) -> str:
    """Return from which base code to which a bin goes: of whole numbers and days its last one, else the next bin's."""
    assert base.highest is not None
    start, end = max(start, base.first), min(end, base.highest)
    if isinstance(base, FixedPoint) and end < base.highest:
        return f"{_shown(base, start)} to <{_shown(base, end + 1)}"
    return _shown(base, start) if start == end else f"{_shown(base, start)} to {_shown(base, end)}"


def _shown(base: Domain, code: int) -> str:
    """Return the value of a base code, as people read it."""
    if isinstance(base, Dates):
        return day_of_number(code).isoformat()
    return f"{float(code * _unit(base)):.12g}"


def _edge(edge: Any) -> Fraction | date:
    if isinstance(edge, date):
        return as_date(edge, "an edge")
    if isinstance(edge, str) and edge.count("-") == 2:
        return as_date(edge, "an edge")
    return exact(edge, "an edge")

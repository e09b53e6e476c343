"""Columns made from another column: bins, months, years, weekdays. Their domains are public because their base's is."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.domain.base import Domain
from sfumato.domain.calendar import Dates, as_date, day_number, day_of_number
from sfumato.domain.numbers import FixedPoint, Integers
from sfumato.errors import ParameterError
from sfumato.exact import above_zero, exact, to_text
from sfumato.exact.search import smallest_between
from sfumato.words import Understood

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
        self.check(base)
        return Derived(self, base, public=base.public)

    @abstractmethod
    def check(self, base: Domain) -> None:
        """Refuse a base that this rule cannot read."""

    @abstractmethod
    def derive(self, base: Domain, code: int) -> int:
        """Return the derived code of a base code; never falls as the base code grows, weekdays excepted."""

    @abstractmethod
    def value(self, base: Domain, code: int) -> Any:
        """Return the value that people see for a derived code."""

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

    A bin's value is its lower end. With `edges`, the last bin holds its upper end too, and cells below the first
    edge or above the last one fall into the first or last bin.

    >>> Bins("age", edges=(0, 18, 65, 120)).on(Integers(0, 120)).encode(18)
    1
    """

    kind: ClassVar[str] = "bins"
    step: Fraction | None = None
    edges: tuple[Any, ...] | None = None

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
            if any(isinstance(edge, date) is not isinstance(base, Dates) for edge in self.edges):
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
                "dates(…), which also takes the day of a moment."
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


def _edge(edge: Any) -> Fraction | date:
    if isinstance(edge, date):
        return as_date(edge, "an edge")
    if isinstance(edge, str) and edge.count("-") == 2:
        return as_date(edge, "an edge")
    return exact(edge, "an edge")

"""Some days of a table: the rows whose own stamp lies in them, cut out before anything else is done (PB-UNIT).

Which days a row belongs to follows from that row alone. A stamp that is missing or outside the declared range belongs
to no day that may be asked for: such cells are clamped to the ends of the range, so the ends themselves are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

from sfumato.domain import Dates
from sfumato.domain.calendar import day_number
from sfumato.errors import SchemaError
from sfumato.table.repair import PERSON
from sfumato.table.schema import Schema

if TYPE_CHECKING:
    import ibis.expr.types as ir


@dataclass(frozen=True)
class Span:
    """The days from `first` to `last` of the column `stamp`."""

    stamp: str
    first: date
    last: date
    starts: tuple[int, ...] = ()
    """When each of these days and the one after them begin, in seconds of UTC, where moments with a zone are cut."""
    within: str = ""
    """The column in each of whose values the rows of a person are cut apart; empty where all are cut together."""

    def local(self, table: ir.Table) -> ir.Table | None:
        """Return the table with days in place of moments that have a zone, None where there is nothing to change.

        Days before and after these are told apart from them and not from each other: their rows are left out.
        """
        import ibis

        kind = table.schema().get(self.stamp)
        if kind is None or not kind.is_timestamp() or kind.timezone is None:
            return None
        if not self.starts:
            raise SchemaError(
                f"The stamp {self.stamp!r} holds moments with a zone, and their day depends on where one looks; write "
                "zone = 'Europe/Berlin' under [publication], or 'UTC'."
            )
        moment = table[self.stamp].epoch_seconds()
        days = [self.first + timedelta(days=place) for place in range(-1, len(self.starts))]
        before = [(moment < start, ibis.literal(day)) for start, day in zip(self.starts, days, strict=False)]
        return table.mutate(**{self.stamp: ibis.cases(*before, else_=ibis.literal(days[-1]))})

    def check(self, schema: Schema) -> None:
        """Refuse a column that is no date, and days that unreadable cells could fall into; public facts only."""
        domain = schema.domain(self.stamp)
        if not isinstance(domain, Dates):
            raise SchemaError(
                f"The stamp {self.stamp!r} says when a row happened, so it is a date; declare it by dates(…) in the "
                "schema, and store moments as the day on which they happened where the people live."
            )
        if not domain.may_be_missing:
            raise SchemaError(
                f"Cells of {self.stamp!r} that are no date become {domain.missing}, a day like any other; leave "
                "missing= out of its domain, so that such rows belong to no day."
            )
        if not domain.earliest < self.first <= self.last < domain.latest:
            raise SchemaError(
                f"The stamp {self.stamp!r} is declared from {domain.earliest} to {domain.latest}, and cells outside of "
                f"that count at its ends; declare a range that begins before {self.first} and ends after {self.last}."
            )

    def rows(self, coded: ir.Table) -> ir.Table:
        """Return the rows of these days; where rows are cut apart, a name of person and value stands for the person.

        What counts of a person is then cut by that name, so that rows with one value decide nothing about others.
        """
        day = coded[self.stamp]
        rows = coded.filter((day >= day_number(self.first)) & (day <= day_number(self.last)))
        if not self.within:
            return rows
        # The code has no colon, so no two pairs have the same name.
        return rows.mutate(**{PERSON: rows[self.within].cast("string") + ":" + rows[PERSON].cast("string")})

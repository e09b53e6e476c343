"""A curator of the rows of one period, where limits hold for each day, month or shop (PB-UNIT 1.3).

All other rows are left out before anything is done, so what a person counts is cut over that period alone and a release
is charged as one of a publication is: to the slots that the period meets, whole or in part. A period that nobody names
is never guessed from a condition.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NoReturn

from sfumato.curator.curator import Curator
from sfumato.curator.shorthands import CONVERSATIONS
from sfumato.errors import ParameterError, SchemaError
from sfumato.publish.calendar import Slot, slot_named
from sfumato.publish.charges import charges_of
from sfumato.publish.promised import Promised
from sfumato.table.data import Table
from sfumato.table.periods import Span
from sfumato.table.schema import Schema

NO_LIMITS = (
    "This ledger has no limit on periods, so rows are chosen by a condition; write where=\"at >= '2026-11-01' and at < "
    "'2026-12-01'\", with your own column."
)
BY_ATTRIBUTE = (
    "This ledger limits attributes too, and which rows are of a period is decided by one of them, so what a period "
    "costs each attribute is not proved; ask through a ledger with limits on periods and on people only."
)
RUNS_ON = "A total that runs on reads one period after the other; open it by the whole curator: curator.running(…)."
NESTED = "This curator has the rows of {name} and no others; ask the whole curator for another period."


class PeriodCurator(Curator):
    """What a curator is for all rows, for those of one period; `slot` is the period."""

    def __init__(self, whole: Curator, table: Table, slot: Slot) -> None:
        promised = Promised.by([unit for unit, _ in whole.ledger.budget.units], table.schema)
        super().__init__(table, whole.ledger.reading(partial(charges_of, promised, slot)), whole.ledger.relation)
        self._whole, self.slot = whole, slot
        self._met = [(unit, name) for unit in promised.units for name in promised.met(unit, slot)[0]]
        self.unnamed = whole.unnamed

    @property
    def closed(self) -> bool:
        """Whether the whole curator is closed: its table and its ledger are those of this one."""
        return self._whole.closed

    @closed.setter
    def closed(self, _: bool) -> None:
        """Leave it to the whole curator."""

    def close(self) -> None:
        """Leave table and ledger open: they are the whole curator's, who closes them."""

    def remaining(self) -> dict[str, str]:
        """Return what every limit has left, those on the period too: of each day of a month, say."""
        used = {f"{unit} {name}": self.ledger.spent_in(unit, name).brief for unit, name in self._met}
        return {**super().remaining(), **used}

    def of(self, period: str, *, stamp: str) -> NoReturn:
        """Refuse a period of a period."""
        raise ParameterError(NESTED.format(name=self.slot.name))

    def running(self, *question: Any, **options: Any) -> NoReturn:
        """Refuse a total that runs on."""
        raise ParameterError(RUNS_ON)


def open_period(whole: Curator, period: Any, stamp: Any) -> PeriodCurator:
    """Return a curator of the rows of one period; see `Curator.of`."""
    book, schema = whole.ledger, whole.schema
    if not isinstance(schema, Schema):
        raise SchemaError("One table at a time is asked about a period; open that table by itself with curate(…).")
    if not book.budget.units:
        raise ParameterError(NO_LIMITS)
    if book.budget.names_attributes:
        raise ParameterError(BY_ATTRIBUTE)
    slot = slot_named(str(period))
    span = Span(stamp, slot.first, slot.last)
    span.check(schema)
    return PeriodCurator(whole, _rows_of(whole.table, span, slot), slot)


def _rows_of(whole: Table, span: Span, slot: Slot) -> Table:
    """Return a view of an open table that has the rows of one period and no others."""
    # The name says which rows: the same question about another period, or by another column, is another question.
    found = Table(whole.source, whole.schema, f"{whole.snapshot}, {span.stamp} in {slot.name}", whole.order_key, span)
    found.files, found.state, found.identity = whole.files, whole.state, whole.identity
    return found


CONVERSATIONS.add("period", open_period)

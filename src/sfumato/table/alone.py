"""A table of one schema under a statement: the database of one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.table.bounding import Bounding, Way, bounding_of, told_apart, weighed
from sfumato.table.data import Table
from sfumato.table.own import FlatTable
from sfumato.table.repair import PERSON
from sfumato.table.schema import Schema

if TYPE_CHECKING:
    import ibis.expr.types as ir


class _Alone:
    """The one table of a schema, as statements read stored tables."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def held(self, table: str) -> ir.Table:
        """Return the rows with their person, and their weight where a person may have several."""
        import ibis

        rows, schema = self._table.everybody(), self._table.schema
        if schema.person is None:
            return rows.mutate(**{PERSON: ibis.literal(0, "int32")})
        rule: Bounding = bounding_of(schema, whole=False)
        if rule.way is Way.ROWS:
            return told_apart(rows, schema)
        return weighed(rows, self._table._rows_by_person, rule)


def flat_table(table: Table, schema: Schema) -> Table:
    """Return the flat rows of a statement about one table."""
    return FlatTable(table, _Alone(table), schema)

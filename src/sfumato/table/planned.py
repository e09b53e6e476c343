"""What a question would do, planned by the engine before anything is charged; nothing is run, no cell read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.domain import Text
from sfumato.errors import EngineError, TooLarge
from sfumato.table.bounding import Bounding, Way, ordered, pick_in_engine, told_apart, weighed
from sfumato.table.data import Table
from sfumato.table.failures import REASONS, guarded
from sfumato.table.repair import KEY, PERSON
from sfumato.table.resources import shown

if TYPE_CHECKING:
    import ibis.expr.types as ir

COPIES = 4
"""A reading is held as the engine hands it over, as columns, in order, and packed to be kept: so often at most."""


class PlannedTable(Table):
    """A table whose queries are built and planned but not run: each gives an empty answer of the right columns.

    A measure read from it does all that it does with the table itself, except look at the data. What an engine cannot
    do at all, for example because a query is nested too deeply, and what would not fit memory by public bounds alone,
    is refused here.
    """

    def __init__(self, table: Table, people: int | None) -> None:
        super().__init__(table._source, table.schema, table.snapshot, table.order_key)
        self._kept = table._kept
        self._table = table
        self.public_people = people

    @property
    def _coded(self) -> ir.Table:
        return self._table._coded

    def bounded(self, rule: Bounding, names: Iterable[str]) -> ir.Table:
        """Return the rows of a statement as they are written, and those of a table as they would be cut."""
        return self._table.bounded(rule, names) if self._table.flat else super().bounded(rule, names)

    def everybody(self) -> ir.Table:
        """Return all rows with their person."""
        return self._table.everybody()

    def _keep(self, key: tuple[Bounding, frozenset[str]], table: ir.Table) -> ir.Table:
        return table

    def _bound(self, rule: Bounding, names: Sequence[str]) -> ir.Table:
        """Write out how rows would be cut, as one query."""
        coded = self._coded
        if self.schema.person is None:
            return coded
        if rule.way is Way.ROWS:
            return told_apart(coded, self.schema).select(*names)
        if rule.way is Way.WEIGH:
            return weighed(coded.select(*names, PERSON), self._table._rows_by_person, rule)
        keyed = bool(self.schema.row_key)
        rows = ordered(told_apart(coded, self.schema) if keyed else coded, self.schema, rule, self.source)
        return pick_in_engine(rows, rule.rows, [KEY] if keyed else self.schema.names).select(*names, PERSON)

    def keep_first(
        self,
        rows: ir.Table,
        place: Callable[[ir.Table], ir.Table],
        limit: int,
        ties: Iterable[str],
        hidden: Sequence[str] = (PERSON,),
    ) -> ir.Table:
        """Write out how the first of each person's rows would be kept."""
        return pick_in_engine(place(rows), limit, tuple(ties)).drop(*hidden)

    def forget(self, table: ir.Table) -> None:
        """Nothing was kept."""

    def run(self, query: ir.Table, most: int | None = None) -> Any:
        """Have the query planned, compare what it may need with what there is, and return no rows of it."""
        try:
            guarded(lambda: self._source.planned(query))
        except EngineError as failure:
            raise TooLarge(
                f"The engine cannot run this question: {REASONS[failure.cause]}. Nothing was spent."
            ) from None
        needs = 0 if most is None else COPIES * most * sum(self._width(name) for name in query.columns)
        has = self._source.resources.memory
        if needs > has:
            raise TooLarge(
                f"The answer may take up to {shown(needs)} in this process, which has {shown(has)}, so nothing was "
                "spent; ask about fewer columns, derive coarser bins in the schema, open a sample of the people, or "
                "raise memory_limit= on a larger machine.",
                needs,
                has,
            )
        return query.schema().to_pyarrow().empty_table()

    def batches(self, query: ir.Table) -> Iterator[Any]:
        """Have the query planned, and yield nothing of it."""
        self.run(query)
        return iter(())

    def run_sql(self, rows: ir.Table, sql: str, most: int) -> Any:
        """Have the rows planned; the answer is an empty one."""
        import pyarrow

        self.run(rows)
        fields = {**{name: pyarrow.int64() for name in rows.columns}, "sfumato_set": pyarrow.int64()}
        return pyarrow.schema({**fields, "sfumato_rows": pyarrow.int64()}).empty_table()

    def _width(self, name: str) -> int:
        """Return the bytes of a cell of an answer."""
        domain = self.schema.domain(name) if name in self.schema.names else None
        return domain.max_bytes + 8 if isinstance(domain, Text) else 8

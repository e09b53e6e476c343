"""What a question would do, planned by the engine before anything is charged; nothing is run, no cell read."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Set
from typing import TYPE_CHECKING, Any

from sfumato.domain import Text
from sfumato.errors import EngineError, TooLarge
from sfumato.table.bounding import Bounding, rows_by_person, told_apart
from sfumato.table.data import Table
from sfumato.table.engine import Query
from sfumato.table.failures import REASONS, guarded
from sfumato.table.repair import PERSON
from sfumato.table.resources import shown

if TYPE_CHECKING:
    import ibis.expr.types as ir

FEW = 2**20
"""Plans are kept of answers with so many rows at most: an engine that runs a plan hands over its answer whole."""

COPIES = 4
"""A reading is held as the engine hands it over, as columns, in order, and packed to be kept: so often at most."""

TEXT_CELL = 64
"""What a text needs beside its bytes: its code is an integer of Python."""


class PlannedTable(Table):
    """A table whose queries are built and planned but not run: each gives an empty answer of the right columns.

    A measure read from it does all that it does with the table itself, except look at the data: rows are cut by one
    query, and nothing is kept. What an engine cannot do at all, for example because a query is nested too deeply, and
    what would not fit memory by public bounds alone, is refused here.
    """

    def __init__(self, table: Table, people: int | None, holds: int = 0) -> None:
        super().__init__(table._source, table.schema, table.snapshot, table.order_key)
        self._kept = table._kept
        self._table = table
        self._as_it_is = True  # whether the queries are those that the table itself will run
        self.public_people = people
        self._holds = holds
        # A statement joins rows, so that there may be more of them than in its tables.
        self.public_rows = None if table.flat else table.source.resources.most_rows

    @property
    def _coded(self) -> ir.Table:
        return self._table._coded

    def bounded(self, rule: Bounding, names: Iterable[str]) -> ir.Table:
        """Return the rows of a statement as they are written, and those of a table as they would be cut."""
        return self._table.bounded(rule, names) if self._table.flat else super().bounded(rule, names)

    @property
    def _pickable(self) -> ir.Table:
        return self._table._pickable

    def _arranged(self, rule: Bounding) -> ir.Table:
        return self._table._arranged(rule)

    def everybody(self) -> ir.Table:
        """Return all rows with their person."""
        return self._table.everybody()

    def by_id(self, rows: ir.Table) -> ir.Table:
        """Return rows with the id of their person."""
        return self._table.by_id(rows)

    def uncut(self, rows: ir.Table) -> bool:
        """Tell whether these are the codes of all rows of the table itself."""
        return self._table.uncut(rows)

    def _keep(self, key: tuple[Bounding, frozenset[str]], table: ir.Table) -> ir.Table:
        return table

    @property
    def _rows_by_person(self) -> ir.Table:
        if self._table.span is not None:
            return rows_by_person(self._coded)  # who is there on some days is private, so nothing was counted yet
        return self._table._rows_by_person

    def _one_row_each(self) -> ir.Table:
        """Write the query out that is run where somebody has more rows than one."""
        self._as_it_is = False
        return told_apart(self._coded, self.schema).drop(PERSON)

    @property
    def _in_memory(self) -> bool:
        return False

    def _cached(self, table: ir.Table) -> ir.Table:
        self._as_it_is = False
        return table

    def forget(self, table: ir.Table) -> None:
        """Nothing was kept."""

    def run(
        self, table: ir.Table, most: int | None = None, asked: Hashable = None, read: Set[str] = frozenset()
    ) -> Any:
        """Have the query planned, compare what it may need with what there is, and return no rows of it."""
        return self.run_query(Query(lambda: table), most, asked, read)

    def run_query(
        self, query: Query, most: int | None = None, asked: Hashable = None, read: Set[str] = frozenset()
    ) -> Any:
        """Do so with a query that is built when it is needed."""
        try:
            plan = guarded(lambda: self._source.planned(query, most, read))
        except EngineError as failure:
            raise TooLarge(
                f"The engine cannot run this question ({failure.kind}): {REASONS[failure.cause]}. Nothing was spent."
            ) from None
        kind = query.table.schema().to_pyarrow() if plan is None else plan.kind
        width = COPIES * sum(self._width(name) for name in kind.names) + self._holds
        needs = 0 if most is None else most * width
        has = self._source.resources.memory
        if needs > has:
            raise TooLarge(
                f"The answer may take up to {shown(needs)} in this process, which has {shown(has)}, so nothing was "
                "spent; ask about fewer columns, derive coarser bins in the schema, open a sample of the people, raise "
                "memory_limit= on a larger machine, or lower most_rows= if the table has fewer rows than that.",
                needs,
                has,
            )
        if plan is None:
            return kind.empty_table()
        if asked is not None and self._as_it_is and most is not None and most <= FEW:
            self._table.keep_plan(asked, plan)
        else:
            self._source.forget(plan.name)
        return kind.empty_table()

    def run_as_planned(self, asked: Hashable) -> None:
        """Nothing is run."""

    def each_batch(self, query: ir.Table, take: Callable[[Any], None]) -> None:
        """Have the query planned, and hand nothing of it over."""
        self.run(query)

    def run_sql(self, rows: ir.Table, sql: str, most: int) -> Any:
        """Have the rows planned; the answer is an empty one."""
        import pyarrow

        self.run(rows)
        fields = {**{name: pyarrow.int64() for name in rows.columns}, "sfumato_set": pyarrow.int64()}
        return pyarrow.schema({**fields, "sfumato_rows": pyarrow.int64()}).empty_table()

    def _width(self, name: str) -> int:
        """Return the bytes of a cell of an answer."""
        domain = self.schema.domain(name) if name in self.schema.names else None
        return domain.max_bytes + TEXT_CELL if isinstance(domain, Text) else 8

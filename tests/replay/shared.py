"""Answers of the engine that several tables share: neighbours differ in a cell or two, and most queries read others.

What a query answers depends on its text and on the columns that it names, of tables whose content is known: those that
were handed to the engine and those that it stored. Where the same query of another table meets the same content of the
same columns, in the same order, the answer is the same, and is not asked for again. A text that names a file, or anything
else whose content is not known here, is always asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import pyarrow
import pytest
import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError

from sfumato.table.engine import Source

Content = Callable[[], dict[str, int]]
"""The columns of a table, each with a number that stands for its type and all of its cells in order."""
Leaf = tuple[str, str, int | str]
PASSED_ON = re.compile(r'FROM \(SELECT \* FROM ("\w+")\)')
"""A table that is read as it is, so that the star names nothing."""


@dataclass(frozen=True)
class Text:
    """What a query names: tables, and its own words; of a plain list of columns also the words of each."""

    tables: frozenset[str]
    words: str
    every: bool
    """Whether it may read columns without naming them."""
    cells: dict[str, str] | None


@cache
def read_text(query: str) -> Text | None:
    """Return what a query names, None if that cannot be told."""
    query = PASSED_ON.sub(r"FROM \1", query)
    try:
        whole = sqlglot.parse_one(query, read="duckdb")
        cells = _cells(whole)
    except (RecursionError, ParseError):
        return None  # nested too deeply, or words that only the engine knows
    inside = {one.alias_or_name for one in whole.find_all(exp.CTE)}
    tables = list(whole.find_all(exp.Table))
    if any(not isinstance(one.this, exp.Identifier) or one.args.get("db") for one in tables):
        return None  # a file, a function, or another schema
    called = {one.alias_or_name for one in (*tables, *whole.find_all(exp.Subquery), *whole.find_all(exp.CTE))}
    # A star that is no count, and a table that is named as a cell, stand for all columns.
    stars = [one for one in whole.find_all(exp.Star) if not isinstance(one.parent, exp.Count)]
    rows = [one for one in whole.find_all(exp.Column) if not one.table and one.name in called]
    return Text(
        frozenset(one.name for one in tables) - inside,
        query.lower(),
        bool(stars or rows) or "columns(" in query.lower(),
        cells,
    )


def _cells(query: exp.Expression) -> dict[str, str] | None:
    """Return the text of each column of a query that computes each from the row of one table, and nothing else."""
    clauses = {name for name, value in query.args.items() if value}
    rows = query.find(exp.From)
    named = all(isinstance(one, exp.Alias) for one in query.expressions)
    if (
        not isinstance(query, exp.Select)
        or not clauses <= {"expressions", "from", "from_"}
        or not named
        or rows is None
    ):
        return None
    if not isinstance(rows.this, exp.Table) or query.find(exp.Subquery, exp.Window, exp.AggFunc, exp.UDTF):
        return None
    return {one.alias.lower(): one.this.sql("duckdb").lower() for one in query.expressions}


class Shared:
    """What is known of the tables of all connections, and the answers that were given."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Any, dict[str, Content | str]] = WeakKeyDictionary()
        self._numbers: dict[str, int] = {}
        self._answers: dict[Any, Any] = {}
        self.asked = self.given = 0

    def patch(self, patch: pytest.MonkeyPatch) -> None:
        """Let sources say what they hand to their engine, and ask it once for the same."""
        registered, stored, viewed, fetched, forget = (
            getattr(Source, name) for name in ("registered", "stored", "_viewed", "fetched", "forget")
        )

        def shown(source: Source, data: Any) -> Any:
            table = registered(source, data)
            if source.is_duckdb and isinstance(data, pyarrow.Table):
                self._of(source)[table.get_name()] = cache(lambda: self._content(data))
            return table

        def kept(source: Source, query: Any) -> Any:
            table = stored(source, query)
            if source.is_duckdb:
                name, con = table.get_name(), source.engine.con
                everything = f'SELECT * FROM "{name}"'
                self._of(source)[name] = cache(lambda: self._content(con.sql(everything).to_arrow_table()))
            return table

        def named(source: Source, query: str) -> Any:
            table = viewed(source, query)
            self._of(source)[table.get_name()] = query
            return table

        def once(source: Source, table: Any, most: int | None = None) -> Any:
            self.asked += 1
            leaves = self._leaves(source, source.engine.compile(table), None) if source.is_duckdb else None
            if leaves is None:
                return fetched(source, table, most)
            key = (table.op(), frozenset(leaves))
            if key not in self._answers:
                self._answers[key] = fetched(source, table, most)
            else:
                self.given += 1
            return self._answers[key]

        def forgotten(source: Source, name: str) -> None:
            if source.is_duckdb:
                self._of(source).pop(name, None)
            forget(source, name)

        for name, method in (
            ("registered", shown),
            ("stored", kept),
            ("_viewed", named),
            ("fetched", once),
            ("forget", forgotten),
        ):
            patch.setattr(Source, name, method)

    def _of(self, source: Source) -> dict[str, Content | str]:
        return self._known.setdefault(source.engine.con, {})

    def _content(self, data: pyarrow.Table) -> dict[str, int]:
        # The text of a list tells a negative zero from zero, and one from True.
        texts = {field.name: f"{field.type} {data.column(field.name).to_pylist()!r}" for field in data.schema}
        if len({name.lower() for name in texts}) < len(texts):
            texts = {"": repr(texts)}  # names that differ in their letters only: whoever reads one reads all
        else:
            texts[""] = f"{data.num_rows} rows"  # which every query reads
        return {name.lower(): self._numbers.setdefault(text, len(self._numbers)) for name, text in texts.items()}

    def _leaves(self, source: Source, query: str, wanted: str | None) -> list[Leaf] | None:
        """Return all that the answer depends on but the query itself; `wanted` is a text that names what is read of it."""
        text = read_text(query)
        if text is None:
            return None
        if text.cells is not None and wanted is not None:
            words: str | None = " ".join(cell for name, cell in text.cells.items() if name in wanted)
        else:
            words = None if text.every else text.words
        found: list[Leaf] = []
        for name in sorted(text.tables):
            known = self._of(source).get(name)
            inner = None if known is None else self._inside(source, name, known, words)
            if inner is None:
                return None
            found += inner
        return found

    def _inside(self, source: Source, name: str, known: Content | str, words: str | None) -> list[Leaf] | None:
        if isinstance(known, str):
            inner = self._leaves(source, known, words)
            return None if inner is None else [(name, "", known), *inner]
        columns = known()
        return [(name, column, number) for column, number in columns.items() if words is None or column in words]

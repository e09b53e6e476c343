"""After the noise: items, HAVING, ORDER BY, LIMIT and outer selects, on released numbers alone (SQ-POST).

What a person wrote is printed anew from the tree, with columns called c0, c1, … and texts handed over as parameters,
and run in a fresh, empty DuckDB that holds the released table and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from sfumato.answer import Frame, number
from sfumato.errors import ParameterError
from sfumato.grammar import printed, tree
from sfumato.grammar.printing import printed_number
from sfumato.table.where import read_number

PLACE = "place"
MOST_ROWS = 2**62
"""No table has more; DuckDB takes no larger LIMIT."""
_SETTINGS = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "memory_limit": "256MB",
    "threads": "1",
}
_STORED = (
    "The answer is stored; write NULLIF(…) where something may be zero or below it, compare texts with texts and "
    "numbers with numbers, and ask again, free."
)
_FUNCTIONS = {"FLOOR", "ROUND", "ABS", "LEAST", "GREATEST", "COALESCE", "NULLIF", "SQRT", "LN", "EXP"}

Stands = Callable[[tree.Expression], str | None]
"""What stands for a part of an expression: a column of the table that is read."""


@dataclass
class Printer:
    """Prints expressions for DuckDB, and collects the texts in them as parameters."""

    stands: Stands
    aggregates: bool = False
    texts: list[str] = field(default_factory=list)

    def text(self, node: tree.Expression) -> str:
        """Return the SQL of an expression."""
        found = self.stands(node)
        if found is not None:
            return found
        match node:
            case tree.Brackets(inside):
                return f"({self.text(inside)})"
            case tree.Number(text):
                return f"({printed_number(read_number(text))})"
            case tree.Text(value):
                self.texts.append(value)
                return "?"
            case tree.Moment(kind, value):
                self.texts.append(value)
                return f"CAST(? AS {kind})"
            case tree.Truth(value):
                return "TRUE" if value else "FALSE"
            case tree.Null():
                return "NULL"
            case tree.Negative(of):
                return f"(-{self.text(of)})"
            case tree.Not(of):
                return f"(NOT {self.text(of)})"
            case tree.Chain(parts, signs):
                rest = "".join(f" {sign} {self.text(part)}" for sign, part in zip(signs, parts[1:], strict=True))
                return f"({self.text(parts[0])}{rest})"
            case tree.Comparison(sign, left, right):
                return f"({self.text(left)} {sign} {self.text(right)})"
        return self._other(node)

    def _other(self, node: tree.Expression) -> str:
        match node:
            case tree.Is(of, what, negated):
                return f"({self.text(of)} IS {'NOT ' if negated else ''}{what})"
            case tree.Between(of, low, high, negated):
                ends = f"{self.text(low)} AND {self.text(high)}"
                return f"({self.text(of)} {'NOT ' if negated else ''}BETWEEN {ends})"
            case tree.In(of, values, negated):
                listed = ", ".join(self.text(value) for value in values)
                return f"({self.text(of)} {'NOT ' if negated else ''}IN ({listed}))"
            case tree.Case(branches, otherwise):
                shown = " ".join(f"WHEN {self.text(one)} THEN {self.text(two)}" for one, two in branches)
                return f"(CASE {shown}{'' if otherwise is None else f' ELSE {self.text(otherwise)}'} END)"
            case tree.Extract(part, of):
                return f"EXTRACT({part} FROM {self.text(of)})"
            case tree.Call(function, arguments) if function in _FUNCTIONS:
                return f"{function}({', '.join(self.text(one) for one in arguments)})"
            case tree.Aggregate(function, of, distinct, None, None, None) if self.aggregates:
                if function not in ("COUNT", "SUM", "AVG", "MIN", "MAX"):
                    raise ParameterError(
                        f"The outer SELECT knows COUNT, SUM, AVG, MIN and MAX; {function} is asked inside."
                    )
                inside = "*" if of is None else ("DISTINCT " if distinct else "") + self.text(of)
                return f"{function}({inside})"
        raise ParameterError(f"{printed(node)[:60]} is not an output of the private part.")


@dataclass(frozen=True)
class Query:
    """One select over a released table, as SQL for DuckDB with its parameters."""

    sql: str
    texts: tuple[str, ...]
    names: tuple[str, ...]


def query_of(
    select: tree.Select, stands: Stands, names: Sequence[str], *, outer: bool, extra: Sequence[str] = ()
) -> Query:
    """Return a select over the released table; `extra` are columns of it that are handed on for intervals."""
    printer = Printer(stands, outer)
    items = [f"{printer.text(item.of)} AS c{place}" for place, item in enumerate(select.items)]
    items += [f"{name} AS e{place}" for place, name in enumerate(extra)]
    sql = f"SELECT {', '.join(items)} FROM released"
    conditions = [select.having] if not outer else [select.where]
    for condition in conditions:
        if condition is not None:
            sql += f" WHERE {printer.text(condition)}"
    if outer and select.keys:
        sql += f" GROUP BY {', '.join(_key(key, select, printer, 'GROUP BY') for key in select.keys)}"
    if outer and select.having is not None:
        sql += f" HAVING {printer.text(select.having)}"
    order = [
        f"{_key(part.of, select, printer, 'ORDER BY')} {'DESC' if part.descending else 'ASC'} NULLS LAST"
        for part in select.order
    ]
    grouped = outer and (select.keys or _aggregated(select))
    sql += f" ORDER BY {', '.join([*order, PLACE] if not grouped else order)}" if order or not grouped else ""
    if select.limit is not None:
        limit = read_number(select.limit.text)
        if limit.denominator != 1:
            raise ParameterError(f"LIMIT takes a whole number, and {select.limit.text} is none.")
        sql += f" LIMIT {min(int(limit), MOST_ROWS)}"
    return Query(sql, tuple(printer.texts), tuple(names))


def _key(key: tree.Expression, select: tree.Select, printer: Printer, where: str) -> str:
    if isinstance(key, tree.Number):
        place = read_number(key.text)
        if place.denominator != 1 or not 1 <= place <= len(select.items):
            raise ParameterError(f"{where} {key.text} names no item; write a place from 1 to {len(select.items)}.")
        key = select.items[int(place) - 1].of
    return printer.text(key)


def _aggregated(select: tree.Select) -> bool:
    from sfumato.sql.plan import aggregates_of

    return bool(aggregates_of(select))


def run(query: Query, columns: Mapping[str, Sequence[Any]]) -> dict[str, tuple[Any, ...]]:
    """Run a select over released columns in an empty DuckDB of its own, and return its columns by their place."""
    import duckdb
    import pyarrow

    data = {**Frame((), {name: tuple(column) for name, column in columns.items()}).columns}
    table = Frame((), {name: tuple(number(cell) for cell in column) for name, column in data.items()}).to_arrow()
    table = table.append_column(PLACE, pyarrow.array(range(table.num_rows), pyarrow.int64()))
    connection = duckdb.connect(":memory:", config=dict(_SETTINGS))
    try:
        connection.register("released", table)
        connection.execute("SET lock_configuration = true")
        found = connection.sql(query.sql, params=list(query.texts)).to_arrow_table()
    except duckdb.Error as error:
        kind = type(error).__name__
    else:
        return {name: tuple(map(_plain, found.column(name).to_pylist())) for name in found.column_names}
    finally:
        connection.close()
    raise ParameterError(f"What was released could not be computed on ({kind}). {_STORED}")


def _plain(cell: Any) -> Any:
    """Return a decimal as an int or a float."""
    if not isinstance(cell, Decimal):
        return cell
    return int(cell) if cell == cell.to_integral_value() else float(cell)

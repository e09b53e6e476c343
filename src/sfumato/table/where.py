"""Read `where=` as a person writes it, a SQL condition or an Ibis expression, into a predicate over codes.

Both are walked by the exact type of every node; whatever is not on the list is refused, with a sentence that says
what may be written. No text of the user reaches an engine.
"""

from __future__ import annotations

import re
from datetime import date
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sfumato.domain import Booleans, Domain, Text, Times
from sfumato.domain.calendar import as_date
from sfumato.errors import ParameterError, SchemaError
from sfumato.exact import exact
from sfumato.table.comparison import among, compare
from sfumato.table.conditions import ALLOWED, INSTEAD, parsed, quoted, unread
from sfumato.table.predicate import (
    ALWAYS,
    EVERY_ROW,
    NEVER,
    All,
    Codes,
    Condition,
    Predicate,
    Some,
    Texts,
    complement,
    conjunction,
    disjunction,
    from_json,
    is_missing,
    is_present,
    negated,
    to_json,
)
from sfumato.table.schema import Schema

LONGEST = 5_000
DEEPEST = 40


_NUMBER = re.compile(r"[0-9]{0,40}(\.[0-9]{0,40})?([eE][+-]?[0-9]{1,2})?")
NO_COMPARISON_WITH_NULL = "A comparison with NULL is never true; write for example age IS NULL, or age IS NOT NULL."
_FLIPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_SQL_COMPARISONS = {"EQ": "=", "NEQ": "<>", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
_IBIS_COMPARISONS = {
    "Equals": "=",
    "NotEquals": "<>",
    "Less": "<",
    "LessEqual": "<=",
    "Greater": ">",
    "GreaterEqual": ">=",
}


def read_where(where: Any, schema: Schema) -> Predicate:
    """Return the rows for which `where` is true: None, SQL text, an Ibis expression, or a predicate.

    A comparison with a missing cell is unknown, as in SQL, and so is its opposite; IS NULL finds those cells.

    >>> from sfumato.domain import categories, integers
    >>> schema = Schema({"age": integers(0, 99), "sex": categories("Female", "Male")})
    >>> read_where("age > 40 AND sex = 'Male'", schema) == read_where("sex = 'Male' AND NOT age <= 40", schema)
    True
    >>> read_where("age > 40 OR NOT age > 40", schema) == read_where("age IS NOT NULL", schema)
    True
    """
    if where is None:
        return EVERY_ROW
    if isinstance(where, (Codes, Texts, All, Some)):
        return _checked(where, schema)
    try:
        if isinstance(where, str):
            return _read_sql(where, schema)
        if type(where).__module__.split(".")[0] == "ibis":
            return _read_ibis(where, schema).true
    except RecursionError:
        raise ParameterError("where= is nested too deeply; write it with fewer brackets and NOTs.") from None
    raise ParameterError(f'where= takes SQL text such as "age > 40" or an Ibis expression, not {type(where).__name__}.')


@lru_cache(maxsize=1024)
def _checked(predicate: Predicate, schema: Schema) -> Predicate:
    return from_json(to_json(predicate), schema)


# SQL


@lru_cache(maxsize=1024)
def _read_sql(text: str, schema: Schema) -> Predicate:
    from sqlglot import exp

    if len(text) > LONGEST:
        raise ParameterError(f"where= has {len(text)} characters; write at most {LONGEST}.")
    if _depth(text) > DEEPEST:
        raise ParameterError(f"where= nests brackets deeper than {DEEPEST}; write it flatter.")
    statements = parsed(text) or parsed(quoted(text, schema))
    if statements is None:
        raise ParameterError(unread(text))
    statement = statements[0] if len(statements) == 1 else None
    given = {key for key, value in statement.args.items() if value} if type(statement) is exp.Select else set()
    where = statement.args.get("where") if statement is not None else None
    if given != {"expressions", "where"} or where is None or type(where.this) is not exp.Paren:
        raise ParameterError(
            f"where= is one condition and nothing more; leave SELECT … WHERE out, and write {ALLOWED}."
        )
    return _SqlReader(schema).condition(where.this).true


def _depth(text: str) -> int:
    deepest = depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        deepest = max(deepest, depth)
    return deepest


class _SqlReader:
    """Walks one parsed condition."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def condition(self, node: Any) -> Condition:
        name, schema = type(node).__name__, self.schema
        if name == "Paren":
            return self.condition(node.this)
        if name in ("And", "Or"):
            parts = [self.condition(part) for part in node.flatten(unnest=False)]
            return conjunction(parts, schema) if name == "And" else disjunction(parts, schema)
        if name == "Not":
            return negated(self.condition(node.this))
        if name == "Boolean":
            return ALWAYS if node.this else NEVER
        if name == "Column":
            return self.truth(self.column(node))
        if name in _SQL_COMPARISONS:
            return self.comparison(node.this, _SQL_COMPARISONS[name], node.expression)
        if name == "Between" and not node.args.get("symmetric"):
            return between(schema, self.column(node.this), *(self.literal(node.args[end]) for end in ("low", "high")))
        if name == "In" and {key for key, value in node.args.items() if value} == {"this", "expressions"}:
            return among(schema, self.column(node.this), [self.literal(part) for part in node.expressions])
        if name == "Is" and type(node.expression).__name__ == "Boolean":
            # IS has no third value: a missing cell is not true, and it is not false.
            return _certain(compare(schema, self.column(node.this), "=", bool(node.expression.this)), schema)
        if name == "Is" and type(node.expression).__name__ == "Null":
            return null(schema, self.column(node.this))
        raise ParameterError(f"where= cannot use {_shown(node)}; {INSTEAD.get(name, f'write only {ALLOWED}')}.")

    def truth(self, column: str) -> Condition:
        """Return that a column of truth values is true; another one alone is no condition."""
        if isinstance(self.schema.domain(column), Booleans):
            return compare(self.schema, column, "=", True)
        raise ParameterError(
            f"{column!r} alone is no condition, because it holds no truth values; write a comparison such as "
            f"{column} IS NOT NULL."
        )

    def comparison(self, left: Any, how: str, right: Any) -> Condition:
        if type(left).__name__ == "Column" and type(right).__name__ == "Column":
            self.require_text_in_quotes(left, how, right)
        if type(left).__name__ == "Column":
            return compare(self.schema, self.column(left), how, self.literal(right))
        if type(right).__name__ == "Column":
            return compare(self.schema, self.column(right), _FLIPPED[how], self.literal(left))
        wrong = right if type(left).__name__ == "Literal" else left
        if type(wrong).__name__ in (*_SQL_COMPARISONS, "Between"):
            raise ParameterError(
                "where= compares once at a time; write age BETWEEN 40 AND 60, or age > 40 AND age < 60."
            )
        raise ParameterError(f"where= compares a column with a literal; {_shown(wrong)} is no column: write {ALLOWED}.")

    def require_text_in_quotes(self, left: Any, how: str, right: Any) -> None:
        """Say that sex = "F" names a column F in SQL: text stands in single quotes."""
        names = [str(node.this.this) for node in (left, right)]
        if names[0] in self.schema.names and _NUMBER.fullmatch(names[1]):
            raise ParameterError(f"In where= numbers stand without quotes; write {names[0]} {how} {names[1]}.")
        if names[0] in self.schema.names and names[1] not in self.schema.names:
            raise ParameterError(f"In where= text stands in single quotes; write {names[0]} {how} '{names[1]}'.")
        if names[0] in self.schema.names:
            raise ParameterError(f"where= compares a column with a literal, not {names[0]!r} with {names[1]!r}.")

    def column(self, node: Any) -> str:
        if type(node).__name__ != "Column":
            raise ParameterError(f"where= compares a column with a literal; {_shown(node)} is no column.")
        if {key for key, value in node.args.items() if value} != {"this"} or type(node.this).__name__ != "Identifier":
            raise ParameterError(f"where= names columns by one word; {_shown(node)} has more.")
        name = str(node.this.this)
        self.schema.domain(name)
        return name

    def literal(self, node: Any) -> Any:
        kind = type(node).__name__
        if kind == "Neg" and type(node.this).__name__ == "Literal" and not node.this.is_string:
            return -_number(node.this.this)
        if kind == "Literal":
            return str(node.this) if node.is_string else _number(node.this)
        if kind == "Boolean":
            return bool(node.this)
        if kind == "Cast" and str(node.args["to"]).upper() == "TIMESTAMP" and type(node.this).__name__ == "Literal":
            return str(node.this.this)
        if kind == "Cast" and str(node.args["to"]).upper() == "DATE" and type(node.this).__name__ == "Literal":
            return as_date(node.this.this, "a date in where=")
        if kind == "Null":
            raise ParameterError(NO_COMPARISON_WITH_NULL)
        raise ParameterError(f"where= compares a column with a literal; {_shown(node)} is none.")


def _number(text: str) -> Fraction:
    if not _NUMBER.fullmatch(text):
        raise ParameterError(f"{text[:50]!r} is too long for a number in where=; write it shorter.")
    return exact(text, "a number in where=")


def _shown(node: Any) -> str:
    return repr(str(node)[:60])


def null(schema: Schema, column: str) -> Condition:
    """Return that a cell is missing, which is never unknown."""
    return Condition(is_missing(schema, column), is_present(schema, column))


def between(schema: Schema, column: str, low: Any, high: Any) -> Condition:
    """Return that a cell lies between two literals, both included."""
    return conjunction([compare(schema, column, ">=", low), compare(schema, column, "<=", high)], schema)


def _certain(condition: Condition, schema: Schema) -> Condition:
    return Condition(condition.true, complement(condition.true, schema))


# Ibis


def where_table(schema: Schema) -> Any:
    """Return an unbound Ibis table with the schema's columns, to write `where=` with."""
    import ibis

    return ibis.table({name: _ibis_type(schema.domain(name)) for name in schema.names}, name="sfumato_where")


def _ibis_type(domain: Domain) -> str:
    if isinstance(domain, Times):
        return "timestamp" if domain.zone is None else "timestamp('UTC')"
    shown = domain.decode(domain.first) if not isinstance(domain, Text) else ""
    kinds: list[tuple[type, str]] = [(bool, "boolean"), (int, "int64"), (str, "string"), (date, "date")]
    return next((name for kind, name in kinds if isinstance(shown, kind)), "float64")


def _read_ibis(where: Any, schema: Schema) -> Condition:
    import ibis

    expression = where
    if not isinstance(where, ibis.expr.types.Value):
        try:
            (expression,) = where_table(schema).bind(where)
        except (AttributeError, ibis.common.exceptions.IbisError) as error:
            raise SchemaError(f"where= names something that is no column: {error}.") from None
        except (TypeError, ValueError, ibis.common.annotations.ValidationError):
            raise ParameterError(f"where= compares columns with literals of another type; write {ALLOWED}.") from None
    return _ibis_condition(expression.op(), schema)


def _ibis_condition(node: Any, schema: Schema) -> Condition:
    def condition(part: Any) -> Condition:
        return _ibis_condition(part, schema)

    name = type(node).__name__
    if name in ("And", "Or"):
        parts = [condition(node.left), condition(node.right)]
        return conjunction(parts, schema) if name == "And" else disjunction(parts, schema)
    if name == "Not":
        return negated(condition(node.arg))
    if name == "Literal" and isinstance(node.value, bool):
        return ALWAYS if node.value else NEVER
    if name == "Field":
        return compare(schema, _ibis_column(node, schema), "=", True)
    if name in _IBIS_COMPARISONS:
        left, right, how = node.left, node.right, _IBIS_COMPARISONS[name]
        if type(left).__name__ != "Field":
            left, right, how = right, left, _FLIPPED[how]
        return compare(schema, _ibis_column(left, schema), how, _ibis_literal(right))
    if name == "Between":
        ends = (_ibis_literal(node.lower_bound), _ibis_literal(node.upper_bound))
        return between(schema, _ibis_column(node.arg, schema), *ends)
    if name == "InValues":
        return among(schema, _ibis_column(node.value, schema), [_ibis_literal(part) for part in node.options])
    if name in ("IsNull", "NotNull"):
        found = null(schema, _ibis_column(node.arg, schema))
        return found if name == "IsNull" else negated(found)
    raise ParameterError(f"where= cannot use Ibis' {name}; write only {ALLOWED}.")


def _ibis_column(node: Any, schema: Schema) -> str:
    if type(node).__name__ != "Field":
        raise ParameterError(f"where= compares a column with a literal; Ibis' {type(node).__name__} is no column.")
    schema.domain(node.name)
    return str(node.name)


def _ibis_literal(node: Any) -> Any:
    if type(node).__name__ == "Cast" and type(node.arg).__name__ == "Literal" and node.to.is_date():
        return as_date(node.arg.value, "a date in where=")
    if type(node).__name__ == "DateFromYMD" and all(type(part).__name__ == "Literal" for part in node.args):
        return date(*(int(part.value) for part in node.args))
    if type(node).__name__ == "Literal" and node.value is None:
        raise ParameterError(NO_COMPARISON_WITH_NULL)
    if type(node).__name__ != "Literal":
        raise ParameterError(f"where= compares a column with a literal; Ibis' {type(node).__name__} is none.")
    return node.value

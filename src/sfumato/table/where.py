"""Read `where=` as a person writes it, a SQL condition or an Ibis expression, into a predicate over codes.

SQL is read by the parser of statements (SQ-PARSE), Ibis by the exact type of every node; whatever is not on the list is
refused, with a sentence that says what may be written. No text of the user reaches an engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sfumato.domain import Booleans, Dates, Domain, Text, Times
from sfumato.domain.calendar import as_date
from sfumato.errors import ParameterError, SchemaError
from sfumato.exact import exact
from sfumato.grammar import parse_condition, printed, tree
from sfumato.table.comparison import among, compare
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
ALLOWED = "columns, literals, = <> < <= > >=, BETWEEN, IN (…), IS NULL, AND, OR, NOT and DATE '2020-05-17'"

_NOTHING = {"none", "nan", "na", "nat", "nil", "null"}
"""What other languages call a cell that is not there."""
_MARKED = re.compile(r"(?:[<>=]|\bAND\b|\bBETWEEN\b)\s*[+-]?(\d[\d.]*(?:,\d[\d.]*)+)", re.IGNORECASE)
_THOUSANDS = re.compile(r"\d{1,3},\d{3}")
"""A comma and three digits: of thousands, or of a decimal."""
_PART_OF_DAY = re.compile(
    r"\b(extract|year|quarter|month|week|day|dayofweek|weekday|hour|date_part|datepart|date_trunc|strftime)\s*\(", re.I
)
_NUMBER = re.compile(r"[0-9]{0,40}(\.[0-9]{0,40})?([eE][+-]?[0-9]{1,2})?")
_DAY = re.compile(r"\d{4}-\d{1,2}-\d{1,2}")
NO_COMPARISON_WITH_NULL = "A comparison with NULL is never true; write for example age IS NULL, or age IS NOT NULL."
_FLIPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
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
    if len(text) > LONGEST:
        raise ParameterError(f"where= has {len(text)} characters; write at most {LONGEST}.")
    try:
        found = parse_condition(text)
    except ParameterError as refused:
        # Names that are words of SQL or have blanks may be written bare where nothing else can be meant.
        again = _quoted(text, schema)
        if again == text:
            raise ParameterError(_unread(text, str(refused), schema)) from None
        found = _parsed_again(again, text, schema)
    return _SqlReader(schema).condition(found).true


def _parsed_again(quoted_text: str, text: str, schema: Schema) -> tree.Expression:
    try:
        return parse_condition(quoted_text)
    except ParameterError as refused:
        raise ParameterError(_unread(text, str(refused), schema)) from None


def _quoted(text: str, schema: Schema) -> str:
    """Return a condition with its columns in double quotes: names that are words of SQL, such as Alter, or have blanks.

    >>> from sfumato.domain import integers
    >>> _quoted("Alter > 40 AND term months < 3", Schema({"Alter": integers(0, 9), "term months": integers(0, 9)}))
    '"Alter" > 40 AND "term months" < 3'
    """
    names = "|".join(re.escape(name) for name in sorted(schema.names, key=len, reverse=True) if '"' not in name)
    return re.sub(
        rf"""'[^']*'|"[^"]*"|(?<!\w)({names})(?!\w)""", lambda found: f'"{found[1]}"' if found[1] else found[0], text
    )


def _unread(text: str, said: str, schema: Schema) -> str:
    """Say what to write instead of a condition that cannot be parsed; `said` is what the parser found."""
    if text.strip()[:6].upper() == "SELECT":
        return "where= is the condition alone; leave SELECT … WHERE out, and write for example age > 40."
    for sign, word in (("&", "AND"), ("|", "OR"), ("!", "NOT, or <> for 'not equal'")):
        if sign in text:
            return f"where= is no condition that can be read; write {word} instead of {sign!r}."
    if _PART_OF_DAY.search(text):
        return _instead_of_parts(text, schema)
    if (found := _MARKED.search(re.sub(r"'[^']*'", "", text))) is not None:
        number = found[1]
        meant = _plainly(number)
        if _THOUSANDS.fullmatch(number):
            meant = f"{number.replace(',', '')}, or {meant} for a decimal,"
        return (
            "where= is no condition that can be read; numbers have a point before decimals and no mark between "
            f"thousands: write {meant} instead of {number}."
        )
    return f"where= is no condition that can be read: {said} In where= write {ALLOWED}."


def _instead_of_parts(text: str, schema: Schema) -> str:
    """Say how days of a month or of a year are asked about: no function of a day stands in a condition."""
    days = [name for name in schema.names if isinstance(schema.domain(name), (Dates, Times)) and name in text]
    name = days[0] if days else "visited"
    quoted = name if name.isidentifier() else '"' + name.replace('"', '""') + '"'
    return (
        f"where= computes no parts of a day; write a range, as in {quoted} BETWEEN DATE '2025-12-01' AND DATE "
        f"'2025-12-31', or ask by a column that the schema derives from a date, months({name!r}) "
        "or weekdays(…)."
    )


def _plainly(number: str) -> str:
    """Return a number with a point before decimals and nothing between thousands.

    >>> _plainly("1.000,50"), _plainly("1,000.50"), _plainly("2,5"), _plainly("1,000,000")
    ('1000.50', '1000.50', '2.5', '1000000')
    """
    mark = number[max(number.rfind(","), number.rfind("."))]
    if number.count(mark) > 1:
        return re.sub("[.,]", "", number)
    whole, _, decimals = number.rpartition(mark)
    return f"{re.sub('[.,]', '', whole)}.{decimals}"


class _SqlReader:
    """Walks one parsed condition."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def condition(self, node: tree.Expression) -> Condition:
        schema = self.schema
        match node:
            case tree.Brackets(inside):
                return self.condition(inside)
            case tree.Chain(parts, ("AND", *_)):
                return conjunction([self.condition(part) for part in parts], schema)
            case tree.Chain(parts, ("OR", *_)):
                return disjunction([self.condition(part) for part in parts], schema)
            case tree.Not(of):
                return negated(self.condition(of))
            case tree.Truth(value):
                return ALWAYS if value else NEVER
            case tree.Column():
                return self.truth(self.column(node))
            case tree.Comparison(sign, left, right):
                return self.comparison(left, sign, right)
            case tree.Between(of, low, high, opposite):
                return _unless(opposite, between(schema, self.column(of), self.literal(low), self.literal(high)))
            case tree.In(of, values, opposite):
                return _unless(opposite, among(schema, self.column(of), [self.literal(value) for value in values]))
            case tree.Is(of, "NULL", opposite):
                return _unless(opposite, null(schema, self.column(of)))
            case tree.Is(of, what, opposite):
                # IS has no third value: a missing cell is not true, and it is not false.
                found = compare(schema, self.column(of), "=", what == "TRUE")
                return _unless(opposite, _certain(found, schema))
            case tree.Text() | tree.Number() | tree.Moment():
                raise ParameterError(
                    f"where= cannot use {_shown(node)} alone; compare a column with it, as in sex = 'F'."
                )
        raise ParameterError(f"where= cannot use {_shown(node)}; write only {ALLOWED}.")

    def truth(self, column: str) -> Condition:
        """Return that a column of truth values is true; another one alone is no condition."""
        if isinstance(self.schema.domain(column), Booleans):
            return compare(self.schema, column, "=", True)
        raise ParameterError(
            f"{column!r} alone is no condition, because it holds no truth values; write a comparison such as "
            f"{column} IS NOT NULL."
        )

    def comparison(self, left: tree.Expression, how: str, right: tree.Expression) -> Condition:
        left, right = _bare(left), _bare(right)
        if isinstance(left, tree.Column) and isinstance(right, tree.Column):
            self.require_text_in_quotes(left, how, right)
        if isinstance(left, tree.Column):
            return compare(self.schema, self.column(left), how, self.literal(right))
        if isinstance(right, tree.Column):
            return compare(self.schema, self.column(right), _FLIPPED[how], self.literal(left))
        wrong = right if isinstance(left, (tree.Number, tree.Text)) else left
        if _PART_OF_DAY.match(_shown(wrong).strip("'")):
            raise ParameterError(_instead_of_parts(_shown(wrong), self.schema))
        raise ParameterError(f"where= compares a column with a literal; {_shown(wrong)} is no column: write {ALLOWED}.")

    def require_text_in_quotes(self, left: tree.Column, how: str, right: tree.Column) -> None:
        """Say that sex = "F" names a column F in SQL: text stands in single quotes."""
        names = [left.name.text, right.name.text]
        if names[0] in self.schema.names and _NUMBER.fullmatch(names[1]):
            raise ParameterError(f"In where= numbers stand without quotes; write {names[0]} {how} {names[1]}.")
        absent = not right.name.quoted and names[1].lower() in _NOTHING
        if names[0] in self.schema.names and names[1] not in self.schema.names and absent:
            said = "IS NOT NULL" if how == "<>" else "IS NULL"
            raise ParameterError(f"A missing cell equals nothing, not even another; write {names[0]} {said}.")
        if names[0] in self.schema.names and names[1] not in self.schema.names:
            held = _held(self.schema.domain(names[0]))
            if held is not None:
                kind, example = held
                raise ParameterError(
                    f"{names[0]!r} holds {kind}, and {names[1]!r} is none of them; write {names[0]} {how} {example}."
                )
            raise ParameterError(f"In where= text stands in single quotes; write {names[0]} {how} '{names[1]}'.")
        if names[0] in self.schema.names:
            raise ParameterError(f"where= compares a column with a literal, not {names[0]!r} with {names[1]!r}.")

    def column(self, node: tree.Expression) -> str:
        node = _bare(node)
        if not isinstance(node, tree.Column):
            raise ParameterError(f"where= compares a column with a literal; {_shown(node)} is no column.")
        if node.table is not None:
            raise ParameterError(f"where= names columns by one word; {_shown(node)} has more.")
        name = declared(node.name, self.schema.names)
        self.schema.domain(name)
        return name

    def literal(self, node: tree.Expression) -> Any:
        match _bare(node):
            case tree.Negative(tree.Number(text)):
                return -read_number(text)
            case tree.Number(text):
                return read_number(text)
            case tree.Text(value):
                return value
            case tree.Truth(value):
                return value
            case tree.Moment("TIMESTAMP", value):
                return value
            case tree.Moment("DATE", value):
                return as_date(value, "a date in where=")
            case tree.Null():
                raise ParameterError(NO_COMPARISON_WITH_NULL)
        day = printed(node).replace(" ", "")
        if _DAY.fullmatch(day):
            raise ParameterError(f"In where= a date stands in quotes, or it is a subtraction; write DATE '{day}'.")
        raise ParameterError(f"where= compares a column with a literal; {_shown(node)} is none.")


def declared(name: tree.Name, names: Iterable[str]) -> str:
    """Return the declared name that was meant: in quotes exactly that one, without quotes up to case.

    >>> declared(tree.Name("AGE"), ["age"]), declared(tree.Name("AGE", quoted=True), ["age"])
    ('age', 'AGE')
    """
    if name.quoted:
        return name.text
    return next((one for one in names if one.casefold() == name.text.casefold()), name.text)


def read_number(text: str) -> Fraction:
    """Return a number of a statement exactly."""
    return exact(text, "a number in a condition")


def _bare(node: tree.Expression) -> tree.Expression:
    while isinstance(node, tree.Brackets):
        node = node.inside
    return node


def _unless(opposite: bool, condition: Condition) -> Condition:
    return negated(condition) if opposite else condition


def _shown(node: tree.Expression) -> str:
    return repr(printed(node)[:60])


def null(schema: Schema, column: str) -> Condition:
    """Return that a cell is missing, which is never unknown."""
    return Condition(is_missing(schema, column), lambda: is_present(schema, column))


def between(schema: Schema, column: str, low: Any, high: Any) -> Condition:
    """Return that a cell lies between two literals, both included."""
    return conjunction([compare(schema, column, ">=", low), compare(schema, column, "<=", high)], schema)


def _held(domain: Domain) -> tuple[str, str] | None:
    """Return what a column holds and such a literal, where that is no text."""
    if isinstance(domain, Text):
        return None
    one = domain.decode(domain.first if domain.last is None else (domain.first + domain.last) // 2)
    if isinstance(one, bool):
        return "truth values", "true"
    if isinstance(one, datetime):
        return "moments", f"TIMESTAMP '{one:%Y-%m-%d %H:%M:%S}'"
    if isinstance(one, date):
        return "days", f"DATE '{one}'"
    return None if isinstance(one, str) or one is None else ("numbers", f"{float(one):g}")


def _certain(condition: Condition, schema: Schema) -> Condition:
    return Condition(condition.true, lambda: complement(condition.true, schema))


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

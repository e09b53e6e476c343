"""The parser: one function for each line of the grammar, and one method that moves forward (SQ-PARSE).

That no word is ignored is a property of its shape. `_next` is the only method that moves; it is called for a token that
was compared with a fixed word of a production, or whose text is stored in the tree; names refuse reserved words; and a
statement must end at the last token. What is not in the grammar does not parse.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from sfumato.errors import ParameterError
from sfumato.grammar import tree
from sfumato.grammar.refusals import sentence
from sfumato.grammar.tokens import Token, tokens
from sfumato.grammar.words import KEYWORDS, RESERVED

LONGEST = 20_000
DEEPEST = 40
LONGEST_CHAIN = 200
COMPARISONS = ("=", "<>", "!=", "<", "<=", ">", ">=")
FUNCTIONS = ("FLOOR", "ROUND", "ABS", "LEAST", "GREATEST", "COALESCE", "NULLIF", "SQRT", "LN", "EXP")
PLAIN = ("SUM", "AVG", "MIN", "MAX", "MEDIAN", "VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP")
AGGREGATES = ("COUNT", *PLAIN, "QUANTILE_CONT")
ENDS = ("DP_INTERVAL_LOW", "DP_INTERVAL_HIGH")
PARTS = ("YEAR", "QUARTER", "MONTH", "DAY")
BOUNDS = "contribution_bounds_per_group"
_GROUPED = "a name: of what is computed the one after AS, as in GROUP BY patient, y"

Found = TypeVar("Found")


def parse_statement(text: str) -> tree.Statement:
    """Return the tree of a statement, or refuse it with a sentence that says where it stopped.

    >>> parse_statement("SELECT COUNT(*) FROM visits").select.source.table.name.text
    'visits'
    """
    return _parse_statement(_checked(text, "A statement"))


def parse_condition(text: str) -> tree.Expression:
    """Return the tree of a condition alone, as `where=` takes it."""
    parser = _Parser(tokens(_checked(text, "A condition")))
    return parser.whole(parser.expression)


@lru_cache(maxsize=256)
def _parse_statement(text: str) -> tree.Statement:
    parser = _Parser(tokens(text))
    return parser.whole(parser.statement)


def _checked(text: object, what: str) -> str:
    if not isinstance(text, str):
        raise ParameterError(f"{what} is text, not {type(text).__name__}; write it in quotes.")
    if len(text) > LONGEST:
        raise ParameterError(f"{what} has {len(text)} characters; write at most {LONGEST}.")
    return text


class _Parser:
    """Walks a list of tokens from left to right, and never back."""

    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._place = 0
        self._depth = 0

    # Moving

    def _sees(self, *words: str, ahead: int = 0) -> bool:
        """Tell whether the next token is one of some words or signs; a word in quotes is a name."""
        token = self._tokens[min(self._place + ahead, len(self._tokens) - 1)]
        return token.kind in ("name", "sign") and token.text.upper() in words

    def _next(self) -> Token:
        token = self._tokens[self._place]
        self._place += 1
        return token

    def _accept(self, *words: str) -> bool:
        """Take the words, one after the other, if they come next."""
        for place, word in enumerate(words):
            if not self._sees(word, ahead=place):
                return False
        self._place += len(words)
        return True

    def _take(self, *words: str) -> str:
        """Take one of some words, or refuse what stands there."""
        if not self._sees(*words):
            raise self.refused(*words)
        return self._next().text.upper()

    def _kind(self, kind: str, wanted: str) -> str:
        if self._tokens[self._place].kind != kind:
            raise self.refused(wanted)
        return self._next().text

    def refused(self, *wanted: str) -> ParameterError:
        """Return the sentence about the token that stands here."""
        before = self._tokens[self._place - 1].text if self._place else ""
        return ParameterError(sentence(self._tokens[self._place], before, wanted))

    def whole(self, production: Callable[[], Found]) -> Found:
        """Return what a production finds, if it ends at the last token."""
        found = production()
        if self._tokens[self._place].kind != "end":
            raise self.refused("the end")
        return found

    def _listed(self, production: Callable[[], Found]) -> tuple[Found, ...]:
        found = [production()]
        while self._accept(","):
            found.append(production())
        return tuple(found)

    # Statements

    def statement(self) -> tree.Statement:
        explain = self._accept("EXPLAIN")
        tables = self._listed(self.per) if self._accept("WITH") else ()
        found = tree.Statement(self.select(), tables, explain)
        self._accept(";")
        return found

    def per(self) -> tree.Per:
        name = self.name()
        self._take("AS")
        self._take("(")
        self._take("SELECT")
        items = self._listed(self.item)
        self._take("FROM")
        source = self.source()
        where = self.expression() if self._accept("WHERE") else None
        if self._sees(")"):
            raise ParameterError(
                f"A WITH holds one row a person, and {name.text!r} has no GROUP BY; group it by the person, or write "
                "the condition in WHERE."
            )
        self._take("GROUP")
        self._take("BY")
        key, *groups = self._listed(self.grouped)
        if self._sees("("):
            raise self.refused(_GROUPED)
        self._take(")")
        return tree.Per(name, items, source, where, key, tuple(groups))

    def grouped(self) -> tree.Column:
        if self._tokens[self._place].kind in ("number", "text"):
            raise self.refused(_GROUPED)
        return self.column()

    def select(self) -> tree.Select:
        self._take("SELECT")
        options = self.options() if self._accept("WITH", "DIFFERENTIAL_PRIVACY", "OPTIONS", "(") else ()
        items = self._listed(self.item)
        self._take("FROM")
        source = self.inner() if self._accept("(") else self.source()
        where = self.expression() if self._accept("WHERE") else None
        keys = self._listed(self.expression) if self._accept("GROUP", "BY") else ()
        having = self.expression() if self._accept("HAVING") else None
        order = self._listed(self.arranged) if self._accept("ORDER", "BY") else ()
        limit = tree.Number(self._kind("number", "a whole number")) if self._accept("LIMIT") else None
        return tree.Select(items, source, options, where, keys, having, order, limit)

    def inner(self) -> tree.Inner:
        with_depth = self._deeper(self.select)
        self._take(")")
        return tree.Inner(with_depth, self.alias())

    def options(self) -> tuple[tree.Option, ...]:
        found = self._listed(self.option)
        self._take(")")
        return found

    def option(self) -> tree.Option:
        name = self.name()
        self._take("=")
        if self._tokens[self._place].kind == "number":
            return tree.Option(name, tree.Number(self._next().text))
        return tree.Option(name, self.column())

    def source(self) -> tree.Source:
        table, joins = self.table(), []
        while self._sees("JOIN", "INNER", "LEFT"):
            left = self._take("JOIN", "INNER", "LEFT")
            if left == "LEFT":
                self._accept("OUTER")
            if left != "JOIN":
                self._take("JOIN")
            joined = self.table()
            self._take("ON")
            joins.append(tree.Join(left == "LEFT", joined, self.expression()))
        return tree.Source(table, tuple(joins))

    def table(self) -> tree.Table:
        return tree.Table(self.name(), self.alias())

    def item(self) -> tree.Item:
        return tree.Item(self.expression(), self.alias())

    def alias(self) -> tree.Name | None:
        if self._accept("AS"):
            return self.name()
        token = self._tokens[self._place]
        bare = token.kind == "quoted" or (token.kind == "name" and token.text.upper() not in KEYWORDS)
        return self.name() if bare else None

    def arranged(self) -> tree.Arranged:
        found = self.expression()
        if self._accept("ASC"):
            return tree.Arranged(found)
        return tree.Arranged(found, self._accept("DESC"))

    def name(self) -> tree.Name:
        token = self._tokens[self._place]
        if token.kind == "quoted":
            return tree.Name(self._next().text, True)
        if token.kind != "name" or token.text.upper() in RESERVED:
            raise self.refused("a name")
        return tree.Name(self._next().text)

    def column(self) -> tree.Column:
        name = self.name()
        return tree.Column(self.name(), name) if self._accept(".") else tree.Column(name)

    # Expressions

    def _deeper(self, production: Callable[[], Found]) -> Found:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ParameterError(f"This is nested deeper than {DEEPEST}; write it flatter.")
        found = production()
        self._depth -= 1
        return found

    def expression(self) -> tree.Expression:
        return self._deeper(self.alternatives)

    def _chain(self, production: Callable[[], tree.Expression], *signs: str) -> tree.Expression:
        """Return one expression, or several with signs between them: as a list, so that no tree grows deep by it."""
        parts, between = [production()], []
        while self._sees(*signs):
            between.append(self._take(*signs))
            parts.append(production())
        if len(parts) > LONGEST_CHAIN:
            raise ParameterError(f"More than {LONGEST_CHAIN} parts stand in one row; write IN (…), or fewer of them.")
        return tree.Chain(tuple(parts), tuple(between)) if between else parts[0]

    def alternatives(self) -> tree.Expression:
        return self._chain(self.conjunction, "OR")

    def conjunction(self) -> tree.Expression:
        return self._chain(self.negation, "AND")

    def negation(self) -> tree.Expression:
        return tree.Not(self.comparison()) if self._accept("NOT") else self.comparison()

    def comparison(self) -> tree.Expression:
        found = self.sum()
        if self._sees(*COMPARISONS):
            sign = self._take(*COMPARISONS)
            return tree.Comparison("<>" if sign == "!=" else sign, found, self.sum())
        if self._accept("IS"):
            negated = self._accept("NOT")
            return tree.Is(found, self._take("NULL", "TRUE", "FALSE"), negated)
        negated = self._accept("NOT")
        if self._accept("BETWEEN"):
            low = self.sum()
            self._take("AND")
            return tree.Between(found, low, self.sum(), negated)
        if self._accept("IN"):
            self._take("(")
            values = self._listed(self.literal)
            self._take(")")
            return tree.In(found, values, negated)
        if negated:
            raise self.refused("BETWEEN", "IN")
        return found

    def sum(self) -> tree.Expression:
        return self._chain(self.product, "+", "-")

    def product(self) -> tree.Expression:
        return self._chain(self.signed, "*", "/")

    def signed(self) -> tree.Expression:
        return tree.Negative(self.atom()) if self._accept("-") else self.atom()

    def literal(self) -> tree.Expression:
        if self._accept("-"):
            return tree.Negative(tree.Number(self._kind("number", "a number")))
        found = self.constant()
        if found is None:
            raise self.refused("a number", "a text in single quotes", "DATE '…'")
        return found

    def constant(self) -> tree.Expression | None:
        token = self._tokens[self._place]
        if token.kind == "number":
            return tree.Number(self._next().text)
        if token.kind == "text":
            return tree.Text(self._next().text)
        if self._sees("TRUE", "FALSE"):
            return tree.Truth(self._take("TRUE", "FALSE") == "TRUE")
        if self._accept("NULL"):
            return tree.Null()
        if self._sees("DATE", "TIMESTAMP") and self._tokens[self._place + 1].kind == "text":
            return tree.Moment(self._take("DATE", "TIMESTAMP"), self._next().text)
        return None

    def atom(self) -> tree.Expression:
        found = self.constant()
        if found is not None:
            return found
        if self._accept("("):
            inside = self.expression()
            self._take(")")
            return tree.Brackets(inside)
        if self._accept("CASE"):
            return self.case()
        if self._tokens[self._place].kind == "name" and self._sees("(", ahead=1):
            return self.call()
        if self._tokens[self._place].kind in ("name", "quoted"):
            return self.column()
        raise self.refused("an expression")

    def case(self) -> tree.Case:
        self._take("WHEN")
        branches = [self.branch()]
        while self._accept("WHEN"):
            branches.append(self.branch())
        otherwise = self.expression() if self._accept("ELSE") else None
        self._take("END")
        return tree.Case(tuple(branches), otherwise)

    def branch(self) -> tuple[tree.Expression, tree.Expression]:
        condition = self.expression()
        self._take("THEN")
        return condition, self.expression()

    def call(self) -> tree.Expression:
        name = self._take("EXTRACT", *FUNCTIONS, *AGGREGATES, *ENDS)
        self._take("(")
        if name == "EXTRACT":
            part = self._take(*PARTS)
            self._take("FROM")
            found: tree.Expression = tree.Extract(part, self.expression())
        elif name in FUNCTIONS:
            found = tree.Call(name, self._listed(self.expression))
        elif name in ENDS:
            output = tree.Text(self._kind("text", "the name of an output in single quotes"))
            more = tree.Number(self._kind("number", "a number")) if self._accept(",") else None
            found = tree.Ends(name, output, more)
        else:
            return self.aggregate(name)
        self._take(")")
        return found

    def aggregate(self, name: str) -> tree.Aggregate:
        counts = name == "COUNT"
        distinct = counts and self._accept("DISTINCT")
        argument = None if counts and not distinct and self._accept("*") else self.expression()
        chance = bounds = None
        if name == "QUANTILE_CONT":
            self._take(",")
            chance = tree.Number(self._kind("number", "a number"))
        elif name in ("COUNT", "SUM") and not distinct and self._accept(","):
            bounds = self.bounds()
        elif name == "AVG" and self._sees(","):
            raise ParameterError("An average has no bounds of its own; write SUM(x, …) / COUNT(*, …).")
        self._take(")")
        where = None
        if self._accept("FILTER", "("):
            self._take("WHERE")
            where = self.expression()
            self._take(")")
        return tree.Aggregate(name, argument, distinct, chance, bounds, where)

    def bounds(self) -> tuple[tree.Expression, tree.Expression]:
        self._take(BOUNDS.upper())
        self._take("=>")
        self._take("(")
        low = self.literal()
        self._take(",")
        high = self.literal()
        self._take(")")
        return low, high

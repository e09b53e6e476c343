"""What the parser builds: one frozen node for each line of the grammar, and nothing that the text does not say."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Name:
    """A name as it was written; without quotes it is meant up to case."""

    text: str
    quoted: bool = False


@dataclass(frozen=True)
class Column:
    """A column, perhaps with its table."""

    name: Name
    table: Name | None = None


@dataclass(frozen=True)
class Number:
    """A number as it was written."""

    text: str


@dataclass(frozen=True)
class Text:
    """A text in single quotes."""

    value: str


@dataclass(frozen=True)
class Moment:
    """DATE '…' or TIMESTAMP '…'."""

    kind: str
    value: str


@dataclass(frozen=True)
class Truth:
    """TRUE or FALSE."""

    value: bool


@dataclass(frozen=True)
class Null:
    """NULL."""


@dataclass(frozen=True)
class Brackets:
    """An expression in brackets."""

    inside: Expression


@dataclass(frozen=True)
class Negative:
    """An expression with a minus before it."""

    of: Expression


@dataclass(frozen=True)
class Not:
    """The opposite of a condition."""

    of: Expression


@dataclass(frozen=True)
class Chain:
    """Expressions with what stands between them, from left to right: AND, OR, + and -, or * and /."""

    parts: tuple[Expression, ...]
    signs: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """Two expressions and one of = <> < <= > >=."""

    sign: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Is:
    """IS [NOT] NULL, TRUE or FALSE."""

    of: Expression
    what: str
    negated: bool


@dataclass(frozen=True)
class Between:
    """[NOT] BETWEEN low AND high."""

    of: Expression
    low: Expression
    high: Expression
    negated: bool


@dataclass(frozen=True)
class In:
    """[NOT] IN (literals)."""

    of: Expression
    values: tuple[Expression, ...]
    negated: bool


@dataclass(frozen=True)
class Case:
    """CASE WHEN … THEN … [ELSE …] END."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None


@dataclass(frozen=True)
class Extract:
    """EXTRACT(part FROM expression)."""

    part: str
    of: Expression


@dataclass(frozen=True)
class Call:
    """A function of expressions."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Aggregate:
    """An aggregate: without an argument it is COUNT(*); `chance` belongs to QUANTILE_CONT."""

    function: str
    of: Expression | None
    distinct: bool = False
    chance: Number | None = None
    bounds: tuple[Expression, Expression] | None = None
    where: Expression | None = None


@dataclass(frozen=True)
class Ends:
    """DP_INTERVAL_LOW or DP_INTERVAL_HIGH of an output, by its name."""

    function: str
    output: Text
    confidence: Number | None


Expression = (
    Column
    | Number
    | Text
    | Moment
    | Truth
    | Null
    | Brackets
    | Negative
    | Not
    | Chain
    | Comparison
    | Is
    | Between
    | In
    | Case
    | Extract
    | Call
    | Aggregate
    | Ends
)


@dataclass(frozen=True)
class Item:
    """What is selected, perhaps under another name."""

    of: Expression
    alias: Name | None = None


@dataclass(frozen=True)
class Table:
    """A table, perhaps under another name."""

    name: Name
    alias: Name | None = None


@dataclass(frozen=True)
class Join:
    """JOIN or LEFT JOIN of a table."""

    left: bool
    table: Table
    on: Expression


@dataclass(frozen=True)
class Source:
    """FROM: a table and those joined to it."""

    table: Table
    joins: tuple[Join, ...] = ()


@dataclass(frozen=True)
class Inner:
    """A select in brackets, perhaps under a name."""

    select: Select
    alias: Name | None = None


@dataclass(frozen=True)
class Arranged:
    """One expression to sort by."""

    of: Expression
    descending: bool = False


@dataclass(frozen=True)
class Option:
    """One option of a statement that carries its spend."""

    name: Name
    value: Expression


@dataclass(frozen=True)
class Select:
    """One SELECT."""

    items: tuple[Item, ...]
    source: Source | Inner
    options: tuple[Option, ...] = ()
    where: Expression | None = None
    keys: tuple[Expression, ...] = ()
    having: Expression | None = None
    order: tuple[Arranged, ...] = ()
    limit: Number | None = None


@dataclass(frozen=True)
class Per:
    """A table of WITH: one row a person, or one for each person and group."""

    name: Name
    items: tuple[Item, ...]
    source: Source
    where: Expression | None
    key: Column
    groups: tuple[Column, ...] = ()


@dataclass(frozen=True)
class Statement:
    """A whole statement."""

    select: Select
    tables: tuple[Per, ...] = ()
    explain: bool = False

"""Answers by group: aggregates for every combination of some keys, and histograms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal

from sfumato.answer import Released
from sfumato.ask.expected import Expected, expected_of_totals
from sfumato.ask.phrases import EXAMPLES, Phrase, after_of, names, one_column, parts
from sfumato.ask.prepared import Prepared
from sfumato.ask.question import Question, Where, as_columns
from sfumato.errors import ParameterError, UnsupportedSpend, warn
from sfumato.privacy import Approximate, Bound, Pure
from sfumato.table.gauge import Basis
from sfumato.table.predicate import EVERY_ROW, Predicate
from sfumato.table.schema import Schema
from sfumato.table.statistics import COUNT
from sfumato.table.where import read_where
from sfumato.totals.aggregates import (
    Aggregate,
    ColumnAggregate,
    Count,
    Mean,
    Sum,
    Variance,
    doubts_of_means,
    unknown_cells,
)
from sfumato.totals.column_tree.choice import plan_pure
from sfumato.totals.found_keys import plan_found, plan_sparse
from sfumato.totals.totals import number_of_cells, plan_totals, shared_terms, table_between, table_of

MANY_CELLS = 5000
"""Of so many cells a histogram is looked at as a whole; of more, people probably meant bins."""

Keys = Literal["schema", "private"]
Aggregates = Aggregate | str | Mapping[str, str | Sequence[str]] | Sequence[Aggregate | str]
"""Numbers to compute: `Mean("age")`, its name `"mean of age"`, a list of these, or `{"age": "mean"}`."""

_NAMED: dict[str, type[ColumnAggregate]] = {
    **dict.fromkeys(("sum", "total"), Sum),
    **dict.fromkeys(("mean", "average", "avg"), Mean),
    **dict.fromkeys(("variance", "var"), Variance),
}
_ALONE = ("count", "size", "len", "n")


@dataclass(frozen=True, init=False)
class GroupBy(Question):
    """Several aggregates for every combination of the columns `by`; `keys` as in `Histogram`.

    A person is in one group, or in a few: that is one release with one sensitivity, not one for each group.
    """

    kind: ClassVar[str] = "GroupBy"
    typed: ClassVar[tuple[str, ...]] = ("count", "sum", "mean", "variance")
    by: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]
    where: Where
    keys: Keys

    def __init__(
        self, by: str | Sequence[str], aggregates: Aggregates, where: Where = None, keys: Keys = "schema"
    ) -> None:
        listed = aggregates_of(aggregates)
        if not by or not listed:
            raise ParameterError("GroupBy needs columns and aggregates; write GroupBy('sex', [Count(), Mean('age')]).")
        for aggregate in listed:
            if aggregate.where not in (None, EVERY_ROW):
                raise ParameterError("The aggregates of a GroupBy have no condition of their own; write where= once.")
        object.__setattr__(self, "by", as_columns(by))
        object.__setattr__(self, "aggregates", tuple(replace(one, where=None) for one in listed))
        object.__setattr__(self, "where", where)
        object.__setattr__(self, "keys", _checked(keys))

    @classmethod
    def of_phrase(cls, phrase: Phrase, schema: Schema) -> Question:
        """Read one number or several, for all rows or by group."""
        phrase.only("by", "found privately", "where")
        aggregates = _named_by(phrase.words)
        if phrase.by:
            return cls(phrase.by, tuple(aggregates), phrase.where, _keys_of(phrase))
        if len(aggregates) != 1 or phrase.private:
            raise ParameterError("Several numbers, or groups that are found, need groups to be in; add 'by COLUMN'.")
        return replace(aggregates[0], where=phrase.where)

    def plan(self, basis: Basis, spend: Bound) -> Prepared:
        """Prepare all totals over all cells, or over those that are found."""
        plan = plan_totals if self.keys == "schema" else plan_private
        return plan(self.aggregates, basis, spend, self.by, read_where(self.where, basis.schema))

    def expected(self, basis: Basis, spend: Bound, prepared: Prepared | None = None) -> Expected | None:
        """Return how far noise of a known law will move the widest number; which keys are found is not known."""
        if self.keys == "private":
            return None
        return expected_of_totals(self, prepared or self.prepare(basis, spend), basis.people)

    def value(self, released: Released) -> Any:
        """Return a table with one row for each combination."""
        return table_of(released, self.aggregates)

    def interval(self, released: Released, confidence: Fraction) -> Any:
        """Return a table of lower and upper ends."""
        return table_between(released, self.aggregates, confidence)

    def separate_intervals(self, released: Released) -> int:
        """Every number of every combination has its own."""
        return len(released.cells) * len(self.aggregates)

    def doubts(self, released: Released) -> tuple[str, ...]:
        """Return a sentence about groups in which there may be no row to average."""
        return doubts_of_means(self.aggregates, released)

    def unknown(self, released: Released) -> Mapping[str, tuple[bool, ...]]:
        """Mark means and variances of groups in which there may be no row, or that may be anything in their range."""
        marked = released.frame(unknown_cells(self.aggregates, released))
        return {name: marks for name, marks in marked.columns.items() if name not in marked.keys}


@dataclass(frozen=True, init=False)
class Histogram(Question):
    """How many rows have each value of a column, or each combination of several.

    `keys="schema"` counts every value of the public domain. `keys="private"` publishes the values that are surely
    not about one person, for text and for domains too large to list. With an Approximate spend these are values that
    occur; with another one, which has no delta, values that nobody has may appear among them, as rarely as one list
    in twenty.
    """

    kind: ClassVar[str] = "Histogram"
    typed: ClassVar[tuple[str, ...]] = ("histogram",)
    columns: tuple[str, ...]
    where: Where
    keys: Keys

    def __init__(self, columns: str | Sequence[str], where: Where = None, keys: Keys = "schema") -> None:
        if not columns:
            raise ParameterError("Histogram needs a column; write Histogram('age').")
        object.__setattr__(self, "columns", as_columns(columns))
        object.__setattr__(self, "where", where)
        object.__setattr__(self, "keys", _checked(keys))

    @classmethod
    def of_phrase(cls, phrase: Phrase, schema: Schema) -> Question:
        """Read the columns."""
        _no_bins(phrase)
        phrase.without_groups().only("found privately", "where")
        return cls(phrase.columns, phrase.where, _keys_of(phrase))

    def plan(self, basis: Basis, spend: Bound) -> Prepared:
        """Prepare counts of all cells, or of those that are found; warn if most cells will hold noise alone."""
        if self.keys == "schema":
            _warn_of_cells(self.columns, basis)
        plan = plan_totals if self.keys == "schema" else plan_private
        return plan((Count(),), basis, spend, self.columns, read_where(self.where, basis.schema))

    def expected(self, basis: Basis, spend: Bound, prepared: Prepared | None = None) -> Expected | None:
        """Return how far noise of a known law will move the widest number; which keys are found is not known."""
        if self.keys == "private":
            return None
        return expected_of_totals(self, prepared or self.prepare(basis, spend), basis.people)

    def value(self, released: Released) -> Any:
        """Return a table with one row for each value."""
        return table_of(released, (Count(),))

    def interval(self, released: Released, confidence: Fraction) -> Any:
        """Return a table of lower and upper ends."""
        return table_between(released, (Count(),), confidence)

    def separate_intervals(self, released: Released) -> int:
        """Every value has its own."""
        return len(released.cells)


def _warn_of_cells(columns: Sequence[str], basis: Basis) -> None:
    """Warn, from public facts and before anything is paid, of a table with far more cells than people."""
    size = number_of_cells(basis.schema, tuple(columns))
    if size <= MANY_CELLS or (basis.people is not None and size <= basis.people):
        return
    widest = max(columns, key=lambda name: basis.schema.domain(name).size or 0)
    of = basis.schema.base(widest)
    people = "" if basis.people is None else f" for {basis.people:,} people"
    warn(
        f"This histogram has {size:,} cells{people}, so most of them will hold noise alone; add bins to the schema, "
        f"schema.with_columns({of}_bins=bins({of!r}, step=…)), which its ledger takes, too, and ask for these, or ask "
        f"for Distribution({of!r})."
    )


def plan_private(
    aggregates: Sequence[Aggregate], basis: Basis, spend: Bound, keys: tuple[str, ...], where: Predicate
) -> Prepared:
    """Return what runs when the keys are not those of the schema: found, or drawn from a domain too large to list."""
    if isinstance(spend, Approximate):
        return plan_found(aggregates, basis, spend, keys, where)
    if any(term.part != COUNT for term in shared_terms(aggregates, basis.schema)):
        raise UnsupportedSpend(
            f"Groups that are found in the data need a delta, and {spend!r} has none; write Approximate(epsilon, "
            "delta), or list the keys in the schema."
        )
    if where == EVERY_ROW and isinstance(spend, Pure) and len(keys) > 1:
        # Many columns: a search along a tree of them may find rarer records.
        return plan_pure(basis, spend, keys)
    return plan_sparse(basis, spend, keys, where)


def aggregates_of(given: Any) -> tuple[Aggregate, ...]:
    """Return the aggregates that somebody listed, by name or as questions.

    >>> [one.label for one in aggregates_of(["count", "mean of age", Sum("age")])]
    ['count', 'mean of age', 'sum of age']
    >>> [one.label for one in aggregates_of({"age": ["mean", "sum"]})]
    ['mean of age', 'sum of age']
    >>> [one.label for one in aggregates_of(["count", {"age": "mean"}])]
    ['count', 'mean of age']
    """
    if isinstance(given, Mapping):
        pairs = [
            (column, tuple(words) if isinstance(words, (list, tuple)) else (words,)) for column, words in given.items()
        ]
        return tuple(_aggregate(f"{word} of {column}") for column, words in pairs for word in words)
    listed = (given,) if isinstance(given, (str, Question, type)) or not isinstance(given, Iterable) else tuple(given)
    parts = (aggregates_of(one) if isinstance(one, Mapping) else (_aggregate(one),) for one in listed)
    return tuple(aggregate for part in parts for aggregate in part)


def _aggregate(given: Any) -> Aggregate:
    if isinstance(given, Aggregate):
        return given
    if given is Count:
        return Count()
    if isinstance(given, type) and issubclass(given, ColumnAggregate):
        raise ParameterError(f"{given.kind} needs a column; write {given.kind}('age').")
    if not isinstance(given, str):
        raise ParameterError(_no_aggregate(given))
    word, _, column = given.strip().partition(" ")
    column = column.strip().removeprefix("of ").strip().strip('"')
    made = _NAMED.get(word.lower())
    if made is not None and column:
        return made(column)
    if made is not None:
        raise ParameterError(f"{given!r} needs a column; write '{word.lower()} of age', or {made.kind}('age').")
    if word.lower() in _ALONE and column:
        raise ParameterError(
            f"A count by group is one of rows and of no column; write ['mean of {column}', 'count'], say, and "
            f"where='{column} IS NOT NULL' for the rows that have it."
        )
    if word.lower() in _ALONE:
        return Count()
    raise ParameterError(_no_aggregate(given))


def _no_aggregate(given: Any) -> str:
    listed = "The aggregates of a GroupBy are Count(), Sum, Mean and Variance of a column"
    if isinstance(given, Question) or str(given).lower().startswith(("median", "quantile", "min", "max")):
        named = given.kind if isinstance(given, Question) else repr(given)
        return (
            f"{listed}, and {named} is none; write curator.median('age', by='sex', spend=Pure(0.1)) for quantiles, and "
            "ask for others once for each group, with where=."
        )
    return f"{listed}, and {given!r} is none; write GroupBy('sex', [Count(), Mean('age')])."


def _checked(keys: Keys) -> Keys:
    if keys not in ("schema", "private"):
        raise ParameterError(f"keys must be 'schema' or 'private', and {keys!r} is neither.")
    return keys


def _keys_of(phrase: Phrase) -> Keys:
    return "private" if phrase.private else "schema"


def _named_by(words: Sequence[str]) -> list[Aggregate]:
    """Return the numbers that words ask for, without their condition."""
    kinds: dict[str, Callable[[str], Aggregate]] = {"sum": Sum, "mean": Mean, "variance": Variance}
    found: list[Aggregate] = []
    for part in parts(words):
        kind = part[0].lower() if part else ""
        if kind == "count" and len(part) == 1:
            found.append(Count())
        elif kind in kinds:
            found.append(kinds[kind](one_column(names(after_of(part[1:])), kind)))
        elif kind == "count" and part[1].lower() == "distinct":
            raise ParameterError(
                "Different people are counted by 'people', with a condition 'people where age > 40', by group 'people "
                "by sex'; different values of a column are those of 'histogram of sex'."
            )
        else:
            raise ParameterError(f"{' '.join(part)!r} is no number to ask for; write {EXAMPLES}.")
    return found


def _no_bins(phrase: Phrase) -> None:
    """Say where bins are written, to somebody who writes them behind a question."""
    if phrase.method != "bins" and not any(word.lower().startswith(("bins=", "bins(")) for word in phrase.words):
        return
    (name, *_) = [word.strip('"') for word in phrase.rest] or ["age"]
    raise ParameterError(
        f'Bins stand in the schema, not behind a question; add [columns.{name}_bins] with the lines type = "bins", '
        f"of = \"{name}\" and step = 10 to it, which its ledger takes, too, and ask for 'histogram of {name}_bins'."
    )

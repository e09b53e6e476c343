"""What everybody may know before a rule is learned, and what a mechanism is given to learn it from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import Booleans, Categories, Domain, FixedPoint, Integers, Text
from sfumato.errors import ParameterError
from sfumato.learn.cells import Codes, is_narrow, listed
from sfumato.privacy import REPLACE_ONE, Attributes, Relation
from sfumato.privacy.calibrate import Gaussians
from sfumato.table.gauge import Gauge
from sfumato.table.predicate import columns as predicate_columns

Classes = tuple[Any, ...]
"""Public labels; the first one is what an unreadable cell becomes, and of two the second is what is learned."""


@dataclass(frozen=True)
class Presence:
    """How people stand in the rows of a fit: under which relation, with how many rows each, and who knows all of them.

    `counted` says that the number of rows is private, so that it is released with noise, `most` how many there can be,
    None where nobody knows. `deciding` are the attributes of a filter, which let a person's rows enter and leave.
    """

    relation: Relation = REPLACE_ONE
    rows: int = 1
    counted: bool = False
    most: int | None = None
    deciding: frozenset[str] = frozenset()

    @classmethod
    def of(cls, gauge: Gauge) -> Presence:
        """Return what a gauge knows of the rows that it reads."""
        read = predicate_columns(getattr(gauge.measure, "where"))  # noqa: B009 (measures of whole rows have one)
        # Of nobody there is no plan, and the question says so in its own words.
        most = None if gauge.people is None else max(1, gauge.people) * gauge.rows
        return cls(gauge.relation, gauge.rows, gauge.total is None, most, gauge.schema.reads(read))

    @property
    def sides(self) -> int:
        """In how many tables a person has rows: in both where one is exchanged for another, else in one."""
        return 2 if self.relation is REPLACE_ONE else 1

    @property
    def reach(self) -> Fraction:
        """How many times as far a person moves a sum of clipped rows as one row that is exchanged."""
        return Fraction(self.sides * self.rows, 2)


@dataclass(frozen=True)
class LearningFacts:
    """The public facts: names and domains of the features, what a label may be, which attributes are charged.

    `gaussians` says which Gaussian noise the ledger was made for, `derived_from` the attribute behind a label that is
    derived from one: that attribute is what the label reveals, and what is charged for it. `presence` says how people
    stand in the rows.
    """

    features: tuple[str, ...]
    domains: tuple[Domain, ...]
    labels: Domain
    target: str
    reads: Attributes
    gaussians: Gaussians = "wide"
    derived_from: str | None = None
    presence: Presence = Presence()

    def __post_init__(self) -> None:
        columns = zip((*self.features, self.target), (*self.domains, self.labels), strict=True)
        apart = {name: one for name, one in columns if one.may_be_missing}
        if apart:
            # A label that nobody wrote would be learned as if somebody had: no value is proposed for it.
            usual = {name: "…" if name == self.target else shown(_usual(domain)) for name, domain in apart.items()}
            fill = ", ".join(f"{name!r}: {value}" for name, value in usual.items())
            middles = " (these are the middles of the ranges and the first of the lists; write what fits)"
            raise ParameterError(
                f"Say what a missing cell counts as: missing={{{fill}}} where it is learned"
                f"{middles if usual.keys() - {self.target} else ''}, or missing= in the domain; a rule is learned from "
                f"rows in which every cell is there.{self._unlabelled if self.target in apart else ''}"
            )

    @property
    def _unlabelled(self) -> str:
        labels = self.labels.values if isinstance(self.labels, Categories) else ()
        named = f", one of {', '.join(map(shown, labels))}" if labels else ""
        return (
            f" A row without a label is not left out: it counts as what you write for {self.target!r}{named}; keep "
            "such rows out of the data if nothing fits."
        )

    @property
    def classes(self) -> Classes:
        """The labels, where they are few and listed."""
        return listed(self.labels)

    @property
    def attribute(self) -> str:
        """The attribute that the label reveals something about: itself, or what it is derived from."""
        return self.target if self.derived_from is None else self.derived_from

    def reads_of(self, *features: str) -> Attributes:
        """Return what is charged for these features and the label; all of it where none of them is private."""
        if not isinstance(self.reads, frozenset):
            return self.reads
        return self.reads.intersection({*features, self.attribute}) or self.reads

    def size(self, place: int) -> int:
        """Return how many values a feature has, refusing one without an end."""
        size = self.domains[place].size
        if size is None:
            raise ParameterError(
                f"{self.features[place]!r} holds text, which cannot be listed here; give it a list of categories, or "
                "use PrivatePoint with a delta."
            )
        return size

    def sizes(self) -> tuple[int, ...]:
        """Return how many values each feature has."""
        return tuple(self.size(place) for place in range(len(self.domains)))


@dataclass(frozen=True, eq=False)
class Sample:
    """Exact integers of the declared columns: rows of codes, a label's code for each, how many people have both.

    The order of the rows carries nothing: every mechanism must return the same law for every order, and for rows that
    are listed one by one or together with their number.

    >>> Sample.of([[3], [5]], [0, 1]).people
    2
    """

    codes: Codes
    labels: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, codes: Any, labels: Any, counts: Any = None) -> Sample:
        """Return the sample of these rows, each of one person unless `counts` says otherwise."""
        rows = codes if isinstance(codes, np.ndarray) else np.array(codes)
        marks = np.asarray(labels, dtype=np.int64)
        numbers = np.ones(len(marks), dtype=np.int64) if counts is None else np.asarray(counts, dtype=np.int64)
        return cls(rows, marks, numbers)

    @property
    def people(self) -> int:
        """The number of people; public."""
        return int(self.counts.sum())

    def column(self, place: int) -> list[int]:
        """Return the codes of one feature as Python integers."""
        return [int(code) for code in self.codes[:, place].tolist()]


def joined(columns: Sequence[Codes], domains: Sequence[Domain]) -> Codes:
    """Return one row a person; 64 bits wide where every domain allows it."""
    kind = np.int64 if all(is_narrow(domain) for domain in domains) else object
    table = np.empty((len(columns[0]), len(columns)), dtype=kind)
    for place, column in enumerate(columns):
        table[:, place] = column
    return table


def _usual(domain: Domain) -> Any:
    """Return what a missing cell might count as: the middle of a public range, the first of a list, an empty text."""
    if isinstance(domain, Text):
        return domain.decode(domain.first + 1)
    if isinstance(domain, (Booleans, Categories)) or domain.highest is None:
        return domain.decode(domain.first)
    return domain.decode((domain.first + domain.highest) // 2)


def shown(value: Any) -> str:
    """Return a value of a domain as a person writes it: with decimals where these say it exactly."""
    if isinstance(value, Fraction):
        return plain if Fraction(plain := repr(float(value)).removesuffix(".0")) == value else repr(str(value))
    return repr(value.isoformat()) if isinstance(value, date) else repr(value)


def require_filled(names: Sequence[str], domains: Sequence[Domain]) -> None:
    """Refuse domains of arrays that do not say what a missing cell counts as, with what to write for the first."""
    apart = [(name, domain) for name, domain in zip(names, domains, strict=True) if domain.may_be_missing]
    if apart:
        name, domain = apart[0]
        others = f" and {len(apart) - 1} more" if len(apart) > 1 else ""
        raise ParameterError(
            f"Say what a missing cell counts as, here of {name}{others}; write it in the domain: {_filled(domain)}. A "
            "rule is learned from rows in which every cell is there."
        )


def _filled(domain: Domain) -> str:
    """Return how a domain is written that says what a missing cell counts as; the middle, or the first of a list."""
    fill = f"missing={shown(_usual(domain))}"
    if isinstance(domain, FixedPoint):
        low, high, step = (shown(value) for value in (domain.low, domain.high, domain.step))
        return f"fixed({low}, {high}, step={step}, {fill})"
    if isinstance(domain, Integers):
        return f"integers({domain.low}, {domain.high}, {fill})"
    return f"booleans({fill})" if isinstance(domain, Booleans) else fill

"""What was found, as a table that answers further questions for free."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.answer.frame import Frame
from sfumato.errors import ParameterError
from sfumato.exact import Number, above_zero

Record = tuple[Any, ...]


@dataclass(frozen=True)
class SuccinctHistogram(Frame):
    """The frequent records with their noisy counts; every record that is not listed counts as 0 (PDP-HIST).

    `smallest` is the count from which a given record is listed, at the confidence of the plan, so that a record which
    is not listed occurs less often. `overflow` says that the search listed too much and gave up: ask again with a
    larger smallest=. All methods use the released numbers only and cost nothing.

    >>> found = SuccinctHistogram(("a", "b"), {"a": (0, 1), "b": (1, 1), "count": (120, 80)}, smallest=60)
    >>> found.count((1, 1)), found.count((0, 0)), found.query({"b": 1}), found.total([(0, 1), (0, 0)])
    (80, 0, 200, 120)
    """

    smallest: int = 0
    people: int | None = None
    method: str = "tree"
    overflow: bool = False

    @property
    def engine(self) -> str:
        """The earlier name of `method`."""
        raise AttributeError("engine is now method; write found.method.")

    @property
    def records(self) -> tuple[Record, ...]:
        """The records, in the order of the table."""
        return tuple(zip(*(self.columns[name] for name in self.keys), strict=True))

    @property
    def counts(self) -> tuple[Any, ...]:
        """The noisy counts, in the same order."""
        return next(column for name, column in self.columns.items() if name not in self.keys)

    def count(self, record: Sequence[Any]) -> Any:
        """Return the noisy count of a record, 0 if it is not listed."""
        return self.total([record])

    def total(self, records: Iterable[Sequence[Any]]) -> Any:
        """Return the noisy count of a set of records: the sum over those that are listed (PL-SAN-KPOINT).

        Every one of k records may be off by the error of one, so the error grows with k.
        """
        wanted = {self._checked(record) for record in records}
        return sum(count for record, count in zip(self.records, self.counts, strict=True) if record in wanted)

    def query(self, values: Mapping[str, Any]) -> Any:
        """Return how many listed people have these values; a list, a set or a range allows several of them."""
        for name in values:
            if name not in self.keys:
                raise ParameterError(f"There is no column {name!r} here; write one of {', '.join(self.keys)}.")
        allowed = {
            self.keys.index(name): value
            if isinstance(value, Collection) and not isinstance(value, (str, bytes))
            else (value,)
            for name, value in values.items()
        }
        return sum(
            count
            for record, count in zip(self.records, self.counts, strict=True)
            if all(record[place] in among for place, among in allowed.items())
        )

    def distribution(self, keep: Number | None = None) -> SparseDistribution:
        """Return the shares of the records that count at least `keep`, by default twice the smallest (PDP-DIST)."""
        if self.people is None:
            raise ParameterError("Shares need the number of people, which is private here; divide by a noisy count.")
        least = 2 * self.smallest if keep is None else above_zero(keep, "keep")
        kept = [(r, c) for r, c in zip(self.records, self.counts, strict=True) if c >= least]
        shares = projected([Fraction(count) / self.people for _, count in kept])
        return SparseDistribution(self.keys, tuple(record for record, _ in kept), tuple(shares))

    def _checked(self, record: Sequence[Any]) -> Record:
        found = tuple(record)
        if len(found) != len(self.keys):
            raise ParameterError(f"A record has one value for each of {', '.join(self.keys)}, and {record!r} has not.")
        return found


@dataclass(frozen=True)
class SparseDistribution:
    """The shares of a few records; all others have share 0. Shares are not negative, and together at most 1.

    Squared error: with counts noised at scale s, n people, and every record of share `cut` kept, about
    2·(2·s²/(n²·cut) + 3·cut) + 2/n (PDP-DIST).
    """

    names: tuple[str, ...]
    records: tuple[Record, ...]
    shares: tuple[Fraction, ...]

    def share(self, record: Sequence[Any]) -> Fraction:
        """Return the share of a record."""
        return dict(zip(self.records, self.shares, strict=True)).get(tuple(record), Fraction(0))

    def to_frame(self) -> Frame:
        """Return a table of records and shares."""
        columns = {name: tuple(record[place] for record in self.records) for place, name in enumerate(self.names)}
        return Frame(self.names, {**columns, "share": self.shares})


def projected(shares: Sequence[Fraction]) -> list[Fraction]:
    """Return the nearest vector without negative entries whose sum is at most 1.

    >>> projected([Fraction(1, 2), Fraction(-1, 4)]), projected([Fraction(3, 4), Fraction(3, 4)])
    ([Fraction(1, 2), Fraction(0, 1)], [Fraction(1, 2), Fraction(1, 2)])
    """
    positive = [max(share, Fraction(0)) for share in shares]
    if sum(positive) <= 1:
        return positive
    # Onto the simplex: what all of the largest give up alike.
    total, excess = Fraction(0), Fraction(0)
    for number, share in enumerate(sorted(shares, reverse=True), start=1):
        total += share
        if share * number > total - 1:
            excess = (total - 1) / number
    return [max(share - excess, Fraction(0)) for share in shares]

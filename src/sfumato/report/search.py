"""Looking at all sets of k attributes at once: which of them the releases so far have cost the most (PDP-LEDGER).

A ledger can have thousands of entries and a hundred thousand sets to look at. Entries that read the same attributes
are added up first; for each of the rest the sets fall into a few kinds that it cannot tell apart, and only one of each
kind is priced. The sums of all sets are then compared in floating point, and those that may be the largest are added
up again exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from sfumato.exact import Extended, Infinity
from sfumato.ledger import Entry, Limit, Unbounded
from sfumato.ledger.guarantee import guaranteed
from sfumato.ledger.pricing import Prices
from sfumato.privacy import Bound, Everything, Flat, Loss, Relation, touches
from sfumato.privacy.filters import Filter, Sums

PRICED = 20_000
"""How many different kinds of sets one entry may be asked about; beyond, only a bound is given."""

DIGITS = 12
"""Sums that agree to so many digits are taken as equal when sets are compared."""

PROMISED = 5_000
"""How many kinds of sets are looked up in the limits; beyond, only a bound is given."""

FRONT = 200
"""How many sets, none of which is below another on all meters, are added up exactly."""


@dataclass(frozen=True)
class _Charged:
    """One entry, or several that cannot be told apart: what a set is charged, by the set's kind."""

    count: int
    kinds: Any  # for each set the place of its charge
    charges: list[Sums]


class Search:
    """Everything charged so far, ready to be asked about many sets of attributes; `classes` are the attributes."""

    def __init__(self, history: Sequence[Entry], classes: Sequence[frozenset[str]], gate: Filter) -> None:
        self.classes = classes
        self.gate = gate
        # With several certificates what is charged depends on the order of all requests: not a sum over entries.
        self.known = all(len(entry.loss) == 1 for entry in history)
        counted = Counter(entry.loss[0] for entry in history if not entry.person.is_zero)
        self._flat = _added(counted, classes, gate)
        self._rest = [(Prices(loss), count) for loss, count in counted.items() if not isinstance(loss.profile, Flat)]

    def sets(self, size: int) -> Any:
        """Return all sets of so many classes, one a row."""
        listed = np.fromiter(combinations(range(len(self.classes)), size), dtype=np.dtype((np.int32, size)))
        return listed.reshape(-1, size)

    def most_charged(self, sets: Any) -> list[tuple[frozenset[str], Sums]] | None:
        """Return the sets that no other exceeds on every meter, with their exact sums; None if it is too much work."""
        charged = self._charged(sets)
        if charged is None:
            return None
        sums = np.zeros((len(sets), len(self.gate.meters)))
        for part in charged:
            sums += part.count * np.array([[_float(one) for one in charge] for charge in part.charges])[part.kinds]
        front = _front(_rounded(sums))
        if len(front) > FRONT:
            return None
        return [(self._union(sets[place]), self._exact(charged, place)) for place in front]

    def of_each(self, sets: Any) -> dict[frozenset[str], Sums]:
        """Return the exact sums of every set; nothing if it is too much work."""
        charged = self._charged(sets)
        if charged is None:
            return {}
        return {self._union(row): self._exact(charged, place) for place, row in enumerate(sets)}

    def _charged(self, sets: Any) -> list[_Charged] | None:
        if not self.known:
            return None
        charged = [*self._from_flat(sets)]
        for prices, count in self._rest:
            found = self._priced(prices, count, sets)
            if found is None:
                return None
            charged.append(found)
        return charged

    def _from_flat(self, sets: Any) -> list[_Charged]:
        zero = self.gate.zero()
        found = []
        for touched, charge in self._flat.items():
            reads = np.zeros(len(self.classes), dtype=bool)
            reads[list(touched)] = True
            found.append(_Charged(1, reads[sets].any(axis=1).astype(np.int32), [zero, charge]))
        return found

    def _priced(self, prices: Prices, count: int, sets: Any) -> _Charged | None:
        """Price one set of each kind that the loss can tell apart."""
        alike: dict[tuple[Any, ...], int] = {}
        kinds = np.array([alike.setdefault(prices.key(names, 1), len(alike)) for names in self.classes])
        _, first, place = np.unique(_codes(kinds[sets], len(alike)), axis=0, return_index=True, return_inverse=True)
        if len(first) > PRICED:
            return None
        costs = [prices.at(self._union(sets[row]), 1) for row in first]
        return _Charged(count, place.reshape(-1), [self.gate.charge(cost) for cost in costs])

    def _exact(self, charged: Sequence[_Charged], place: int) -> Sums:
        total = self.gate.zero()
        for part in charged:
            charge = part.charges[int(part.kinds[place])]
            total = self.gate.add(total, tuple(part.count * one for one in charge))
        return total

    def _union(self, row: Any) -> frozenset[str]:
        return frozenset[str]().union(*(self.classes[int(place)] for place in row))


def _added(counted: Counter[Loss], classes: Sequence[frozenset[str]], gate: Filter) -> dict[frozenset[int], Sums]:
    """Add up what flat losses charge, by the classes that they touch."""
    found: dict[frozenset[int], Sums] = {}
    for loss, count in counted.items():
        if not isinstance(loss.profile, Flat):
            continue
        reads = loss.profile.reads
        touched = frozenset(place for place, names in enumerate(classes) if touches(reads, names))
        if touched:
            charge = gate.charge(Prices(loss).at(classes[min(touched)], 1))
            before = found.get(touched, gate.zero())
            found[touched] = gate.add(before, tuple(count * one for one in charge))
    return found


def _codes(kinds: Any, many: int) -> Any:
    """Return one number a row that is equal for equal multisets of kinds, or sorted rows if it is too long."""
    base = kinds.shape[1] + 1
    if base**many < 2**62:
        return (np.int64(base) ** np.arange(many, dtype=np.int64))[kinds].sum(axis=1)
    return np.sort(kinds, axis=1)


def _float(amount: Extended) -> float:
    return float("inf") if isinstance(amount, Infinity) else float(amount)


def _rounded(sums: Any) -> Any:
    """Round to so many digits of the largest on each meter, so that equal sums compare equal."""
    largest = np.max(np.where(np.isfinite(sums), sums, 0.0), axis=0, initial=0.0)
    step = np.where(largest > 0, largest * 10.0**-DIGITS, 1.0)
    return np.where(np.isfinite(sums), np.round(np.where(np.isfinite(sums), sums, 0.0) / step), np.inf)


def _front(sums: Any) -> list[int]:
    """Return the places of the rows that no other row exceeds on every meter, one place for equal rows."""
    rows, places = np.unique(sums, axis=0, return_index=True)
    found: list[int] = []
    while len(rows) and len(found) <= FRONT:
        # Rows are in order, and whatever exceeds a row comes after it: the last one is exceeded by none.
        found.append(int(places[-1]))
        keep = (rows > rows[-1]).any(axis=1)
        rows, places = rows[keep], places[keep]
    return found


class Promises:
    """What limits promise for sets of classes; sets that the limits cannot tell apart are looked at once."""

    def __init__(self, limits: Sequence[Limit], classes: Sequence[frozenset[str]], relation: Relation) -> None:
        self.classes = classes
        self.relation = relation
        self._everyone = [limit for limit in limits if isinstance(limit.on, Everything)]
        self._touching: list[list[int]] = [[] for _ in classes]
        self._named = [limit for limit in limits if not isinstance(limit.on, Everything)]
        for number, limit in enumerate(self._named):
            for place, names in enumerate(classes):
                if touches(limit.on, names):
                    self._touching[place].append(number)
        shared = Counter(number for numbers in self._touching for number in numbers)
        alike: dict[Any, int] = {}
        # Attributes with equal limits of their own in the same shared limits may be exchanged for each other.
        self._kinds = np.array(
            [alike.setdefault(self._kind(place, shared), len(alike)) for place in range(len(classes))]
        )
        self._many = len(alike)

    def _kind(self, place: int, shared: Counter[int]) -> Any:
        numbers = self._touching[place]
        own = Counter((self._named[n].bound, self._named[n].people) for n in numbers if shared[n] == 1)
        return frozenset(own.items()), frozenset(n for n in numbers if shared[n] > 1)

    def of_each_kind(self, sets: Any) -> list[tuple[frozenset[str], Bound | None]] | None:
        """Return one set of each kind with what is promised for it; None if there are too many kinds."""
        _, first = np.unique(_codes(self._kinds[sets], self._many), axis=0, return_index=True)
        return None if len(first) > PROMISED else [self._promise(sets[row].tolist()) for row in sorted(first)]

    def person_for(self) -> Bound | None:
        """Return what the limits on whole people promise for any attributes of one person."""
        bound = guaranteed(self._everyone, frozenset(), 1, self.relation)
        return None if isinstance(bound, Unbounded) else bound

    def _promise(self, row: Sequence[int]) -> tuple[frozenset[str], Bound | None]:
        numbers = sorted({number for place in row for number in self._touching[place]})
        names = frozenset[str]().union(*(self.classes[place] for place in row))
        reaching = [*self._everyone, *(self._named[number] for number in numbers)]
        bound = guaranteed(reaching, names, 1, self.relation)
        return names, None if isinstance(bound, Unbounded) else bound

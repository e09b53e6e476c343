"""What a ledger says about any attributes of any number of people: one line of a report, or the worst of many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb, prod
from typing import Any

from sfumato.errors import ParameterError
from sfumato.exact import INFINITY, Extended
from sfumato.ledger import Ledger, Unbounded
from sfumato.privacy import EVERYTHING, Attributes, Bound, Everything, Secrets
from sfumato.privacy.implied import bound_for_group
from sfumato.report.figures import NOTHING_KNOWN, Meaning, Row, limit_text, meaning, metered, promised

ENUMERATED = 100
"""How many sets of attributes are looked at one by one; each one reads the whole history of the ledger."""

FEW = 6
"""Of more attributes than this only single ones and pairs are looked at one by one."""

LARGEST_SIZE = 10
"""The curve of the worst k attributes goes no further."""


@dataclass(frozen=True)
class Worst:
    """The worst that holds for any k attributes: of what is guaranteed, and of what the meters show.

    `promised_for` and `used_for` name the set with the largest figure; empty, the figure is a bound on all sets.
    """

    size: int
    guaranteed: Bound | None
    promise: Meaning | None
    promised_for: tuple[str, ...]
    used: Meaning | None
    used_for: tuple[str, ...]

    def cells(self) -> tuple[str, ...]:
        """Return the size, then the guarantee and the meter, each with the set that it is about."""
        bound = "no limit reaches it" if self.guaranteed is None else limit_text(self.guaranteed)
        said = NOTHING_KNOWN if self.promise is None else self.promise.cells()[0]
        used = NOTHING_KNOWN if self.used is None else self.used.cells()[0]
        return str(self.size), bound, said, _set(self.promised_for), used, _set(self.used_for)

    def to_json(self) -> dict[str, Any]:
        """Return exact numbers as text."""
        return {
            "size": self.size,
            "guarantee": {
                "bound": None if self.guaranteed is None else self.guaranteed.to_json(),
                "means": None if self.promise is None else self.promise.to_json(),
                "attributes": list(self.promised_for),
            },
            "spent": {
                "means": None if self.used is None else self.used.to_json(),
                "attributes": list(self.used_for),
            },
        }


def _set(names: tuple[str, ...]) -> str:
    return " + ".join(names) or "a bound on all sets"


class Account:
    """The lines of a report, read from one ledger at one delta.

    `values` says how many values an attribute can take; what is revealed about it is at most its entropy.
    """

    def __init__(self, ledger: Ledger, delta: Fraction, values: Mapping[str, int] | None = None) -> None:
        self.ledger = ledger
        self.delta = delta
        self.values = dict(values or {})

    @property
    def secrets(self) -> Secrets | None:
        """The attributes that the ledger declares, None if it declares none."""
        return self.ledger.budget.secrets

    @property
    def classes(self) -> list[frozenset[str]]:
        """The smallest sets of attributes that a figure can speak of: linked columns are one attribute."""
        return [] if self.secrets is None else self.secrets.classes()

    def row(self, names: Iterable[str] | str | Everything = EVERYTHING, people: int = 1, subject: str = "") -> Row:
        """Return the line about these attributes, with all that are linked to them."""
        on = self._closed(names)
        bound = self._guaranteed(on, people)
        used, percent, text = self._spent(on, people)
        return Row(
            subject or _subject(on, people),
            () if isinstance(on, Everything) else tuple(sorted(on)),
            people,
            bound,
            None if bound is None else promised(bound, self.delta, self._size(on)),
            used,
            self.ledger.guarantee_text(on, people),
            text,
            percent,
        )

    def worst(self, size: int) -> Worst:
        """Return the worst of all sets of `size` attributes, linked columns counted as one (PDP-LEDGER)."""
        classes = self.classes
        if not 1 <= size <= len(classes):
            raise ParameterError(f"There are {len(classes)} attributes, so no set of {size}.")
        if comb(len(classes), size) > ENUMERATED or (size > 2 and len(classes) > FEW):
            return self._bound_on_all(size)
        sets = [frozenset[str]().union(*chosen) for chosen in combinations(classes, size)]
        limits = [(on, self._guaranteed(on, 1)) for on in sets]
        meters = [(on, self._spent(on, 1)[0]) for on in sets]
        promised_for, bound = max(limits, key=lambda pair: (self._strength(pair[1]), sorted(pair[0])))
        used_for, used = max(meters, key=lambda pair: (_epsilon(pair[1]), sorted(pair[0])))
        return self._worst(size, bound, tuple(sorted(promised_for)), used, tuple(sorted(used_for)))

    def _bound_on_all(self, size: int) -> Worst:
        """Bound all sets by the worst attribute taken `size` times (PDP:C-4), or by the whole person."""
        person, single = self._guaranteed(EVERYTHING, 1), self._worst_single
        grown = None if single is None else bound_for_group(single, size)
        bound = min((person, grown), key=self._strength)
        return self._worst(size, bound, (), self._spent(EVERYTHING, 1)[0], ())

    @cached_property
    def _worst_single(self) -> Bound | None:
        """The weakest guarantee of any attribute, None if one has none."""
        return max((self._guaranteed(on, 1) for on in self.classes), key=self._strength)

    def _worst(
        self,
        size: int,
        bound: Bound | None,
        promised_for: tuple[str, ...],
        used: Meaning | None,
        used_for: tuple[str, ...],
    ) -> Worst:
        promise = None if bound is None else promised(bound, self.delta)
        return Worst(size, bound, promise, promised_for, used, used_for)

    def _closed(self, names: Iterable[str] | str | Everything) -> Attributes:
        if isinstance(names, Everything):
            return names
        asked = frozenset((names,)) if isinstance(names, str) else frozenset(names)
        return asked if self.secrets is None else self.secrets.closure(asked)

    def _guaranteed(self, on: Attributes, people: int) -> Bound | None:
        bound = self.ledger.guarantee(on, people)
        return None if isinstance(bound, Unbounded) else bound

    def _spent(self, on: Attributes, people: int) -> tuple[Meaning | None, int | None, str | None]:
        """Return what the meters mean, the percentage of a limit of its own, and the exact wording."""
        try:
            reading = self.ledger.spent(on, people)
        except ParameterError:
            return None, None, None  # no limit reaches so many people, so nothing was measured for them
        found = meaning(metered(reading), self.delta, self._size(on))
        return found, reading.percent if reading.own else None, reading.text

    def _strength(self, bound: Bound | None) -> Extended:
        return INFINITY if bound is None else promised(bound, self.delta).epsilon

    def _size(self, on: Attributes) -> int | None:
        if isinstance(on, Everything) or not all(name in self.values for name in on):
            return None
        return prod(self.values[name] for name in on)


def _epsilon(found: Meaning | None) -> Extended:
    return INFINITY if found is None else found.epsilon


def _subject(on: Attributes, people: int) -> str:
    who = "" if people == 1 else f" of {people} people"
    if isinstance(on, Everything):
        return "a person" if people == 1 else f"any {people} people"
    return " + ".join(sorted(on)) + who

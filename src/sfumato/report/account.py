"""What a ledger says about any attributes of any number of people: one line of a report, or the worst of many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from math import comb, prod
from typing import TYPE_CHECKING, Any

from sfumato.errors import NotProvable, ParameterError
from sfumato.exact import INFINITY, Extended
from sfumato.ledger import Ledger, Reading, Unbounded
from sfumato.privacy import ADD_REMOVE, EVERYTHING, Attributes, Bound, Everything, Secrets
from sfumato.privacy.filters import Filter, Sums
from sfumato.privacy.implied import bound_for_group
from sfumato.report.figures import Meaning, ReportLine, added_up, meaning, metered, promised, smallest
from sfumato.report.worst import Worst

if TYPE_CHECKING:
    from sfumato.report.search import Promises, Search

ENUMERATED = 100_000
"""How many sets of attributes of one size are looked at; of more there is only a bound on all of them."""

LARGEST_SIZE = 10
"""The curve of the worst k attributes goes no further."""


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

    @cached_property
    def classes(self) -> list[frozenset[str]]:
        """The smallest sets of attributes that a figure can speak of: linked columns are one attribute."""
        return [] if self.secrets is None else self.secrets.classes()

    def row(
        self, names: Iterable[str] | str | Everything = EVERYTHING, people: int = 1, subject: str = ""
    ) -> ReportLine:
        """Return the line about these attributes, with all that are linked to them."""
        on = self._closed(names)
        bound = self._guaranteed(on, people)
        used, limit, text = self._spent(on, people)
        return ReportLine(
            subject or _subject(on, people),
            () if isinstance(on, Everything) else tuple(sorted(on)),
            people,
            bound,
            self._promised(bound, on, people),
            used,
            self.ledger.guarantee_text(on, people),
            text,
            None if limit is None else limit.percent,
            self.ledger.relation is ADD_REMOVE and isinstance(on, Everything),
            None if limit is None else limit.rule.limit.bound,
        )

    def worst(self, size: int) -> Worst:
        """Return the worst of all sets of `size` attributes, linked columns counted as one (PDP-LEDGER)."""
        classes = self.classes
        if not 1 <= size <= len(classes):
            raise ParameterError(f"There are {len(classes)} attributes, so no set of {size}.")
        sets = self._search.sets(size) if comb(len(classes), size) <= ENUMERATED else None
        promised_for, bound = self._weakest(sets, size)
        used_for, used = self._most_used(sets, size)
        promise = self._promised(bound, frozenset(promised_for), 1)
        return Worst(size, bound, promise, promised_for, used, used_for)

    def _promised(self, bound: Bound | None, on: Attributes, people: int) -> Meaning | None:
        """Return what a guarantee means; of attributes no figure lies above what the limit for a person gives."""
        if bound is None:
            return None
        found = promised(bound, self.delta, self._size(on))
        whole = None if isinstance(on, Everything) or people > 1 else self._promises.person_for()
        return found if whole is None else smallest(found, promised(whole, self.delta))

    def _weakest(self, sets: Any, size: int) -> tuple[tuple[str, ...], Bound | None]:
        """Return the set with the weakest guarantee, or a bound on all sets.

        The bound is the worst attribute taken `size` times (PDP:C-4), or what a limit on people says of attributes.
        """
        found = None if sets is None else self._promises.of_each_kind(sets)
        if found is not None:
            names, bound = max(found, key=lambda pair: self._strength(pair[1]))
            return tuple(sorted(names)), bound
        single = self._worst_single
        grown = None if single is None else bound_for_group(single, size)
        return (), min((self._promises.person_for(), grown), key=self._strength)

    def _most_used(self, sets: Any, size: int) -> tuple[tuple[str, ...], Meaning | None]:
        """Return the set with the largest meter, or a bound on all: the worst one so often, or the person."""
        if sets is None:
            return (), self._bound_on_use(size)
        if size == 1:
            rows = [(on, self._spent(on, 1)[0]) for on in self.classes]
            names, used = max(rows, key=lambda pair: (_epsilon(pair[1]), sorted(pair[0])))
            return tuple(sorted(names)), used
        own = [on for on in self._own if not isinstance(on, Everything) and self._places(on, size) is not None]
        listed = {self._places(on, size) for on in own}
        rest = sets[[tuple(row) not in listed for row in sets.tolist()]] if listed else sets
        charged = self._search.most_charged(rest) if len(rest) else []
        if charged is None:
            return (), self._bound_on_use(size)
        costs = {on: metered(self._own[on]) for on in own}
        costs |= {on: added_up(self._gate.meters, sums) for on, sums in charged}
        found = [(on, meaning(cost, self.delta, self._size(on))) for on, cost in costs.items()]
        names, used = max(found, key=lambda pair: (pair[1].epsilon, sorted(pair[0])))
        return tuple(sorted(names)), smallest(used, self._whole)

    def _bound_on_use(self, size: int) -> Meaning | None:
        person = self._whole
        singles = self._search.most_charged(self._search.sets(1))
        if singles is None or person is None:
            return person
        largest = tuple(max(column) for column in zip(*(sums for _, sums in singles), strict=True))
        cost = added_up(self._gate.meters, largest)
        if cost.leak:
            return person  # a delta does not add up over attributes
        try:
            grown = meaning(cost.for_group(size), self.delta)
        except NotProvable:
            return person
        return min((person, grown), key=_epsilon)

    @cached_property
    def _search(self) -> Search:
        from sfumato.report.search import Search

        return Search(self.ledger.history(), self.classes, self._gate)

    @cached_property
    def _promises(self) -> Promises:
        from sfumato.report.search import Promises

        limits = [rule.limit for rule in self.ledger.limits if rule.promises]
        return Promises(limits, self.classes, self.ledger.relation)

    @cached_property
    def _gate(self) -> Filter:
        """The meters of the limit for the whole person, which also measure sets without a limit of their own."""
        return self._own[EVERYTHING].gate

    @cached_property
    def _whole(self) -> Meaning | None:
        """What the meters of whole people say of any attributes of one: of as many people as it takes to bound them."""
        return self._spent(EVERYTHING, self.ledger.relation.people_for(frozenset()))[0]

    @cached_property
    def _singles(self) -> dict[frozenset[str], Sums]:
        """What the person's meters show of every attribute alone, as far as that can be added up."""
        return self._search.of_each(self._search.sets(1)) if self.classes else {}

    def _beside(self, on: frozenset[str]) -> list[Meaning | None]:
        """Return all else that was measured and holds for these attributes: larger sets, and the person's meters."""
        costs = [
            metered(reading) for wide, reading in self._own.items() if not isinstance(wide, Everything) and on < wide
        ]
        if on in self._singles:
            costs.append(added_up(self._gate.meters, self._singles[on]))
        return [self._whole, *(meaning(cost, self.delta, self._size(on)) for cost in costs)]

    @cached_property
    def _own(self) -> dict[Attributes, Reading]:
        """What the meters of limits for one person show, by their attributes."""
        found: dict[Attributes, Reading] = {}
        for reading in self._common:
            if reading.rule.limit.people == 1:
                found.setdefault(reading.rule.limit.on, reading)
        return found

    @cached_property
    def _common(self) -> list[Reading]:
        """What the meters of all limits show that hold for everybody's questions together."""
        return [reading for reading in self.ledger.readings() if reading.rule.analyst is None]

    def _binding(self, on: Attributes, people: int) -> Reading | None:
        """Return the limit of these attributes that is used most, None if they have none of their own.

        An attribute may have a limit of its own beside that of each attribute: the one with less room refuses first.
        """
        own = [one for one in self._common if one.rule.limit.on == on and one.rule.limit.people == people]
        guaranteed = self._guaranteed(on, people)
        return max(own, key=lambda one: (one.percent, one.rule.limit.bound == guaranteed), default=None)

    def _places(self, on: frozenset[str], size: int) -> tuple[int, ...] | None:
        """Return the classes whose union these attributes are, None if they are no union of so many."""
        found = tuple(place for place, names in enumerate(self.classes) if names <= on)
        whole = len(found) == size and on == frozenset[str]().union(*(self.classes[place] for place in found))
        return found if whole else None

    @cached_property
    def _worst_single(self) -> Bound | None:
        """The weakest guarantee of any attribute, None if one has none."""
        return max((self._guaranteed(on, 1) for on in self.classes), key=self._strength)

    def _closed(self, names: Iterable[str] | str | Everything) -> Attributes:
        if isinstance(names, Everything):
            return names
        asked = frozenset((names,)) if isinstance(names, str) else frozenset(names)
        return asked if self.secrets is None else self.secrets.closure(asked)

    def _guaranteed(self, on: Attributes, people: int) -> Bound | None:
        bound = self.ledger.guarantee(on, people)
        return None if isinstance(bound, Unbounded) else bound

    def _spent(self, on: Attributes, people: int) -> tuple[Meaning | None, Reading | None, str | None]:
        """Return what the meters mean, those of the limit of its own that binds, and the exact wording."""
        try:
            reading = self.ledger.spent(on, people)
        except ParameterError:
            return None, None, None  # no limit reaches so many people, so nothing was measured for them
        found = meaning(metered(reading), self.delta, self._size(on))
        if people == 1 and not isinstance(on, Everything):
            found = smallest(found, *self._beside(on))
        limit = self._binding(on, people)
        return found, limit, (limit or reading).text

    def _strength(self, bound: Bound | None) -> Extended:
        return INFINITY if bound is None else promised(bound, self.delta).epsilon

    def _size(self, on: Attributes) -> int | None:
        if isinstance(on, Everything) or not on or not all(name in self.values for name in on):
            return None
        return prod(self.values[name] for name in on)


def _epsilon(found: Meaning | None) -> Extended:
    return INFINITY if found is None else found.epsilon


def _subject(on: Attributes, people: int) -> str:
    who = "" if people == 1 else f" of {people} people"
    if isinstance(on, Everything):
        return "a person" if people == 1 else f"any {people} people"
    return " + ".join(sorted(on)) + who

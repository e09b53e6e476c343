"""The mechanism: some tables of one set of records, each with its own noise, released as one vector."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanism import Event, Mechanism
from sfumato.noise import Law, Noise
from sfumato.perturb.additive import saturating_sum
from sfumato.privacy import REPLACE_ONE, Everything, Loss, PerAttribute
from sfumato.totals.tables.parts import Columns, Part, cost_of
from sfumato.totals.tables.prices import price_added, price_replaced
from sfumato.workload.records import Tabled

Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class TableStack(Mechanism):
    """Tables and contrasts of tables plus independent discrete noise: unbiased, all at once.

    Promise, for `relation` neighbours of at most `rows` rows a person: Gaussian noise is rho-concentrated and
    Laplace noise epsilon-private, where rho = rows²·max Σ l2²/(2·variance) and epsilon = rows·max Σ l1/scale. Under
    ADD_REMOVE the sum is the same for every row; under REPLACE_ONE the largest is taken over all sets J of columns
    that change, never table by table: a pair of which both columns change moves less than one of which one does.
    The same holds for each attribute, with J inside the columns that show it, under both relations: somebody who stays
    and changes is a row replaced.

    `shown` is the private attribute behind each column. Spec: PDP-GAUSS, PDP:C-13, PDP:C-14, QR-BARAK (contrasts).
    Time: one pass over the distinct rows for each table, and one draw a cell.
    """

    spec: ClassVar[str] = "PDP-GAUSS"

    parts: tuple[Part, ...]
    shown: tuple[str | None, ...]
    rows: int = 1

    @property
    def pure(self) -> bool:
        """Whether the noise is Laplace's."""
        return self.parts[0].law.pure

    @cached_property
    def person_price(self) -> Fraction:
        """The epsilon or rho of a person."""
        added = price_added(self.parts)
        if self.relation is not REPLACE_ONE:
            return self._grown(added)
        # A person who is replaced takes public columns along.
        replaced = price_replaced(self.parts, frozenset(range(len(self.shown))))
        return self._grown(replaced if self.rows == 1 else max(added, replaced))

    @cached_property
    def attribute_prices(self) -> dict[str, Fraction]:
        """The epsilon or rho of each attribute alone, where it is known; empty elsewhere."""
        if self.relation is not REPLACE_ONE or isinstance(self.reads, Everything):
            return {}
        found = {}
        for name in sorted(self.reads):
            columns = frozenset(place for place, attribute in enumerate(self.shown) if attribute == name)
            # What is read without being shown, such as the key that rows are picked by, costs what a person does.
            found[name] = self._grown(price_replaced(self.parts, columns)) if columns else self.person_price
        return {name: min(price, self.person_price) for name, price in found.items()}

    @cached_property
    def changed_prices(self) -> dict[str, Fraction]:
        """The epsilon or rho of an attribute that changes in somebody who stays, where people come and go."""
        if self.relation is REPLACE_ONE or isinstance(self.reads, Everything):
            return {}
        # What is read without being shown may exchange every row: somebody leaves, and somebody enters.
        two_people = self.person_price * (2 if self.pure else 4)
        found = {}
        for name in sorted(self.reads):
            columns = frozenset(place for place, attribute in enumerate(self.shown) if attribute == name)
            found[name] = self._grown(price_replaced(self.parts, columns)) if columns else two_people
        return {name: min(price, two_people) for name, price in found.items()}

    def _grown(self, price: Fraction) -> Fraction:
        return price * self.rows if self.pure else price * self.rows**2

    def loss(self) -> Loss:
        """Return the person's cost, and the attributes' where they are known."""
        person = cost_of(self.parts, self.person_price)
        if self.changed_prices:
            changed = {name: cost_of(self.parts, price) for name, price in self.changed_prices.items()}
            return Loss.stated(person, changed, self.relation)
        singles = tuple((name, cost_of(self.parts, price)) for name, price in self.attribute_prices.items() if price)
        if not singles:
            return Loss.flat(person, self.reads, self.relation)
        return Loss(PerAttribute(singles, person), self.relation)

    def looks(self) -> frozenset[Columns]:
        """Return the sets of columns whose tables a run may look at."""
        return frozenset(part.columns for part in self.parts)

    def exact(self, records: Tabled) -> list[Integers]:
        """Return the exact integers of all tables; they never leave without noise."""
        names = records.space.names
        return [part.exact(records.table([names[place] for place in part.columns])) for part in self.parts]

    def run(self, exact: Tabled, noise: Noise) -> tuple[Integers, ...]:
        """Count, and add noise; tables of equal noise are drawn together."""
        tables = self.exact(exact)
        drawn = self._drawn(noise)
        return tuple(
            saturating_sum(np.asarray(table, np.int64).ravel(), added).reshape(np.shape(table))
            for table, added in zip(tables, drawn, strict=True)
        )

    def released(self, numbers: tuple[Integers, ...]) -> tuple[list[Part], list[Integers]]:
        """Return the tables of a run, and their numbers."""
        return list(self.parts), list(numbers)

    def _drawn(self, noise: Noise) -> list[Integers]:
        places: dict[Law, list[int]] = {}
        for place, part in enumerate(self.parts):
            places.setdefault(part.law, []).append(place)
        found: dict[int, Integers] = {}
        for law, members in places.items():
            sizes = [int(np.prod(self.parts[place].shape, dtype=np.int64)) for place in members]
            values = noise.draw(law, sum(sizes))
            found.update(zip(members, np.split(values, np.cumsum(sizes)[:-1]), strict=True))
        return [found[place] for place in range(len(self.parts))]

    def event(self) -> Event:
        """Return the public record; the one law that many tables share by multiplying is written once."""
        shared = any(part.times > 1 for part in self.parts) and len({part.law for part in self.parts}) == 1
        listed = [part.to_json() for part in self.parts]
        parameters: dict[str, Any] = {
            "parts": [{name: value for name, value in one.items() if name != "law"} for one in listed]
            if shared
            else listed,
            "shown": self.shown,
            "rows": self.rows,
            "relation": self.relation,
            "reads": self.reads,
        }
        if shared:
            parameters["law"] = self.parts[0].law.described()
        return Event(type(self).__name__, self.spec, parameters, self.version)

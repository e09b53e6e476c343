"""A question made ready from public facts: the gauge that it reads by, the mechanism that runs, what is made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar

from sfumato.answer import Released
from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.privacy import EVERYTHING, Cost, Everything, Loss
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.table.data import Table
from sfumato.table.gauge import Gauge


def as_it_is(reading: Any) -> Any:
    """Return what was read, for mechanisms that take it as it is."""
    return reading


@dataclass(frozen=True)
class Prepared:
    """What runs for a question: its gauge, its mechanism, and what is made of the raw draw.

    `arrange` brings what the gauge reads into the form that the mechanism takes; it sees nothing else. A mechanism that
    was made for another reading than that of the gauge is refused here, before anything is reserved.
    """

    gauge: Gauge
    mechanism: Mechanism
    finish: Callable[[Any], Released]
    arrange: Callable[[Any], Any] = as_it_is
    told: Mapping[str, str] = field(default_factory=dict, compare=False)
    """What the question says about missing cells of columns, in place of what the schema says."""
    holds: int = field(default=0, compare=False)
    """How many bytes every row that is read takes besides, once it is arranged."""

    def __post_init__(self) -> None:
        self.gauge.require(self.mechanism)

    def loss(self) -> Loss:
        """Return what the answer costs: what the mechanism states, for the rows that the gauge reads."""
        return self._loss

    @cached_property
    def _loss(self) -> Loss:
        return self.gauge.charge(self.mechanism.loss())

    def notes(self) -> tuple[str, ...]:
        """Return the public rules by which cells and people are counted."""
        return self.gauge.notes(self.told)

    def check(self, table: Table) -> None:
        """Refuse, before anything is reserved, what the engine behind a table could not read."""
        self.gauge.check(table, self.holds)

    def exact(self, table: Table) -> Any:
        """Read the exact integers that the mechanism is given."""
        return self.arrange(self.gauge.read(table))


@dataclass(frozen=True, kw_only=True)
class Exact(Mechanism):
    """Returns what it is given: for numbers that do not depend on anybody."""

    spec: ClassVar[str] = "PDP:C-11"
    weighed: ClassVar[bool] = True

    def loss(self) -> Loss:
        """Return no loss at all."""
        return Loss.flat(Cost.zero(), self.reads, self.relation)

    def run(self, exact: Any, noise: Noise) -> Any:
        """Return the input."""
        return exact


@dataclass(frozen=True, kw_only=True)
class Several(Mechanism):
    """Runs several mechanisms, each on its own input with its own draws; losses add up (PDP:C-7, C-10, PDP-PAR).

    What the parts read may differ: an attribute is charged by the parts that read it and by no other.
    """

    spec: ClassVar[str] = "PDP:C-7"

    mechanisms: tuple[Mechanism, ...]

    @property
    def weighed(self) -> bool:  # type: ignore[override]
        """Whether all of them take parts of rows."""
        return all(mechanism.weighed for mechanism in self.mechanisms)

    def __post_init__(self) -> None:
        found: frozenset[str] = frozenset()
        for mechanism in self.mechanisms:
            if isinstance(mechanism.reads, Everything):
                object.__setattr__(self, "reads", EVERYTHING)
                return
            found |= mechanism.reads
        object.__setattr__(self, "reads", found)

    def loss(self) -> Loss:
        """Return the sum of the losses."""
        total = self.mechanisms[0].loss()
        for mechanism in self.mechanisms[1:]:
            total = total + mechanism.loss()
        return total

    def made_for(self) -> Iterator[tuple[Sensitivity, int]]:
        """Yield what its parts are made for."""
        return chain.from_iterable(mechanism.made_for() for mechanism in self.mechanisms)

    def run(self, exact: Sequence[Any], noise: Noise) -> tuple[Any, ...]:
        """Run each on its own input."""
        return tuple(mechanism.run(part, noise) for mechanism, part in zip(self.mechanisms, exact, strict=True))

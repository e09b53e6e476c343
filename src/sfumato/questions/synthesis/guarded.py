"""One stack of tables, then another: which one depends on how many rows the first one shows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.errors import CertificationError
from sfumato.mechanism import Event, Mechanism
from sfumato.noise import Noise
from sfumato.privacy import Cost, Loss
from sfumato.privacy.gauss import Exactly
from sfumato.questions.synthesis.gather import Integers, gather
from sfumato.totals.tables.parts import Columns, Part
from sfumato.totals.tables.stack import TableStack
from sfumato.workload.records import Tabled

Tables = tuple[Integers, ...]


@dataclass(frozen=True, kw_only=True)
class GuardedTables(Mechanism):
    """A first stack; then `rich` if its noisy number of rows is at least `fewest`, else `poor`.

    Where the number of rows is private nobody can know beforehand whether pairs of columns would drown in their noise.
    Promise: the loss of the first stack plus that of the dearer of the two others; the choice reads released numbers
    (PDP:C-7).
    """

    spec: ClassVar[str] = "PDP-GAUSS"

    first: TableStack
    rich: TableStack
    poor: TableStack
    fewest: Fraction

    @property
    def pure(self) -> bool:
        """Whether the noise is Laplace's."""
        return self.first.pure

    @property
    def rows(self) -> int:
        """How many rows a person has at most."""
        return self.first.rows

    @property
    def parts(self) -> tuple[Part, ...]:
        """The tables that are measured where people are enough."""
        return (*self.first.parts, *self.rich.parts)

    def loss(self) -> Loss:
        """Return the loss of the first stack and of what follows, whichever it is."""
        later = dearer(self.rich.loss().person, self.poor.loss().person, pure=self.pure)
        return self.first.loss() + Loss.flat(later, self.reads, self.relation)

    def looks(self) -> frozenset[Columns]:
        """Return the sets of columns whose tables a run may look at."""
        return self.first.looks() | self.rich.looks() | self.poor.looks()

    def run(self, exact: Tabled, noise: Noise) -> tuple[Tables, Tables, Tables]:
        """Return the tables of the first stack, of the rich one and of the poor one; one of the last two is empty."""
        first = self.first.run(exact, noise)
        if gather(self.first.parts, first, exact.space.sizes, None).total < self.fewest:
            return first, (), self.poor.run(exact, noise)
        return first, self.rich.run(exact, noise), ()

    def found_few(self, raw: tuple[Tables, Tables, Tables]) -> bool:
        """Tell whether a run found too few rows."""
        return not raw[1]

    def released(self, raw: tuple[Tables, Tables, Tables]) -> tuple[list[Part], list[Integers]]:
        """Return the tables of a run, and their numbers."""
        first, rich, poor = raw
        later = self.poor if self.found_few(raw) else self.rich
        return [*self.first.parts, *later.parts], [*first, *rich, *poor]

    def event(self) -> Event:
        """Return the public record."""
        parameters: dict[str, Any] = {
            "first": self.first,
            "rich": self.rich,
            "poor": self.poor,
            "fewest": self.fewest,
            "relation": self.relation,
            "reads": self.reads,
        }
        return Event(type(self).__name__, self.spec, parameters, self.version)


def dearer(one: Cost, other: Cost, *, pure: bool) -> Cost:
    """Return a cost that covers both, which are epsilons if `pure` and rhos if not."""
    amounts = (one.epsilon, other.epsilon) if pure else (one.rho(), other.rho())
    finite = [amount for amount in amounts if isinstance(amount, Fraction)]
    if len(finite) < len(amounts):
        raise CertificationError("The two ways of a release cannot be compared; please report it.")
    if pure:
        return Cost.pure(max(finite))
    rounded = isinstance(one.gauss, Exactly) and isinstance(other.gauss, Exactly)
    return Cost.gaussian(2 * max(finite)) if rounded else Cost.concentrated(max(finite))

"""Private answers behind a meter: every look at them is charged first, and the charges must be what was stated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from sfumato.errors import CertificationError
from sfumato.exact import Extended
from sfumato.noise import Noise, Priced
from sfumato.papers.query_release.weights.candidates import Candidates, Floats, Integers
from sfumato.perturb.additive import saturating_sum
from sfumato.privacy import Cost
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.workload.records import Records

GRID = 64
"""The model's side of a score is rounded to so many parts of a person, so that scores are exact integers."""

Charges = Mapping[Cost, int]
"""How often each cost is paid."""


class Chooser(Protocol):
    """A private choice of one or several candidates."""

    def cost(self) -> Cost:
        """Return what one choice costs a person."""
        ...

    def draw(self, scores: Integers, noise: Noise, allowed: Integers | None) -> tuple[int, ...]:
        """Draw candidates from exact scores in parts of a person; of the allowed ones, if a list is given."""
        ...


@lru_cache(maxsize=4096)
def noise_cost(law: Priced, moves: Sensitivity) -> Cost:
    """Return what noise of this law costs for numbers that move so far."""
    return law.cost(moves)


def covers(planned: Cost, actual: Cost) -> bool:
    """Tell whether what was planned is at least what a look costs, in epsilon and in rho."""
    if actual == planned:
        return True
    finite = actual.epsilon == planned.epsilon or actual.epsilon <= planned.epsilon
    return finite and actual.rho() <= planned.rho()


def total_cost(charges: Charges) -> Cost:
    """Return the sum of all charges."""
    amount = Cost.zero()
    for cost, count in charges.items():
        amount = amount + count * cost
    return amount


class Metered:
    """The only way from a round to the data: choose, measure, count; nothing else is handed out.

    `records` and the exact answers stay inside. With a `limit`, in epsilon or in rho, a look that would pass it is
    refused by `affords`, before it is taken: a filter, valid however the rounds were chosen (QR:C-5, PDP:C-9).
    """

    def __init__(
        self, candidates: Candidates, records: Records, noise: Noise, limit: Fraction | None = None, pure: bool = True
    ) -> None:
        self._candidates = candidates
        self._records = records
        self._answers = candidates.exact(records)
        self._noise = noise
        self._limit = limit
        self._pure = pure
        self._used: Extended = Fraction(0)
        self.charges: Counter[Cost] = Counter()

    def affords(self, *costs: Cost) -> bool:
        """Tell whether all of these looks stay within the limit."""
        return self._limit is None or self._used + sum(map(self._amount, costs), Fraction(0)) <= self._limit

    def choose(
        self, predicted: Floats, chooser: Chooser, bias: Integers | None = None, allowed: Integers | None = None
    ) -> tuple[int, ...]:
        """Choose candidates that the model gets wrong; `predicted` is what it expects, in persons times width."""
        self._charge(chooser.cost())
        public = np.rint(predicted * GRID).astype(np.int64)
        scores = self._candidates.scores(np.abs(self._answers * GRID - public))
        return chooser.draw(scores if bias is None else scores - bias, self._noise, allowed)

    def measure(
        self, chosen: tuple[int, ...], laws: tuple[Priced, ...], moves: Sensitivity, planned: Cost
    ) -> tuple[tuple[int, ...], ...]:
        """Return the exact numbers of some candidates plus noise, each of its own law; charged as planned, not less."""
        actual = total_cost(Counter(noise_cost(law, moves) for law in laws))
        if len(laws) != len(chosen) or not covers(planned, actual):
            raise CertificationError("A round would cost more than was planned for it; nothing was measured.")
        self._charge(planned)
        found = []
        for candidate, law in zip(chosen, laws, strict=True):
            exact = self._answers[self._candidates.slots(candidate)]
            found.append(tuple(saturating_sum(exact, self._noise.draw(law, exact.size)).tolist()))
        return tuple(found)

    def count(self, law: Priced, moves: Sensitivity) -> int:
        """Return the number of rows plus noise, at least 1."""
        self._charge(noise_cost(law, moves))
        return max(1, self._records.total + self._noise.draw(law))

    def histogram(self, columns: tuple[str, ...], law: Priced, moves: Sensitivity) -> Integers:
        """Return the counts of all cells plus noise."""
        self._charge(noise_cost(law, moves))
        table = self._records.table(columns)
        return saturating_sum(table.ravel(), self._noise.draw(law, table.size)).reshape(table.shape)

    def require(self, stated: Charges) -> None:
        """Refuse a run whose charges are not those of the plan; under a limit the plan is the limit itself."""
        if self._limit is None and dict(self.charges) != dict(stated):
            raise CertificationError(
                "The rounds of this run did not cost what was stated for them, so their result is withheld; please "
                "report it."
            )
        if self._limit is not None and self._used > self._limit:
            raise CertificationError("The rounds of this run passed their limit; the result is withheld.")

    def _amount(self, cost: Cost) -> Any:
        return cost.epsilon if self._pure else cost.rho()

    def _charge(self, cost: Cost) -> None:
        if not self.affords(cost):
            raise CertificationError("A round was not covered by its limit; nothing was looked at.")
        if self._limit is not None:
            self._used = self._used + self._amount(cost)
        self.charges[cost] += 1

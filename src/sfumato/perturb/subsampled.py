"""A mechanism run on a fresh secret sample of the people: less loss for the same noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from sfumato.errors import ParameterError, RelationMismatch
from sfumato.mechanism import Event, Mechanism
from sfumato.noise import Noise
from sfumato.privacy import REPLACE_ONE, Loss
from sfumato.privacy.sampled import subsample_loss
from sfumato.privacy.subsample import checked_rate


@dataclass(frozen=True, kw_only=True)
class Subsampled(Mechanism):
    """Runs a mechanism on `sample` of `population` people, drawn anew and uniformly for every run.

    Promise, for replace-one neighbours: whatever `mechanism` promises on the sample, amplified by the rate
    sample/population (TCDP-SUB for a person, PDP:C-18 for attributes). The sample is drawn through `noise`, never
    returned and never stored; whoever publishes it has no amplification.

    Input: one row of integers for each of the `population` people. With statistic "sum" the mechanism gets the
    exact sum of the sampled rows, with "records" the sampled rows themselves in random order, so that it may look
    at positions. Output: the mechanism's.

    Spec: TCDP-SUB, PDP:C-18. Time: O(population) to index, O(sample) to draw.

    >>> from sfumato.noise import DiscreteLaplace
    >>> from sfumato.perturb import AdditiveNoise
    >>> count = AdditiveNoise(law=DiscreteLaplace(1), sensitivity=1)
    >>> poll = Subsampled(mechanism=count, population=1000, sample=10)
    >>> round(float(poll.loss().person.epsilon), 6), isinstance(poll([1] * 1000, Noise(insecure_seed=1)), int)
    (0.017037, True)
    """

    spec: ClassVar[str] = "TCDP-SUB"

    mechanism: Mechanism
    population: int
    sample: int
    statistic: Literal["sum", "records"] = "sum"

    def __post_init__(self) -> None:
        checked_rate(self.population, self.sample)
        if not isinstance(self.mechanism, Mechanism):
            raise ParameterError(f"mechanism must be a mechanism, not {type(self.mechanism).__name__}.")
        if self.relation is not REPLACE_ONE or self.mechanism.relation is not REPLACE_ONE:
            raise RelationMismatch(
                "A sample of a public size is proved for replace-one neighbours; build the mechanism with "
                "relation=REPLACE_ONE."
            )
        if self.statistic not in ("sum", "records"):
            raise ParameterError(f"statistic must be 'sum' or 'records', and {self.statistic!r} is neither.")
        object.__setattr__(self, "reads", self.mechanism.reads)

    def loss(self) -> Loss:
        """Return the amplified loss of the mechanism."""
        return subsample_loss(self.mechanism.loss(), self.population, self.sample, "without_replacement")

    def event(self) -> Event:
        """Return the public record: the mechanism's own event, and the size of the sample."""
        parameters = {
            "mechanism": self.mechanism.event(),
            "population": self.population,
            "sample": self.sample,
            "statistic": self.statistic,
        }
        return Event(type(self).__name__, self.spec, parameters, self.version)

    def run(self, exact: Any, noise: Noise) -> Any:
        """Draw the sample, forget it, and run the mechanism on what it holds."""
        if len(exact) != self.population:
            # The number of people is public under replace-one neighbours.
            raise ParameterError(f"One row for each of {self.population} people is needed, not {len(exact)}.")
        chosen = noise.subset(self.population, self.sample)
        if self.statistic == "records":
            # Sorted positions would let a mechanism see where a replaced record sits.
            return self.mechanism.run([exact[chosen[at]] for at in noise.permutation(self.sample)], noise)
        rows = np.empty(self.sample, dtype=object)
        rows[:] = [_integers(exact[index]) for index in chosen]
        return self.mechanism.run(rows.sum(), noise)


def _integers(row: Any) -> Any:
    """Return a row as Python integers, whose sum cannot overflow."""
    return int(row) if np.ndim(row) == 0 else np.asarray(row, dtype=object)

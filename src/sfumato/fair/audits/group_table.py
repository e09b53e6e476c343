"""The private table of group by segment by outcome, and what its noise leaves sure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.exact import positive_integer
from sfumato.fair.grid import Floats
from sfumato.mechanism import Mechanism
from sfumato.noise import Noise, Priced
from sfumato.perturb import AdditiveNoise, calibrate
from sfumato.privacy import REPLACE_ONE, Bound, Loss, Relation
from sfumato.privacy.sensitivity import Sensitivity, sensitivity

SUM_TOLERANCE = 1e-6


@dataclass(frozen=True, kw_only=True)
class GroupTable(Mechanism):
    """Counts of people by group, declared segment and outcome, each with independent noise.

    Input: who is inside the group, everybody's segment as a number, and everybody's distribution over the outcomes. A
    distribution counts in whole steps that add up to `steps`; a row that is no distribution counts as the first
    outcome, a segment that does not exist as the last one. Output: integers of the shape 2 × segments × outcomes, those
    outside the group first, in steps.

    Promise: one person adds a vector of l1 norm `steps`, so the table moves by as much if a person is added or removed
    and by twice as much if one is replaced. Spec: FA-AUDIT, QR-LAP.
    """

    spec: ClassVar[str] = "FA-AUDIT"

    law: Priced
    outcomes: int
    segments: int = 1
    steps: int = 1

    @cached_property
    def additive(self) -> AdditiveNoise:
        """Return the noise of one cell with the table's sensitivity."""
        moves = table_sensitivity(self.outcomes, self.steps, self.relation)
        return AdditiveNoise(law=self.law, sensitivity=moves, relation=self.relation, reads=self.reads)

    def run(self, exact: Any, noise: Noise) -> NDArray[np.int64]:
        """Count, and add one independent draw to each cell."""
        inside, codes, rows = exact
        where = np.where((codes >= 0) & (codes < self.segments), codes, self.segments - 1)
        counts = np.zeros((2, self.segments, self.outcomes), dtype=np.int64)
        np.add.at(counts, (np.asarray(inside, dtype=np.int64), where), in_steps(rows, self.steps))
        return np.asarray(self.additive.run(counts, noise), dtype=np.int64)

    def loss(self) -> Loss:
        """Return the noise's loss at the table's sensitivity."""
        return self.additive.loss()


def table_sensitivity(outcomes: int, steps: int, relation: Relation) -> Sensitivity:
    """Return how far one person moves the table.

    >>> table_sensitivity(2, 1, REPLACE_ONE).l1
    Fraction(2, 1)
    """
    people = 2 if relation is REPLACE_ONE else 1
    # A distribution of l1 norm s has squares adding up to s² at most; the two of a replaced person may share a cell
    # only with opposite signs, so no cell moves by more than s.
    changed = people if steps == 1 else people * outcomes
    return sensitivity(l1=people * steps, l2_squared=people * steps**2, largest=steps, changed=changed)


def group_table(
    spend: Bound, outcomes: int, *, segments: int = 1, steps: int = 1, relation: Relation = REPLACE_ONE
) -> GroupTable:
    """Return the table with the least noise that fits a spend.

    >>> from sfumato.privacy import Pure
    >>> group_table(Pure(1), 2).law
    DiscreteLaplace(scale=Fraction(2, 1))
    """
    positive_integer(steps, "steps")
    moves = table_sensitivity(outcomes, steps, relation)
    law = calibrate(spend, moves, relation=relation).law
    return GroupTable(law=law, outcomes=outcomes, segments=segments, steps=steps, relation=relation)


def in_steps(rows: Floats, steps: int) -> NDArray[np.int64]:
    """Return distributions in whole steps that add up exactly; a row that is none becomes the first outcome.

    >>> in_steps(np.array([[0.5, 0.5], [np.nan, 1.0], [0.3, 0.7]]), 3).tolist()
    [[2, 1], [3, 0], [1, 2]]
    """
    first = np.eye(rows.shape[1])[0]
    with np.errstate(invalid="ignore"):
        proper = (rows >= 0).all(axis=1) & (np.abs(rows.sum(axis=1) - 1) <= SUM_TOLERANCE)
    kept = np.where(proper[:, None], rows, first)
    reached = np.minimum(np.floor(np.cumsum(kept, axis=1) * steps + 0.5), steps)
    reached[:, -1] = steps
    return np.diff(reached, axis=1, prepend=0.0).astype(np.int64)


class Share(NamedTuple):
    """A share, and between what it surely lies."""

    value: Any
    low: Any
    high: Any


class Released:
    """A released table in people; `error` bounds the noise of all of its cells at once."""

    def __init__(self, noisy: NDArray[np.int64], mechanism: GroupTable, confidence: float) -> None:
        self.counts: Floats = noisy[::-1] / mechanism.steps
        """Noisy counts, the group first."""
        self.error = mechanism.additive.error(confidence, noisy.size) / mechanism.steps

    def shares(self, segment: int, *, inside: bool = True) -> Share:
        """Return the shares of all outcomes in a group's part of a segment."""
        here = self.counts[0 if inside else 1, segment]
        return self._of(here, here.sum() - here, 1, len(here) - 1)

    def rate(self, segment: int, outcome: int) -> Share:
        """Return the share of an outcome among all in a segment."""
        here = self.counts[:, segment]
        good = float(here[:, outcome].sum())
        return self._of(good, float(here.sum()) - good, 2, here.size - 2)

    def membership(self, segment: int) -> Share:
        """Return the group's share of the people in a segment."""
        here = self.counts[:, segment].sum(axis=1)
        return self._of(float(here[0]), float(here[1]), self.counts.shape[2], self.counts.shape[2])

    def _of(self, part: Any, rest: Any, cells: int, other_cells: int) -> Share:
        """Return part / (part + rest), which lies furthest off when all the noise of both conspires."""
        one, two = cells * self.error, other_cells * self.error
        return Share(_ratio(part, rest), _ratio(part - one, rest + two), _ratio(part + one, rest - two, 1.0))


def _ratio(part: Any, rest: Any, empty: float = 0.0) -> Any:
    """Return the share of a noisy count; counts below zero are none, and of nobody the share is as given."""
    above, below = np.maximum(part, 0.0), np.maximum(rest, 0.0)
    total = above + below
    share = np.where(total > 0, above / np.where(total > 0, total, 1.0), empty)
    return share if share.ndim else float(share)

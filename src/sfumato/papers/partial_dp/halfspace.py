"""Halfspaces over yes-or-no features that tolerate flipped features, private for every single feature."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.learn.cells import Codes
from sfumato.learn.facts import Sample
from sfumato.learn.rules import Rule
from sfumato.mechanism import Event, Mechanism
from sfumato.noise import Noise
from sfumato.papers.partial_dp.halfspace_classes import Candidates, Weights
from sfumato.privacy import Cost, Loss
from sfumato.privacy.coins import COIN, loss_of
from sfumato.privacy.combined import Minimum, add
from sfumato.privacy.profile import ByCount, Flat, Profile

NEVER = 1 << 40
"""The distance of a point whose label no flips can change."""
ENTRIES = 4_000_000
"""How many distances are held at once."""


@dataclass(frozen=True, kw_only=True)
class HalfspaceRule(Rule):
    """Holds where weights·x + offset >= 0; a feature counts +1 from its cut on, and -1 below."""

    kind: ClassVar[str] = "halfspace"
    weights: tuple[int, ...]
    offset: int
    cuts: tuple[int, ...]

    def holds(self, codes: Codes) -> NDArray[np.bool_]:
        """Add up the signs."""
        total = signs(codes, self.cuts) @ np.array(self.weights, dtype=np.int64) + self.offset
        return np.asarray(total >= 0, dtype=bool)

    def says(self) -> str:
        """Write the sum out, without the features that do not count."""
        used = [(weight, name) for weight, name in zip(self.weights, self.features, strict=True) if weight]
        parts = [f"{weight:+d}·{name}" if abs(weight) != 1 else f"{'+-'[weight < 0]}{name}" for weight, name in used]
        return f"{' '.join(parts) or '0'} >= {-self.offset} (yes counts +1, no counts -1)"


def signs(codes: Codes, cuts: tuple[int, ...]) -> Weights:
    """Return +1 for every code from its feature's cut on, -1 for the others."""
    reached = np.stack([np.asarray(codes[:, place] >= cut, dtype=bool) for place, cut in enumerate(cuts)], axis=1)
    return np.where(reached, 1, -1).astype(np.int64)


def distances(points: Weights, candidates: Candidates, first: int, last: int) -> tuple[Weights, Weights]:
    """Return how many features must flip before each of some halfspaces says no, and before it says yes.

    0 where it does already; NEVER where no flips suffice. One flipped feature moves each by at most one. Whole numbers
    throughout: with rounded weights it could move by two (PDP-ROBERM).
    """
    weights, offsets = candidates.weights[first:last], candidates.offsets[first:last]
    sums = (points.astype(np.float64) @ weights.T.astype(np.float64)).astype(np.int64) + offsets
    reach = np.abs(weights).sum(axis=1)
    if candidates.plain:
        to_no, to_yes = np.maximum(0, sums // 2 + 1), np.maximum(0, -(sums // 2))
    else:
        to_no, to_yes = _counted(points, weights, sums)
    to_no[:, offsets - reach >= 0] = NEVER
    to_yes[:, offsets + reach < 0] = NEVER
    return to_no, to_yes


def _counted(points: Weights, weights: Weights, sums: Weights) -> tuple[Weights, Weights]:
    """Flip the largest contributions first, and count: for no until the sum is below 0, for yes until it is not."""
    to_no, to_yes = np.zeros_like(sums), np.zeros_like(sums)
    for place, row in enumerate(weights):
        used = np.flatnonzero(row)
        order = used[np.argsort(-np.abs(row[used]), kind="stable")]
        given = points[:, order] * row[order]
        left, right = sums[:, place].copy(), sums[:, place].copy()
        for column in range(len(order)):
            ahead, behind = (left >= 0) & (given[:, column] > 0), (right < 0) & (given[:, column] < 0)
            to_no[:, place] += ahead
            to_yes[:, place] += behind
            left -= 2 * np.where(ahead, given[:, column], 0)
            right -= 2 * np.where(behind, given[:, column], 0)
    return to_no, to_yes


@dataclass(frozen=True, kw_only=True)
class HalfspaceChoice(Mechanism):
    """Choose the halfspace that is right with room to spare, from a public list.

    A person costs a halfspace clip(outer - D, 0, outer - inner), D being the number of features that must flip before
    it is wrong about them. With `weight`, labels first pass randomized response, and costs are debiased: `own` times
    the cost under the label that came out, less `other` times the cost under the opposite one. The draw has weights
    exp(-rate·cost).

    Promise, replace-one, one row a person. With s = own if inner >= 1, else own + other: one flipped feature moves a
    cost by at most s (the cost under the wrong label is constant unless the side changes, and then both are), any
    number of them by at most (own + other)·(outer - inner). So c features cost 2·rate·min(c·s, that range); the label
    costs log(1 + 2·(1-c)/c), c = weight/2^63, because the choice sees labels only through their response (PDP-ROBERM).
    Without `weight` the label, and the person, cost 2·rate·own·(outer - inner).

    Value: the place of the halfspace in the list. Time: halfspaces times distinct rows times features.
    """

    spec: ClassVar[str] = "PDP-ROBERM"

    candidates: Candidates
    cuts: tuple[int, ...]
    inner: int
    outer: int
    rate: Fraction
    weight: int | None
    own: int = 1
    other: int = 0
    features: tuple[str, ...]
    target: str

    @property
    def step(self) -> int:
        """How far one flipped feature moves a cost."""
        return self.own if self.inner >= 1 else self.own + self.other

    @property
    def range(self) -> int:
        """How far one person moves a cost."""
        return (self.own + self.other) * (self.outer - self.inner)

    def loss(self) -> Loss:
        """Return what c features cost, and what the label costs."""
        most = min(len(self.features), -(-self.range // self.step))
        costs = [Cost.range_bounded(2 * self.rate * min(c * self.step, self.range)) for c in range(1, most + 1)]
        label = self._label_cost()
        flips: Profile = ByCount(tuple(costs), frozenset(self.features))
        both = add(((1, flips), (1, Flat(label, frozenset({self.target})))))
        if self.weight is None:
            everybody = Flat(Cost.range_bounded(2 * self.rate * self.range), frozenset({*self.features, self.target}))
            both = Minimum((everybody, both))
        return Loss(both, self.relation)

    def _label_cost(self) -> Cost:
        if self.weight is None:
            return Cost.range_bounded(2 * self.rate * self.range)
        return Cost.pure(loss_of(self.weight, 2))

    def event(self) -> Event:
        """Return the public numbers; the list of halfspaces by its digest."""
        parameters = {
            "candidates": {
                "name": self.candidates.name,
                "count": len(self.candidates),
                "digest": self.candidates.digest,
            },
            **{name: getattr(self, name) for name in ("cuts", "inner", "outer", "rate", "weight", "own", "other")},
            "features": self.features,
            "target": self.target,
            "relation": self.relation,
        }
        return Event(type(self).__name__, self.spec, parameters, self.version)

    def run(self, exact: Sample, noise: Noise) -> int:
        """Let labels respond, add up the costs of all halfspaces, and choose."""
        points, ones, zeros = self.responded(exact, noise)
        return noise.choose(-self.costs(points, ones, zeros), self.rate)

    def responded(self, exact: Sample, noise: Noise) -> tuple[Weights, Weights, Weights]:
        """Return the distinct rows of signs, and how many people of each say yes and no after the response."""
        points = signs(exact.codes, self.cuts)
        turned = np.zeros(len(points), dtype=np.int64)
        if self.weight is not None:
            flip = Fraction(self.weight, 2 * COIN)
            drawn = [sum(noise.bernoulli(flip) for _ in range(count)) for count in exact.counts.tolist()]
            turned = np.array(drawn, dtype=np.int64).reshape(len(points))
        yes = np.where(exact.labels == 1, exact.counts - turned, turned)
        rows, where = np.unique(points, axis=0, return_inverse=True)
        ones, total = np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
        np.add.at(ones, where.ravel(), yes)
        np.add.at(total, where.ravel(), exact.counts)
        return rows, ones, total - ones

    def costs(self, points: Weights, ones: Weights, zeros: Weights) -> Weights:
        """Return the cost of every halfspace, some of them at a time."""
        chunk = max(1, ENTRIES // max(1, len(points)))
        found = []
        for first in range(0, len(self.candidates), chunk):
            to_no, to_yes = distances(points, self.candidates, first, first + chunk)
            # A person who says yes is lost when the halfspace says no, and the other way round.
            yes, no = (np.clip(self.outer - far, 0, self.outer - self.inner) for far in (to_no, to_yes))
            own, other = ones @ yes + zeros @ no, ones @ no + zeros @ yes
            found.append(self.own * own - self.other * other)
        return np.concatenate(found)


def chosen(candidates: Candidates, value: Any) -> tuple[tuple[int, ...], int]:
    """Return the weights and the offset of a halfspace of the list."""
    place = int(value)
    return tuple(map(int, candidates.weights[place].tolist())), int(candidates.offsets[place])

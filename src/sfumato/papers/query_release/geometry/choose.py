"""Which shape of noise is best for a workload, with what no mechanism can beat beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.bounds.volume import VolumeFloor, volume_floor
from sfumato.errors import NotProvable, ParameterError
from sfumato.papers.query_release.geometry.build import METHODS, Setup, recursive, settled, setup_for
from sfumato.papers.query_release.geometry.cut import Cut
from sfumato.papers.query_release.geometry.recursive import RecursiveNoise
from sfumato.papers.query_release.geometry.shaped import Predicted, ShapedNoise
from sfumato.privacy import REPLACE_ONE, Bound, Everything, Pure, Relation

COMPARED = ("knorm", "laplace", "scaled-laplace", "box", "ellipsoid")
SIMULATED = 2000
SIMULATED_SLOWLY = 300
MOST_REJECTION_RANK = 12


@dataclass(frozen=True)
class Contender:
    """One shape of noise and the error it will have."""

    method: str
    mechanism: ShapedNoise | RecursiveNoise
    predicted: Predicted


@dataclass(frozen=True)
class Choice:
    """Shapes of noise compared by the root mean square of their error; the best first.

    `floor` bounds from below the mean error of every mechanism with this epsilon, at its worst table.
    """

    candidates: tuple[Contender, ...]
    refused: tuple[tuple[str, str], ...]
    floor: VolumeFloor

    @property
    def best(self) -> Contender:
        """The candidate with the least predicted error."""
        return self.candidates[0]

    @property
    def mechanism(self) -> ShapedNoise | RecursiveNoise:
        """The best mechanism, ready to run on exact answers."""
        return self.best.mechanism

    @property
    def ratio(self) -> float | None:
        """How many times the floor the best candidate's error is; None where no floor is known."""
        return self.best.predicted.mean / self.floor.value if self.floor.value else None

    def predicted(self, method: str) -> Predicted:
        """Return the predicted error of one method."""
        found = {candidate.method: candidate.predicted for candidate in self.candidates}
        if method not in found:
            raise ParameterError(f"{method!r} was not compared; these were: {', '.join(found)}.")
        return found[method]

    def __str__(self) -> str:
        lines = [
            f"{candidate.method:<16} mean error {candidate.predicted.mean:10.4g}   rms {candidate.predicted.rms:10.4g}"
            for candidate in self.candidates
        ]
        if self.ratio is None:
            return "\n".join([*lines, "No floor is known: with an epsilon this large, noise may round to nothing."])
        lines.append(f"{'floor':<16} mean error {self.floor.value:10.4g}   ({self.floor.binding})")
        lines.append(f"Your error is within {self.ratio:.1f} of the best any pure mechanism can do.")
        return "\n".join(lines)


def choose_additive(
    workload: Any,
    spend: Bound,
    *,
    relation: Relation = REPLACE_ONE,
    people: int | None = None,
    reads: Iterable[str] | str | Everything | None = None,
) -> Choice:
    """Return all shapes of noise for a workload by predicted error: choosing is free, it looks at public facts only.

    Takes a `Workload` or a matrix of whole numbers, one row a query. Time: seconds for up to 8 queries.

    >>> from sfumato.privacy import ADD_REMOVE, Pure
    >>> choice = choose_additive([[1, 1, -1, -1], [1, -1, 1, -1]], Pure("1/10"), relation=ADD_REMOVE)
    >>> choice.best.method, choice.predicted("laplace").mean > 1.3 * choice.best.predicted.mean
    ('knorm', True)
    """
    setup = setup_for(workload, spend, relation, people, reads)
    found: list[Contender] = []
    refused: list[tuple[str, str]] = []
    for method in (*COMPARED, "recursive"):
        try:
            found.append(_candidate(method, setup, spend))
        except NotProvable as reason:
            refused.append((method, str(reason)))
    # Equal shapes differ by rounding only; then the first of the list is taken.
    order = sorted(found, key=lambda candidate: float(f"{candidate.predicted.rms:.3g}"))
    floor = volume_floor(np.array(setup.generators, dtype=np.float64), setup.epsilon)
    return Choice(tuple(order), tuple(refused), floor)


def floor_under(mechanism: ShapedNoise | RecursiveNoise, spend: Bound) -> VolumeFloor:
    """Return what no pure mechanism with this spend can beat on the workload of a mechanism."""
    first = mechanism.levels[0] if isinstance(mechanism, RecursiveNoise) else mechanism
    assert isinstance(spend, Pure)  # nothing else makes shaped noise
    return volume_floor(np.array(first.generators, dtype=np.float64), spend.epsilon)


def _candidate(method: str, setup: Setup, spend: Bound) -> Contender:
    made = recursive(setup) if method == "recursive" else METHODS[method](setup)
    levels = made.levels if isinstance(made, RecursiveNoise) else (made,)
    if method == "recursive" and len(levels) == 1:
        raise NotProvable("One level is best for this body, and that is the K-norm mechanism itself.", {"levels": 1})
    slow = any(isinstance(level.body, Cut) for level in levels)
    if any(isinstance(level.body, Cut) and level.body.rank > MOST_REJECTION_RANK for level in levels):
        raise NotProvable(
            f"Rejection would hardly ever keep a point beyond {MOST_REJECTION_RANK} directions.",
            {"most": MOST_REJECTION_RANK},
        )
    return Contender(method, settled(made, spend), made.predict(SIMULATED_SLOWLY if slow else SIMULATED))

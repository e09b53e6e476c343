"""Make shaped noise for a workload and a spend, by a named method."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.errors import CertificationError, NotProvable, ParameterError, UnsupportedSpend
from sfumato.papers.query_release.geometry import design
from sfumato.papers.query_release.geometry.bodies import Body, Diamond
from sfumato.papers.query_release.geometry.fan import Fan
from sfumato.papers.query_release.geometry.generators import Vectors, body_generators, matrix_of
from sfumato.papers.query_release.geometry.lattice import Lattice
from sfumato.papers.query_release.geometry.moments import level_costs, principal_frame
from sfumato.papers.query_release.geometry.recursive import RecursiveNoise, allocate, best_path, halves, rounded_frame
from sfumato.papers.query_release.geometry.shaped import ShapedNoise, public_origin
from sfumato.privacy import (
    ADD_REMOVE,
    EVERYTHING,
    REPLACE_ONE,
    Attributes,
    Bound,
    Everything,
    Pure,
    Relation,
    attributes,
)
from sfumato.privacy.bounds import require_bound
from sfumato.words import one_of

Shapes = ShapedNoise | RecursiveNoise


@dataclass(frozen=True)
class Setup:
    """The public facts from which every method starts."""

    generators: Vectors
    column: tuple[int, ...]
    epsilon: Fraction
    relation: Relation
    reads: Attributes
    people: int | None

    def noise(self, lattice: Lattice, body: Body) -> ShapedNoise:
        """Return shaped noise on a lattice."""
        return ShapedNoise(
            rate=self.epsilon,
            lattice=lattice,
            body=body,
            generators=self.generators,
            origin=public_origin(self.column, self.people, lattice),
            relation=self.relation,
            reads=self.reads,
        )

    def projected(self, rows: Vectors, epsilon: Fraction) -> Setup:
        """Return the facts of a projection of the answers, by whole numbers."""
        matrix = np.array(rows, dtype=object)
        moved = [tuple(map(int, matrix @ np.array(vector, dtype=object))) for vector in self.generators]
        column = tuple(map(int, matrix @ np.array(self.column, dtype=object)))
        kept = tuple(sorted({vector for vector in moved if any(vector)}))
        return replace(self, generators=kept, column=column, epsilon=epsilon)


def _linear(setup: Setup) -> ShapedNoise:
    """As many generators as directions: noise is a workload of independent Laplace numbers."""
    lattice = Lattice.generated(setup.generators)
    if lattice.rank != len(setup.generators):
        raise ParameterError(
            f"The linear method needs as many generators as directions, and there are {len(setup.generators)} for "
            f"{lattice.rank}; write method='simplex'."
        )
    return setup.noise(Lattice(setup.generators), Diamond((Fraction(1),) * lattice.rank))


def _reduced(setup: Setup) -> tuple[Lattice, Vectors]:
    """Return the lattice of the generators in a basis in which their body is round, and their coordinates."""
    vectors = np.array(setup.generators, dtype=np.float64)
    metric = np.linalg.pinv(_root(vectors.T @ vectors / len(vectors)))
    lattice = Lattice.generated(setup.generators, metric)
    return lattice, lattice.points(setup.generators)


def _root(matrix: Any) -> Any:
    values, turns = np.linalg.eigh(matrix)
    return (turns * np.sqrt(np.maximum(values, 0))) @ turns.T


def _simplex(setup: Setup) -> ShapedNoise:
    lattice, points = _reduced(setup)
    fan = Fan(points)
    assert fan.cells.unit > 0
    return setup.noise(lattice, fan)


def _rejection(setup: Setup) -> ShapedNoise:
    lattice, points = _reduced(setup)
    if lattice.rank == 1:
        return setup.noise(lattice, Diamond((Fraction(max(abs(point[0]) for point in points)),)))
    return setup.noise(lattice, design.slabs_around(points))


def _laplace(setup: Setup) -> ShapedNoise:
    return setup.noise(Lattice.whole(len(setup.column)), design.laplace_diamond(setup.generators))


def _scaled(setup: Setup) -> ShapedNoise:
    return setup.noise(Lattice.whole(len(setup.column)), design.scaled_diamond(setup.generators))


def _box(setup: Setup) -> ShapedNoise:
    return setup.noise(Lattice.whole(len(setup.column)), design.box_around(setup.generators))


def _ellipsoid(setup: Setup) -> ShapedNoise:
    lattice = Lattice.generated(setup.generators)
    if lattice.rank == lattice.dimension:
        whole = Lattice.whole(lattice.dimension)
        return setup.noise(whole, design.ellipsoid_around(setup.generators, whole.matrix))
    lattice, points = _reduced(setup)
    return setup.noise(lattice, design.ellipsoid_around(points, lattice.matrix))


def _knorm(setup: Setup) -> ShapedNoise:
    """The body of the generators itself, by the first exact method that can."""
    for method in (_linear, _simplex):
        try:
            return method(setup)
        except (ParameterError, NotProvable):
            continue
    return _rejection(setup)


METHODS: dict[str, Callable[[Setup], ShapedNoise]] = {
    "laplace": _laplace,
    "scaled-laplace": _scaled,
    "box": _box,
    "ellipsoid": _ellipsoid,
    "knorm": _knorm,
    "linear": _linear,
    "simplex": _simplex,
    "rejection": _rejection,
}


def recursive(setup: Setup, allocation: str = "optimal", split: str = "best") -> RecursiveNoise:
    """Return the recursive mechanism: directions split in halves, or where it pays best."""
    if split not in ("half", "best"):
        raise ParameterError(f"split must be 'half' or 'best', not {split!r}.")
    vectors = np.array(setup.generators, dtype=np.float64)
    frame = principal_frame(vectors)
    rank = frame.shape[1]
    costs = level_costs(vectors, frame)
    sizes = halves(rank) if split == "half" else best_path(costs, rank)
    parts = allocate(
        setup.epsilon, [costs[size, rest] for size, rest in zip(sizes, [*sizes[1:], 0], strict=True)], allocation
    )
    rows = rounded_frame(frame)
    projections = tuple(rows[:size] for size in sizes[1:])
    levels = [_knorm(replace(setup, epsilon=parts[0]))]
    levels += [_knorm(setup.projected(kept, part)) for kept, part in zip(projections, parts[1:], strict=True)]
    return RecursiveNoise(levels=tuple(levels), projections=projections, relation=setup.relation, reads=levels[0].reads)


def setup_for(
    workload: Any, spend: Bound, relation: Relation, people: int | None, reads: Iterable[str] | str | Everything | None
) -> Setup:
    """Return the public facts of a workload: its generators, one column, and what it reads."""
    bound = require_bound(spend)
    if not isinstance(bound, Pure) or bound.unit != "person":
        raise UnsupportedSpend(
            "Noise shaped to a workload is calibrated to Pure(epsilon) for whole persons; write Pure(1), or use "
            "curator.answer, whose Gaussian noise takes other spends."
        )
    if relation not in (REPLACE_ONE, ADD_REMOVE):
        raise ParameterError("relation must be REPLACE_ONE or ADD_REMOVE.")
    matrix = matrix_of(workload)
    if reads is None:
        reads = _reads(workload)
    column = (0,) * len(matrix) if relation is ADD_REMOVE else tuple(matrix[:, 0].tolist())
    generators = body_generators(matrix, relation)
    return Setup(generators, column, bound.epsilon, relation, attributes(reads), people)


def _reads(workload: Any) -> frozenset[str] | Everything:
    if not hasattr(workload, "blocks"):
        return EVERYTHING
    names = [name for block in workload.blocks for name in block.columns]
    found: frozenset[str] = workload.space.reads(names)
    return found


def shaped(
    workload: Any,
    spend: Bound,
    *,
    relation: Relation = REPLACE_ONE,
    method: str = "knorm",
    people: int | None = None,
    reads: Iterable[str] | str | Everything | None = None,
    allocation: str = "optimal",
    split: str = "best",
) -> Shapes:
    """Return noise for the answers of a workload, a matrix of whole numbers or a `Workload`, by one method.

    Engines: "knorm" (the first that can of "linear", "simplex" and "rejection"), "laplace", "scaled-laplace", "box",
    "ellipsoid", "recursive" (with `allocation` and `split`). All are exact. Under REPLACE_ONE `people` is the public
    number of people; it is needed where some combination of the queries depends on it alone.

    >>> from sfumato.noise import Noise
    >>> pair = shaped([[1, 1, 0], [0, 1, 1]], Pure(1), relation=ADD_REMOVE)
    >>> pair(np.array([30, 50]), Noise(insecure_seed=4)).shape, pair.loss().person.epsilon
    ((2,), Fraction(1, 1))
    """
    setup = setup_for(workload, spend, relation, people, reads)
    one_of("method", method, (*METHODS, "recursive"))
    made: Shapes = recursive(setup, allocation, split) if method == "recursive" else METHODS[method](setup)
    return settled(made, spend)


def settled(made: Shapes, spend: Bound) -> Shapes:
    """Return the mechanism if its loss, computed anew, is within the spend."""
    if not made.loss().within(spend):
        raise CertificationError("The noise costs more than the spend, so it is withheld.")
    return made

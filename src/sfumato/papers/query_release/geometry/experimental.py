"""K-norm noise by a random walk: for bodies that no exact method can sample. Nothing here is provable (QR-KWALK).

The number of steps after which a walk has forgotten where it started is known as a polynomial only, not as a number.
So what is drawn here has a *declared* distance from the ideal law, not a proved one, and no ledger takes it: `loss`
raises `NotProvable`. `declared_loss` shows what would hold if the declaration were true.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotProvable, ParameterError
from sfumato.exact import Number, between_zero_and_one, enclose_up, rational_ball
from sfumato.mechanism import Mechanism
from sfumato.noise import Noise
from sfumato.papers.query_release.geometry.build import setup_for
from sfumato.papers.query_release.geometry.generators import Vectors
from sfumato.papers.query_release.geometry.hull import MOST_RANK
from sfumato.papers.query_release.geometry.moments import span_frame
from sfumato.privacy import REPLACE_ONE, Bound, Cost, Loss, Relation

Floats = NDArray[np.float64]

STEPS = 200
_BITS = 2**53


@dataclass(frozen=True, kw_only=True)
class WalkNoise(Mechanism):
    """Answers plus r·z: r from Gamma(rank + 1, 1/rate), z near the end of a hit-and-run walk in the generators' hull.

    Not a promise. If the walk ends within total variation `declared` of uniform, the release is
    (rate, (1 + e^rate)·declared)-private (QR:C-12). Floats take part, the mixing is not proved, and `loss` therefore
    refuses. The radius is secret: it is drawn and forgotten inside.
    """

    spec: ClassVar[str] = "QR-KWALK"

    rate: Fraction
    generators: Vectors
    declared: Fraction
    steps: int = STEPS

    def loss(self) -> Loss:
        """Refuse: nothing is proved about this noise, so nothing can be booked."""
        raise NotProvable(
            "The mixing of a random walk is declared here, not proved, so no ledger can book it; use "
            "geometry.shaped with method='box' or 'ellipsoid', which are exact in any dimension.",
            {"declared": float(self.declared), "steps": self.steps},
        )

    def declared_loss(self) -> Loss:
        """Return what would hold if the declared distance were true."""
        leak = enclose_up(lambda: (1 + rational_ball(self.rate).exp()) * rational_ball(self.declared), 64)
        assert leak is not None
        return Loss.flat(Cost.approximate(self.rate, leak), self.reads, self.relation)

    def run(self, exact: Any, noise: Noise) -> Any:
        """Walk, stretch by a secret radius, and add."""
        vectors = np.array(self.generators, dtype=np.float64)
        frame = span_frame(vectors)
        point = walk(vectors @ frame, self.steps, noise)
        radius = sum(-math.log(_fraction(noise)) for _ in range(frame.shape[1] + 1)) / float(self.rate)
        return np.asarray(exact, dtype=np.float64) + frame @ (radius * point)


def walk(vectors: Floats, steps: int, noise: Noise) -> Floats:
    """Return a point of conv{±vectors} after so many steps of hit-and-run, in coordinates in which it is round."""
    rank = vectors.shape[1]
    spread = np.linalg.cholesky(vectors.T @ vectors / len(vectors))
    rounded = np.linalg.solve(spread, vectors.T).T
    reach = _by_facets(rounded) if 2 <= rank <= MOST_RANK else partial(_by_program, rounded)
    point = np.zeros(rank)
    for _ in range(steps):
        direction = np.array([_normal(noise) for _ in range(rank)])
        ahead, behind = reach(point, direction), reach(point, -direction)
        point = point + (ahead - (ahead + behind) * _fraction(noise)) * direction
    return np.asarray(spread @ point)


def walk_noise(
    workload: Any,
    spend: Bound,
    *,
    allow_unproven_mixing: bool = False,
    declared: Number = "1e-6",
    relation: Relation = REPLACE_ONE,
    steps: int = STEPS,
) -> WalkNoise:
    """Return K-norm noise by a random walk, for experiments; it must be asked for by name.

    A proof of concept: up to 7 directions a draw takes about 0.1 s, and `geometry.shaped` is exact there. Beyond,
    each step solves two linear programs, and a draw takes seconds.

    >>> from sfumato.privacy import ADD_REMOVE, Pure
    >>> noisy = walk_noise([[1, 1], [1, -1]], Pure(1), allow_unproven_mixing=True, relation=ADD_REMOVE, steps=5)
    >>> noisy(np.array([3, 4]), Noise(insecure_seed=1)).shape, noisy.declared_loss().person.epsilon
    ((2,), Fraction(1, 1))
    """
    if not allow_unproven_mixing:
        raise NotProvable(
            "A random walk has no proved privacy; use geometry.shaped, or write allow_unproven_mixing=True for an "
            "experiment on data that need no protection.",
            {"steps": steps},
        )
    if steps < 1:
        raise ParameterError("steps must be at least 1; a walk of no steps adds no noise.")
    setup = setup_for(workload, spend, relation, None, None)
    share = between_zero_and_one(declared, "declared")
    return WalkNoise(
        rate=setup.epsilon, generators=setup.generators, declared=share, steps=steps, relation=relation,
        reads=setup.reads,
    )  # fmt: skip


def _by_facets(vectors: Floats) -> Callable[[Floats, Floats], float]:
    """Return what gives the largest t with point + t·direction in conv{±vectors}, from the facets, found once."""
    from scipy.spatial import ConvexHull

    faces = ConvexHull(np.concatenate([vectors, -vectors])).equations
    normals, offsets = faces[:, :-1], -faces[:, -1]

    def reach(point: Floats, direction: Floats) -> float:
        towards = normals @ direction
        facing = towards > 0
        room = np.maximum(offsets[facing] - normals[facing] @ point, 0)
        return float((room / towards[facing]).min())

    return reach


def _by_program(vectors: Floats, point: Floats, direction: Floats) -> float:
    """Return the same by a linear program, for bodies with too many facets to list, and for lines."""
    from scipy.optimize import linprog

    count, rank = vectors.shape
    equalities = np.hstack([vectors.T, -vectors.T, -direction[:, None]])
    total = np.concatenate([np.ones(2 * count), [0.0]])[None]
    goal = np.concatenate([np.zeros(2 * count), [-1.0]])
    solved = linprog(goal, A_ub=total, b_ub=[1.0], A_eq=equalities, b_eq=point[:rank], bounds=(0, None))
    return float(solved.x[-1]) if solved.status == 0 else 0.0


def _fraction(noise: Noise) -> float:
    return (noise.uniform(_BITS) + 0.5) / _BITS


def _normal(noise: Noise) -> float:
    return math.sqrt(-2 * math.log(_fraction(noise))) * math.cos(2 * math.pi * _fraction(noise))

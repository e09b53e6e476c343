"""The mechanism: exact integer answers plus noise whose shape is that of what one person can change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.mechanism import NOTHING, Event, Mechanism
from sfumato.noise import Noise
from sfumato.papers.query_release.geometry.bodies import Body
from sfumato.papers.query_release.geometry.generators import Vectors
from sfumato.papers.query_release.geometry.lattice import Lattice
from sfumato.perturb.additive import HIGHEST, LOWEST
from sfumato.privacy import Cost, Loss, attributes


@dataclass(frozen=True)
class Predicted:
    """The error to expect, the length of the noise vector: its mean and its root mean square."""

    mean: float
    rms: float


@dataclass(frozen=True, kw_only=True)
class ShapedNoise(Mechanism):
    """Answers plus a lattice point z, drawn with probability proportional to exp(-rate · |z|_C).

    Promise, for neighbours under `relation`, whose answers differ by one of the `generators` or its negative:
    log P(o)/P'(o) <= rate · s for every output o, where s is the largest norm |g|_C of a generator. Integer answers
    shift the lattice onto itself, so the normaliser is the same for all tables and there is no factor 2. The
    containment of every generator is recomputed in exact arithmetic by `loss`. Spec: QR-KNORM, QR-ENORM.

    Input: the integer answers, one for each query. Output: int64 answers. Only the coordinates of the answers along
    the lattice are looked at; what lies across it is the public `origin`'s. `origin` is what the queries answer on
    some public table of as many people: nothing under ADD_REMOVE.

    >>> from sfumato.privacy import ADD_REMOVE
    >>> from sfumato.papers.query_release.geometry.bodies import Diamond
    >>> both = ShapedNoise(
    ...     rate=Fraction(1), lattice=Lattice(((1, 1), (1, -1))), body=Diamond((1, 1)),
    ...     generators=((1, 1), (1, -1)), origin=(0, 0), relation=ADD_REMOVE)
    >>> both(np.array([40, 20]), Noise(insecure_seed=2)), both.loss().person.epsilon
    (array([40, 18]), Fraction(1, 1))
    """

    spec: ClassVar[str] = "QR-KNORM"

    rate: Fraction
    lattice: Lattice
    body: Body
    generators: Vectors
    origin: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "reads", attributes(self.reads))
        if self.rate <= 0:
            raise ParameterError("rate must be above zero; it is the epsilon of the noise.")
        if self.body.rank != self.lattice.rank or len(self.origin) != self.lattice.dimension:
            raise ParameterError(
                f"The body has {self.body.rank} directions, the lattice {self.lattice.rank} directions and "
                f"{self.lattice.dimension} answers, the origin {len(self.origin)}; they must fit."
            )
        self.body.laws(self.rate)  # a spend whose noise cannot be drawn is refused before it is paid

    def run(self, exact: Any, noise: Noise) -> Any:
        """Add one lattice point to the answers."""
        found, _ = self.lattice.coordinates(self._moved(exact))
        drawn = self.body.draw(self.rate, noise)
        if not drawn:
            return NOTHING
        noisy = self.lattice.answer([one + other for one, other in zip(found, drawn, strict=True)])
        return clamped(start + step for start, step in zip(self.origin, noisy, strict=True))

    def loss(self) -> Loss:
        """Return rate times the largest norm of a generator, which is checked here and now."""
        gauge = self.body.gauge(self.lattice.points(self.generators))
        return Loss.flat(Cost.pure(self.rate * gauge), self.reads, self.relation)

    def event(self) -> Event:
        """Return the shape of the noise and all that its loss is computed from."""
        body = {part.name: getattr(self.body, part.name) for part in fields(self.body)}  # type: ignore[arg-type]
        parameters = {
            "rate": self.rate,
            "body": {"name": type(self.body).__name__, **body},
            "basis": self.lattice.basis,
            "generators": self.generators,
            "origin": self.origin,
            "relation": self.relation,
            "reads": self.reads,
        }
        return Event(type(self).__name__, self.spec, parameters, self.version)

    def simulate(self, count: int = 2000) -> NDArray[np.float64]:
        """Return noise vectors drawn by a public seed, to predict errors; never part of an answer."""
        drawn = self.body.simulate(self.rate, Noise(insecure_seed=0), count)
        return np.asarray(drawn, dtype=np.float64) @ self.lattice.matrix

    def predict(self, count: int = 2000) -> Predicted:
        """Return the error to expect, from public facts: the law of the noise on the lattice.

        Where the mean square is known exactly it is taken, and the simulated mean is corrected by it.
        """
        found = predicted(self.simulate(count))
        squares = self.body.squares(self.rate, self.lattice.matrix)
        if squares is None or not found.rms:
            return found
        return Predicted(found.mean * squares**0.5 / found.rms, squares**0.5)

    def _moved(self, exact: Any) -> list[int]:
        given = np.asarray(exact)
        if given.shape != (self.lattice.dimension,):
            raise ParameterError(
                f"The exact answers are one whole number for each of the {self.lattice.dimension} queries, and these "
                f"have the shape {given.shape}."
            )
        if given.dtype.kind not in "iuO":
            raise ParameterError("Exact answers are whole numbers; count in steps of your fixed point.")
        # A cell that is no whole number counts as 0, as everywhere: data never raises.
        values = [value if type(value) is int else 0 for value in given.tolist()]
        return [value - start for value, start in zip(values, self.origin, strict=True)]


def clamped(values: Any) -> NDArray[np.int64]:
    """Return integers as int64, those outside of the range at its ends."""
    return np.array([min(max(value, LOWEST), HIGHEST) for value in values], dtype=np.int64)


def predicted(drawn: NDArray[np.float64]) -> Predicted:
    """Return mean and root mean square of the lengths of noise vectors."""
    squares = (drawn**2).sum(axis=1)
    return Predicted(float(np.sqrt(squares).mean()), float(np.sqrt(squares.mean())))


def public_origin(column: Sequence[int], people: int | None, lattice: Lattice) -> tuple[int, ...]:
    """Return the answers on a public table of so many people who all sit in one cell."""
    if lattice.contains(column):
        return (0,) * len(column)
    if people is None:
        raise ParameterError(
            "Some combination of these queries depends on the number of people alone, which is public under "
            "REPLACE_ONE; write people= so that it is answered without noise."
        )
    return tuple(people * int(entry) for entry in column)

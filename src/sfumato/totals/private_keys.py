"""Counts of keys that are not known beforehand: published only where they are surely not about one person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from sfumato.errors import ParameterError, UnsupportedSpend
from sfumato.exact import Number, between_zero_and_one
from sfumato.exact.search import smallest_between
from sfumato.mechanism import Mechanism
from sfumato.noise import DiscreteLaplace, Noise
from sfumato.privacy import Approximate, Bound, Cost, Loss, Relation
from sfumato.privacy.attributes import EVERYTHING, Attributes
from sfumato.privacy.relations import REPLACE_ONE
from sfumato.select.fit import drawable
from sfumato.select.threshold import exceedance, rare_level
from sfumato.table.sparse import Sparse

Key = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class StableHistogram(Mechanism):
    """Noisy counts of the keys that occur, those of at least `threshold` after noise, sorted by key.

    One person has at most `rows` rows, in at most `groups` keys. Promise, for `relation` neighbours:
    P(E) <= e^eps·P'(E) + delta for every event E, with eps = l1/scale, where l1 is 2·rows under replace-one and rows
    under add-remove, and delta the chance that a key which only one person holds is published (PL-SAN-POINT-STAB).
    Of the ways to spread r rows over g keys, all in one or one in each but the last are the likeliest to be seen,
    because the tail of the noise is convex.

    Time and memory grow with the number of distinct keys, never with the number of possible ones.
    """

    spec: ClassVar[str] = "PL-SAN-POINT-STAB"

    scale: Fraction
    threshold: int
    groups: int = 1
    rows: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.groups <= self.rows:
            raise ParameterError(
                f"Whoever is in {self.groups} groups has as many rows, and {self.rows} are allowed; raise rows=."
            )
        self.law  # noqa: B018  noise that cannot be drawn is refused before it is paid

    @property
    def law(self) -> DiscreteLaplace:
        """The noise on each count."""
        return DiscreteLaplace(self.scale)

    @property
    def l1(self) -> int:
        """How far all counts together can move."""
        return self.rows * (2 if self.relation is REPLACE_ONE else 1)

    def leak(self) -> Fraction:
        """Return the chance that a key of one person is published, rounded up."""
        if self.threshold <= self.rows:
            raise ParameterError(
                f"A threshold of {self.threshold} publishes what one person wrote {self.rows} times; raise it."
            )
        together = exceedance(self.scale, self.threshold - self.rows)
        if self.groups == 1:
            return together
        most = exceedance(self.scale, self.threshold - (self.rows - self.groups + 1))
        return max(together, most + (self.groups - 1) * exceedance(self.scale, self.threshold - 1))

    def loss(self) -> Loss:
        """Return l1/scale, and the leak."""
        return Loss.flat(Cost.leaking(self.l1 / self.scale, self.leak()), self.reads, self.relation)

    def run(self, exact: Mapping[Key, Any], noise: Noise) -> tuple[tuple[Key, int], ...]:
        """Add noise to every count that is not zero and keep the large ones, in the order of the keys."""
        held = Sparse.of(exact)
        places, noisy = self.found(held.totals[0], noise)
        return tuple(zip(held.keys_at(places), noisy, strict=True))

    def found(self, counts: Any, noise: Noise) -> tuple[Any, list[int]]:
        """Return the places of the counts that are published, and what is published of each."""
        occupied = np.flatnonzero(counts > 0)
        drawn = noise.draw(self.law, len(occupied))
        # Noise beyond 63 bits was refused when it was drawn, and counts are of rows.
        noisy = counts[occupied] + drawn
        kept = np.flatnonzero(noisy >= self.threshold)
        return occupied[kept], noisy[kept].tolist()

    def smallest_published(self, confidence: Number = Fraction(95, 100)) -> int:
        """Return the count from which a key is published with at least this probability."""
        missed = 1 - between_zero_and_one(confidence, "confidence")
        return self.threshold + rare_level(self.scale, missed) - 1


def stable_histogram(
    spend: Bound,
    *,
    groups: int = 1,
    rows: int = 1,
    relation: Relation = REPLACE_ONE,
    reads: Attributes = EVERYTHING,
) -> StableHistogram:
    """Return the histogram over unknown keys for an Approximate spend, with the lowest threshold that fits.

    >>> from sfumato import Approximate
    >>> stable_histogram(Approximate(1, 1e-6)).threshold
    28
    """
    if not isinstance(spend, Approximate) or spend.epsilon == 0:
        raise UnsupportedSpend(
            f"Keys that are found in the data need a delta, and {spend!r} has none; write "
            "Approximate(epsilon, delta), or list the keys in the schema."
        )
    scale = drawable(Fraction(rows * (2 if relation is REPLACE_ONE else 1)) / spend.epsilon)
    low = rows
    high = rows + rare_level(scale, spend.delta / groups)

    def with_threshold(threshold: int) -> StableHistogram:
        return StableHistogram(
            scale=scale, threshold=threshold, groups=groups, rows=rows, relation=relation, reads=reads
        )

    return with_threshold(smallest_between(low, high, lambda level: with_threshold(level).leak() <= spend.delta))

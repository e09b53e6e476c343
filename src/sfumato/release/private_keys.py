"""Counts of keys that are not known beforehand: published only where they are surely not about one person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.errors import UnsupportedSpend
from sfumato.exact import between_zero_and_one
from sfumato.mechanism import Mechanism
from sfumato.noise import DiscreteLaplace, Noise
from sfumato.privacy import Approximate, Bound, Cost, Loss, Relation
from sfumato.privacy.attributes import EVERYTHING, Attributes
from sfumato.privacy.relations import REPLACE_ONE
from sfumato.select.threshold import exceedance, rare_level

Key = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class StableHistogram(Mechanism):
    """Noisy counts of the keys that occur, those of at least `threshold` after noise, sorted by key.

    One person is in at most `groups` keys, with at most `largest` in each. Promise, for `relation` neighbours:
    P(E) <= e^eps·P'(E) + delta for every event E, with eps = l1/scale and
    delta = groups·P[largest + noise >= threshold], because a key that only one person holds is published that
    rarely (PL-SAN-POINT-STAB). l1 is 2·groups·largest under replace-one, groups·largest under add-remove.

    Time and memory grow with the number of distinct keys, never with the number of possible ones.
    """

    spec: ClassVar[str] = "PL-SAN-POINT-STAB"

    scale: Fraction
    threshold: int
    groups: int = 1
    largest: int = 1

    @property
    def law(self) -> DiscreteLaplace:
        """The noise on each count."""
        return DiscreteLaplace(self.scale)

    @property
    def l1(self) -> int:
        """How far all counts together can move."""
        return self.groups * self.largest * (2 if self.relation is REPLACE_ONE else 1)

    def loss(self) -> Loss:
        """Return (l1/scale, groups·P[largest + noise >= threshold]), the tail rounded up."""
        leak = self.groups * exceedance(self.scale, self.threshold - self.largest)
        return Loss.flat(Cost.leaking(self.l1 / self.scale, leak), self.reads, self.relation)

    def run(self, exact: Mapping[Key, int], noise: Noise) -> tuple[tuple[Key, int], ...]:
        """Add noise to every count that is not zero and keep the large ones, in the order of the keys."""
        keys = sorted(key for key, count in exact.items() if count > 0)
        drawn = noise.draw(self.law, len(keys)).tolist()
        noisy = ((key, exact[key] + draw) for key, draw in zip(keys, drawn, strict=True))
        return tuple((key, count) for key, count in noisy if count >= self.threshold)


def stable_histogram(
    spend: Bound,
    *,
    groups: int = 1,
    largest: int = 1,
    relation: Relation = REPLACE_ONE,
    reads: Attributes = EVERYTHING,
) -> StableHistogram:
    """Return the histogram over unknown keys for an Approximate spend.

    >>> from sfumato import Approximate
    >>> stable_histogram(Approximate(1, 1e-6)).threshold
    28
    """
    if not isinstance(spend, Approximate) or spend.epsilon == 0:
        raise UnsupportedSpend(
            f"Keys that are found in the data need a delta, and {spend!r} has none; write "
            "Approximate(epsilon, delta), or list the keys in the schema."
        )
    shape = StableHistogram(
        scale=Fraction(1), threshold=1, groups=groups, largest=largest, relation=relation, reads=reads
    )
    scale = shape.l1 / spend.epsilon
    level = rare_level(scale, between_zero_and_one(spend.delta, "delta") / groups)
    mechanism = StableHistogram(
        scale=scale, threshold=largest + level, groups=groups, largest=largest, relation=relation, reads=reads
    )
    assert mechanism.loss().within(spend)
    return mechanism


def smallest_published(mechanism: StableHistogram, confidence: Any = Fraction(95, 100)) -> int:
    """Return the count from which a key is published with at least this probability."""
    missed = 1 - between_zero_and_one(confidence, "confidence")
    return mechanism.threshold + rare_level(mechanism.scale, missed) - 1

"""Searches for frequent records that do not keep the promise: as printed, and with a safeguard taken out."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato import Noise
from sfumato.privacy import Loss
from sfumato.questions.popular import HeavyHitters, PopularCounts
from sfumato.totals.column_tree.hitters import Family
from sfumato.totals.sparse_noise import SparseNoise
from sfumato.workload import Records


@dataclass(frozen=True, kw_only=True)
class AllLists(HeavyHitters):
    """The shipped search, looked at more closely than what it returns: every list of every join."""

    def run(self, exact: Records, noise: Noise) -> Any:
        family: Family = self.family(exact, noise)
        return [part.tolist() for part in family.lists], family.sizes, family.overflow


@dataclass(frozen=True, kw_only=True)
class AnyClips(AllLists):
    """Clips need not rise."""

    def _check_clips(self) -> None:
        return


@dataclass(frozen=True, kw_only=True)
class ObservedOnly(AllLists):
    """Keeps pairs that occur only: what nobody has never passes."""

    def _keep(self, pairs: Any, counts: Any, candidates: int, level: int, noise: Noise) -> Any:
        kept = super()._keep(pairs, counts, candidates, level, noise)
        return kept if isinstance(kept, int) else kept[[place in set(pairs.tolist()) for place in kept.tolist()]]


def printed_scale(mechanism: HeavyHitters) -> Fraction:
    """Lambda = 3/eps for half of eps, line 893, where half of eps is what the mechanism costs one attribute."""
    half = max(mechanism.cost_of(path) for _, path in mechanism.tree.charged())
    return Fraction(3) / (2 * half)


@dataclass(frozen=True, kw_only=True)
class PrintedCounts(PopularCounts):
    """Theorem 15: Lap(2/eps) charged as half of eps; so with eps2 = eps/2 the scale is 1/eps2."""

    def loss(self) -> Loss:
        raise AssertionError("The claim is that of the shipped mechanism.")


@dataclass(frozen=True, kw_only=True)
class AlwaysPublished(SparseNoise):
    """Publishes every cell that occurs, whatever its noisy count."""

    def run(self, exact: Any, noise: Noise) -> Any:
        published = dict(super().run(exact, noise))
        for place in sorted(place for place, count in exact.items() if count):
            published.setdefault(place, 0)
        return tuple(sorted(published.items()))

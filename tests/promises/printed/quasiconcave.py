"""Whole paths of the quasi-concave choices, and the ways to get them wrong that no parameter expresses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from sfumato import Noise
from sfumato.mechanism import Mechanism
from sfumato.privacy import Loss


@dataclass(frozen=True, kw_only=True)
class WholePath(Mechanism):
    """Releases all that a choice draws, which its loss covers too; the answer alone would hide most mistakes."""

    spec: ClassVar[str] = "PL-REC"

    inner: Any

    def loss(self) -> Loss:
        """Return the loss of the choice itself."""
        result: Loss = self.inner.loss()
        return result

    def run(self, exact: Any, noise: Noise) -> Any:
        """Return the path of the shipped code."""
        return tuple(self.inner.path(exact, noise))


@dataclass(frozen=True, kw_only=True)
class LevelOnly(Mechanism):
    """Releases the level that a general interior point chooses, which only the loss of that choice pays for."""

    spec: ClassVar[str] = "TCDP-GIP-REC"

    inner: Any

    def loss(self) -> Loss:
        """Return the loss of the level alone."""
        result: Loss = self.inner.level_choice.loss()
        return result

    def run(self, exact: Any, noise: Noise) -> Any:
        """Return the level of the shipped code."""
        return self.inner.level(self.inner.rises(exact), noise)


def with_rate(choice: Any, part: str, factor: int | Fraction) -> Any:
    """Return the choice with one of its exponential mechanisms made steeper."""
    inner = getattr(choice, part)
    return replace(choice, **{part: replace(inner, rate=inner.rate * factor)})

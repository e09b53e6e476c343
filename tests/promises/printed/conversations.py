"""Ways to get a conversation wrong: the printed pure version, and small changes that no parameter can express."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato import Noise
from sfumato.noise import DiscreteLaplace
from sfumato.questions.conversation import ApproximateChecking, Checked, Guesses, PureChecking


@dataclass(frozen=True, kw_only=True)
class EndlessChecking(ApproximateChecking):
    """Goes on looking at the data after the last correction."""

    def step(self, state: dict[str, Any], exact: Guesses, noise: Noise) -> tuple[dict[str, Any], Checked, bool]:
        return super().step({"left": 1}, exact, noise)


@dataclass(frozen=True, kw_only=True)
class NarrowChecking(ApproximateChecking):
    """Draws this part of the noise only."""

    part: Fraction = Fraction(1, 3)

    def _noise(self, unit: int) -> DiscreteLaplace:
        return DiscreteLaplace(self.scale * unit * self.part)


@dataclass(frozen=True, kw_only=True)
class EndlessPure(PureChecking):
    """Goes on looking at the data after the last correction."""

    def step(self, state: dict[str, Any], exact: Guesses, noise: Noise) -> tuple[dict[str, Any], Checked, bool]:
        return super().step({**state, "left": 1}, exact, noise)


@dataclass(frozen=True, kw_only=True)
class PrintedPure(PureChecking):
    """Releases the noisy value that was compared with the secret threshold (D3)."""

    def _answer(self, value: int, compared: int, unit: int, noise: Noise) -> int:
        return compared


@dataclass(frozen=True, kw_only=True)
class RedrawnThreshold(PureChecking):
    """Draws the secret threshold again for every step."""

    def step(self, state: dict[str, Any], exact: Guesses, noise: Noise) -> tuple[dict[str, Any], Checked, bool]:
        level = self.threshold + noise.draw(DiscreteLaplace(self.threshold_scale))
        after, checked, changed = super().step({**state, "level": level}, exact, noise)
        return {**after, "level": 0}, checked, changed

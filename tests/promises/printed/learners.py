"""Small ways to get a learner wrong that no parameter can express."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato import NOTHING, Noise
from sfumato.learn.facts import Sample
from sfumato.learn.point import PointChoice
from sfumato.papers.private_learning.box import BoxSides
from tests.promises.printed.choices import changed

__all__ = ["NobodyNoNoise", "RightMinusWrong", "changed"]


@dataclass(frozen=True, kw_only=True)
class RightMinusWrong(PointChoice):
    """Scores by right minus wrong answers, which one person moves by two."""

    def run(self, exact: Sample, noise: Noise) -> Any:
        """Count everybody twice: the same score up to a constant."""
        return super().run(replace(exact, counts=2 * exact.counts), noise)


@dataclass(frozen=True, kw_only=True)
class NobodyNoNoise(BoxSides):
    """Does not draw where nobody has the label."""

    def run(self, exact: Sample, noise: Noise) -> Any:
        """Return no box at once."""
        return super().run(exact, noise) if np.any(exact.labels == 1) else NOTHING

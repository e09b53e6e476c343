"""Halfspace learners that are broken on purpose."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.learn.facts import Sample
from sfumato.noise import Noise
from sfumato.papers.partial_dp.halfspace import HalfspaceChoice, signs


class TrueLabels(HalfspaceChoice):
    """Draws the coins, and then looks at the labels themselves."""

    def responded(self, exact: Sample, noise: Noise) -> Any:
        rows, _, _ = super().responded(exact, noise)
        points = signs(exact.codes, self.cuts)
        ones, total = np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
        for point, label, count in zip(points, exact.labels, exact.counts, strict=True):
            place = int((rows == point).all(axis=1).argmax())
            ones[place] += count * label
            total[place] += count
        return rows, ones, total - ones


class JumpingDistance(HalfspaceChoice):
    """Counts every flip twice, as rounded weights do where a sum falls on the wrong side."""

    def costs(self, points: Any, ones: Any, zeros: Any) -> Any:
        return 2 * super().costs(points, ones, zeros)

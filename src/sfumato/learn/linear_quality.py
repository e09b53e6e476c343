"""How near a private linear model will come to the plain one: from public facts, by a measured rule."""

from __future__ import annotations

from typing import NamedTuple

from sfumato.learn.facts import LearningFacts
from sfumato.learn.linear_aims import Aim, Quantity, SeveralLabels, TwoLabels
from sfumato.learn.linear_rows import coordinates_of
from sfumato.learn.linear_shares import Shares
from sfumato.privacy import Bound

POINTS = (1, 3, 10)
"""How many hundredths of the measure most models stay within, band by band."""
MEASURES: dict[type[Aim], str] = {
    TwoLabels: "area under the curve (AUC)",
    SeveralLabels: "accuracy",
    Quantity: "explained share (R²)",
}
BANDS: dict[tuple[type[Aim], bool], tuple[float, float, float]] = {
    # up to which noise ratio at pure spends (True), and at those with a delta or a rho
    (TwoLabels, True): (0.0012, 0.01, 0.03),
    (TwoLabels, False): (0.005, 0.02, 0.06),
    (SeveralLabels, True): (0.0025, 0.008, 0.03),
    (SeveralLabels, False): (0.01, 0.025, 0.1),
    (Quantity, True): (0.0012, 0.005, 0.02),
    (Quantity, False): (0.008, 0.02, 0.04),
}
"""Measured: at these ratios nine in ten fits or more stayed within the points, on people that no pace was chosen by."""


class Foreseen(NamedTuple):
    """What is known of a fit before it: its noise ratio, its measure, and how many points it stays within, if known."""

    ratio: float
    measure: str
    points: int | None
    enough: float
    """The ratio from which on downwards most models stay within three points."""
    least: float
    """The ratio above which nothing is known."""

    @property
    def text(self) -> str:
        """Say it."""
        if self.points is None:
            said = "not known; it may be no better than a guess"
        else:
            many = "about one point" if self.points == 1 else f"{self.points} points"
            said = f"mostly within {many} of {self.measure} of the same model without privacy"
        return f"{said} (noise ratio {self.ratio:.3g})"


def foreseen(facts: LearningFacts, people: int, spend: Bound) -> Foreseen:
    """Return how near a fit on so many people will come."""
    shares = Shares(coordinates_of(facts), spend, facts)
    ratio, aim = shares.ratio(people), shares.aim
    band = BANDS[type(aim), shares.pure]
    points = next((many for many, most in zip(POINTS, band, strict=True) if ratio <= most), None)
    return Foreseen(ratio, MEASURES[type(aim)], points, band[1], band[-1])

"""Does a score mean the same in every group: the rate of the label by bins of scores, and a verdict (MD-AUDIT)."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

from sfumato.fair.audits.group_counts import Group, GroupCounts, Tallied
from sfumato.fair.audits.rates import Ends, Share, difference_interval

FEWEST = 5
"""Fewer people on either side are shown and get no verdict, as elsewhere in a report."""


@dataclass(frozen=True)
class Calibrated:
    """A group within one bin of scores beside all other groups of its column.

    `surely` is the interval of the difference of both rates that holds for all groups and bins together.
    """

    group: Group
    scores: tuple[float, ...] | str
    """Between which scores the bin lies, or its value in words."""
    share: Share
    others: Share
    surely: Ends

    @property
    def where(self) -> str:
        """Return which scores it is about, in words."""
        if isinstance(self.scores, str):
            return f"at a score of {self.scores}"
        return f"at scores from {self.scores[0]:.2g} to {self.scores[1]:.2g}"

    @property
    def difference(self) -> float:
        """How much more often the label holds for the group than for the others."""
        return self.share.value - self.others.value

    @property
    def differs(self) -> bool:
        """Whether the rates differ by more than chance explains."""
        return self.surely.low > 0 or self.surely.high < 0

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {
            "columns": list(self.group.columns), "group": list(self.group.values),
            "scores": self.scores if isinstance(self.scores, str) else list(self.scores),
            "rate": _finite(self.share.value), "others": _finite(self.others.value),
            "difference_surely": list(self.surely),
            "differs": self.differs,
        }  # fmt: skip


@dataclass(frozen=True)
class Calibration:
    """Everything that was compared, and what it comes to."""

    compared: tuple[Calibrated, ...]
    confidence: float

    @property
    def verdict(self) -> Literal["differs", "clear of chance", "cannot say"]:
        """Whether some group's scores mean something else than those of the others."""
        if not self.compared:
            return "cannot say"
        return "differs" if any(one.differs for one in self.compared) else "clear of chance"

    def sentence(self) -> str:
        """Return the verdict in a sentence."""
        if not self.compared:
            return f"Calibration has no verdict: in no bin of scores are there {FEWEST} people of two groups."
        counted = f"{len(self.compared)} comparisons, all of them together at {self.confidence:.0%}"
        apart = [one for one in self.compared if one.differs]
        if not apart:
            return f"No group's calibration differs from that of the others by more than chance explains ({counted})."
        worst = max(apart, key=lambda one: abs(one.difference))
        return (
            f"Calibration differs between groups by more than chance explains ({counted}): {worst.where} the label "
            f"holds for {worst.share.value:.3f} of {worst.group.name} and for {worst.others.value:.3f} of the others."
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {
            "verdict": self.verdict,
            "sentence": self.sentence(),
            "compared": [one.to_json() for one in self.compared],
        }


def calibrated(tallied: Tallied, confidence: float) -> Calibration:
    """Compare every group with all others of its column in every bin of scores; the unknown are left out.

    With noise how many people there are is chance as well, so all are compared, and few people have wide intervals.
    """
    noisy = tallied.noise.variance > 0
    pairs = [
        (one, place, others)
        for columns in tallied.column_sets()
        if len(columns) == 1
        for known in [[one for one in tallied.of(columns) if not one.group.unknown]]
        for one in known
        for place in range(len(tallied.bins))
        for others in [_others(known, one, place)]
        if len(known) > 1 and (noisy or min(one.bins[place].total, others.total) >= FEWEST)
    ]
    surely = 1 - (1 - confidence) / max(1, len(pairs))
    return Calibration(
        tuple(
            Calibrated(
                one.group, tallied.scores(place),
                one.bins[place], others,
                difference_interval(one.bins[place], others, surely, tallied.noise),
            )
            for one, place, others in pairs
        ),
        confidence,
    )  # fmt: skip


def _others(known: list[GroupCounts], one: GroupCounts, place: int) -> Share:
    rest = [other.bins[place] for other in known if other is not one]
    parts, others = zip(*(share.cells for share in rest), strict=True) if rest else ((1,), (1,))
    return Share(sum(share.part for share in rest), sum(share.rest for share in rest), (sum(parts), sum(others)))


def _finite(rate: float) -> float | None:
    return rate if isfinite(rate) else None

"""One rate of a group beside that of another: how far apart, how sure, and the sentence that says so (MD-AUDIT)."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, isfinite, log10
from typing import Any, Literal

from sfumato.fair.audits.group_counts import GroupCounts
from sfumato.fair.audits.rates import Ends

FOUR_FIFTHS = 0.8
Verdict = Literal["raised", "watch", "clear", "cannot say"]
IMPACT = ("chosen", "high")
ERRORS = ("hits", "alarms", "right")
RATES = {
    "chosen": "selection rate",
    "high": "scoring rate",
    "hits": "true positive rate",
    "alarms": "false positive rate",
    "right": "precision",
}


@dataclass(frozen=True)
class Comparison:
    """One rate of a group beside that of the group it is compared with.

    `ratio_surely` and `difference_surely` hold for all impact ratios of the report together; the first decides the
    verdict, the second whether the rates differ by more than chance explains. `enough` says whether there are people
    enough to say anything about the rate. None of the three depends on which intervals are shown.
    """

    figure: str
    group: GroupCounts
    reference: GroupCounts
    rate: float
    rate_interval: Ends
    ratio: float
    ratio_interval: Ends
    ratio_surely: Ends
    difference: float
    difference_interval: Ends
    difference_surely: Ends
    enough: bool
    counted: str = "people"
    """What the numbers of both groups are numbers of."""
    judged: bool = True
    """Whether the group is large enough for a verdict; figures of smaller ones are shown without."""

    @property
    def known(self) -> bool:
        """Whether there are enough people to say anything about the rate."""
        return self.enough and isfinite(self.ratio)

    @property
    def verdict(self) -> Verdict:
        """Return whether the ratio is below four fifths, surely or perhaps."""
        if not self.known:
            return "cannot say"
        if self.ratio_surely.high < FOUR_FIFTHS:
            return "raised"
        if self.ratio_surely.low >= FOUR_FIFTHS:
            return "clear"
        return "watch" if self.ratio < FOUR_FIFTHS else "cannot say"

    @property
    def differs(self) -> bool:
        """Return whether the rates differ by more than chance explains, whatever their ratio is."""
        return self.known and (self.difference_surely.low > 0 or self.difference_surely.high < 0)

    @property
    def said(self) -> str:
        """Return the verdict as a table shows it."""
        if not self.judged:
            return "too few for a verdict"
        return f"{self.verdict}, differs" if self.differs else self.verdict

    def sentence(self) -> str:
        """Return what is to be said about the rate: how it differs where that is sure, and its ratio."""
        figure = RATES[self.figure].capitalize()
        name, other = self.group.group.name, self.reference.group.name
        if not isfinite(self.ratio):
            return f"{figure} of {other} is 0, so there is no ratio for {name}."
        ratio = f"{self.ratio:.2f} of that of {other} ({_ends(self.ratio_interval)})"
        words = {
            "raised": "below four fifths",
            "watch": "below four fifths, and it may be chance",
            "clear": "not below four fifths",
            "cannot say": "too few to say whether it is below four fifths",
        }
        if not self.differs or self.verdict == "raised":
            return f"{figure} of {name} is {ratio}: {words[self.verdict]}."
        shown = f"ratio {self.ratio:.2f} ({_ends(self.ratio_interval)})"
        if self.verdict == "clear":
            return f"{self._apart()} The {shown} is not below four fifths."
        seen = f"{max(0.0, self.group.people) + max(0.0, self.reference.people):,.0f} {self.counted}"
        return f"{self._apart()} Whether the {shown} is below four fifths cannot be said from {seen}."

    def _apart(self) -> str:
        done = "is selected" if self.figure == "chosen" else "scores high"
        low, high = sorted(abs(end) for end in self.difference_interval)
        # As many digits as the smaller end needs: a gap that is surely above 0 must not be printed as 0.00.
        digits = max(2, -floor(log10(low))) if low > 0 else 2
        return (
            f"{self.group.group.name} {done} at {self.rate:.3f}, {self.reference.group.name} at "
            f"{self.rate - self.difference:.3f}: {abs(self.difference):.{digits}f} "
            f"{'less' if self.difference < 0 else 'more'} often ({low:.{digits}f} to {high:.{digits}f}), more than "
            "chance explains."
        )

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as a JSON object; error rates and small groups have no verdict."""
        impact = self.figure in IMPACT and self.judged
        return {
            "figure": RATES[self.figure], "columns": list(self.group.group.columns),
            "group": list(self.group.group.values), "reference": list(self.reference.group.values),
            "rate": self.rate, "rate_interval": list(self.rate_interval),
            "ratio": self.ratio, "ratio_interval": list(self.ratio_interval), "difference": self.difference,
            "difference_interval": list(self.difference_interval),
            "verdict": self.verdict if impact else None, "differs": self.differs if impact else None,
        }  # fmt: skip


@dataclass(frozen=True)
class GroupFinding:
    """What a report says about one group: a code, a sentence, the number and how sure it is.

    `differs` says that the rates differ by more than chance explains, whatever the verdict about four fifths is.
    """

    code: str
    columns: tuple[str, ...]
    sentence: str
    value: float
    interval: Ends
    verdict: Verdict
    differs: bool


def _ends(ends: Ends) -> str:
    return f"{ends.low:.2f} to {ends.high:.2f}" if isfinite(ends.high) else f"{ends.low:.2f} to no limit"


def with_ends(value: float, ends: Ends, signed: bool = False) -> str:
    """Return a figure with its interval as a table shows it; where the interval holds everything nothing is said."""
    sign = "+" if signed else ""
    if (ends == (0.0, 1.0) and not signed) or not ends.low <= value <= ends.high:
        return "too few to say"  # also where noise leaves a rate of nobody, outside of what its interval allows
    high = f"{ends.high:{sign}.3f}" if isfinite(ends.high) else "∞"
    return f"{value:{sign}.3f} ({ends.low:{sign}.3f} to {high})"

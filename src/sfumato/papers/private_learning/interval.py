"""A rule on one feature: an interval of codes, or all that lies outside of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.learn.cells import Codes
from sfumato.learn.rules import Rule
from sfumato.learn.threshold import shown


@dataclass(frozen=True, kw_only=True)
class IntervalRule(Rule):
    """Holds where one feature lies in an interval of codes, or where it does not; either end may be open."""

    kind: ClassVar[str] = "interval"
    place: int
    low: int | None
    high: int | None
    inside: bool

    def holds(self, codes: Codes) -> NDArray[np.bool_]:
        """Compare one column with the ends."""
        column = codes[:, self.place]
        found = np.ones(len(codes), dtype=bool)
        if self.low is not None:
            found &= np.asarray(column >= self.low, dtype=bool)
        if self.high is not None:
            found &= np.asarray(column <= self.high, dtype=bool)
        return found if self.inside else ~found

    def says(self) -> str:
        """Name the ends as values of the feature."""
        name, domain = self.features[self.place], self.domains[self.place]
        low, high = (None if end is None else shown(domain, end) for end in (self.low, self.high))
        if low is None and high is None:
            return "anything" if self.inside else "nothing"
        if low == high:
            return f"{name} is {'' if self.inside else 'not '}{low}"
        if low is None or high is None:
            held = f"{name} >= {low}" if high is None else f"{name} <= {high}"
            return held if self.inside else f"not {held}"
        return f"{'' if self.inside else 'not '}{low} <= {name} <= {high}"

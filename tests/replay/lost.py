"""What one step of a run loses, and the sums that everything here is made of."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.exact import INFINITY
from sfumato.privacy import Cost


@dataclass(frozen=True)
class Lost:
    """What one step loses for one pair."""

    step: str
    cost: Cost
    """What the pair is proved to lose."""
    stepped: Cost
    """The same by the step of the proof: of a choice twice the largest change of a score, the normaliser included."""
    owner: Any = None
    """The mechanism whose own loss pays for the step, if it has one."""


DEAR = Cost(INFINITY, Cost.concentrated(10**9).curve)
"""What nobody would pay: for steps that differ in what must not differ."""


def even(step: str, cost: Cost) -> Lost:
    """Return a step that loses as much as its proof says."""
    return Lost(step, cost, cost)


def chosen(rate: Fraction, changes: list[int], kind: Any, times: int = 2) -> Lost | None:
    """Return what a choice loses whose scores change by these numbers; None if nothing changes."""
    if not any(changes):
        return None
    width = rate * (max(changes) - min(changes))
    return Lost("choice", kind(width), kind(times * rate * max(map(abs, changes))))


def total(found: list[Cost]) -> Cost:
    """Return the sum of costs."""
    whole = Cost.zero()
    for cost in found:
        whole = whole + cost
    return whole

"""The shape of what a check finds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

LIPSCHITZ = "LIP"
"""The code of similar people who are treated differently, on the pairs that were looked at."""
NAMES = {
    "E1": "Blatant denial",
    "E2": "Redundant encoding",
    "E3": "Redlining",
    "E4": "Cutting off business",
    "E5": "Self-fulfilling prophecy",
    "E6": "Reverse tokenism",
    "E7": "Subset targeting",
    "E8": "Reduced utility",
    "E9": "Metric abuse",
}


@dataclass(frozen=True)
class Finding:
    """One check of the list of nine.

    `p_value` is None where the check did not run, and `sentence` then says what it lacks. `effect` and `tolerated` are
    in the unit that `measure` names: a finding is raised only if it is both significant and larger than tolerated.
    """

    code: str
    sentence: str
    measure: str = ""
    effect: float | None = None
    tolerated: float | None = None
    p_value: float | None = None
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the name of what is looked for."""
        return NAMES[self.code]

    @property
    def ran(self) -> bool:
        """Return whether the check had what it needs."""
        return self.p_value is not None

    @property
    def large(self) -> bool:
        """Return whether the effect is larger than tolerated."""
        return self.effect is not None and self.tolerated is not None and self.effect > self.tolerated


def lacking(code: str, what: str) -> Finding:
    """Return the finding of a check that cannot run."""
    return Finding(code, f"Not run: {what}.")

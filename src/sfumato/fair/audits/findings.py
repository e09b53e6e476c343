"""The shape of what a check finds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
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
    `group` is who is worse off or, of checks that look for harm to one group, whose harm was looked for.
    """

    code: str
    sentence: str
    measure: str = ""
    effect: float | None = None
    tolerated: float | None = None
    p_value: float | None = None
    details: dict[str, Any] = field(default_factory=dict)
    group: str = ""

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


def either(first: Finding, second: Finding) -> Finding:
    """Return what a check finds that was made for either group: the surer of two findings, which pays for both.

    Twice the smaller p-value is one of the question whether either group is harmed, however the two are related.

    >>> either(Finding("E4", "f.", "lift", 1.5, 1.25, 0.01), Finding("E4", "m.", "lift", 0.5, 1.25, 1.0)).p_value
    0.02
    """
    if not first.ran and not second.ran:
        return first
    found, other = sorted((first, second), key=_surest)
    assert found.p_value is not None
    sentence = found.sentence if other.ran else f"{found.sentence} For {other.group}: {other.sentence}"
    return replace(found, sentence=sentence, p_value=min(1.0, 2 * found.p_value))


def _surest(finding: Finding) -> tuple[float, float]:
    return (2.0, 0.0) if finding.p_value is None else (finding.p_value, -(finding.effect or 0.0))


def oftener(difference: float) -> str:
    """Return a difference of two rates in words.

    >>> oftener(-0.05)
    '0.050 less often'
    """
    return f"{abs(difference):.3f} {'less' if difference < 0 else 'more'} often"


def lacking(code: str, what: str) -> Finding:
    """Return the finding of a check that cannot run."""
    return Finding(code, f"Not run: {what}.")

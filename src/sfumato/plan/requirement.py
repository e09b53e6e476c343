"""The shape of a requirement: how many people one method needs, and by which formula."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sfumato.exact import between_zero_and_one, exact
from sfumato.privacy import Bound


@dataclass(frozen=True)
class Asked:
    """What is wanted: an accuracy, how often it may be missed, and what may be spent on it."""

    spend: Bound
    accuracy: float
    failure: float

    @property
    def epsilon(self) -> float:
        """The epsilon of the spend, where it has one."""
        return float(exact(getattr(self.spend, "epsilon", math.nan), "epsilon"))


@dataclass(frozen=True)
class Requirement:
    """How many people one method needs.

    `privacy` is what the noise asks for, `sampling` what any learner would ask for; the larger one counts. `formula`
    is how they are worked out, `spec` where it is proved, `run` what to write. `printed` is what the paper's own
    constants ask for, where it states them. A `demonstrator` is built to show a theorem, not to be used.
    """

    method: str
    privacy: float
    sampling: float
    formula: str
    spec: str
    run: str
    printed: float | None = None
    demonstrator: bool = False

    @property
    def people(self) -> float:
        """The number of people needed, rounded up; infinity if no number is proved to do."""
        needed = max(self.privacy, self.sampling)
        return float(math.ceil(needed - 1e-9 * needed)) if math.isfinite(needed) else math.inf


def asked(spend: Bound, accuracy: object, failure: object) -> Asked:
    """Return what is wanted, with its numbers checked."""
    return Asked(
        spend,
        float(between_zero_and_one(accuracy, "accuracy")),  # type: ignore[arg-type]
        float(between_zero_and_one(failure, "failure")),  # type: ignore[arg-type]
    )

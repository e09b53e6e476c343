"""How many people the theorems of the faithful sanitizers ask for, said before anything runs."""

from __future__ import annotations

import math
import warnings

from sfumato.errors import AccuracyWarning
from sfumato.exact import Number, exact
from sfumato.select.heavy_cell import Choosing


def named_from(choice: Choosing, failure: float) -> float:
    """Return the score from which the choice names some cell, except with probability `failure`."""
    return choice.threshold + float(choice.scale) * math.log(1 / failure)


def said_before(needed: int, people: int, accuracy: Number, instead: str) -> None:
    """Warn where there are fewer people than the theorem needs; public numbers only."""
    if people < needed:
        warnings.warn(
            f"An error of at most {float(exact(accuracy, 'accuracy')):g} of the people is proved from {needed:,} "
            f"people on, and there are {people:,}: what comes out is private, and may miss everything. Ask for "
            f"{instead}, which needs far fewer people, or for a larger accuracy=.",
            AccuracyWarning,
            stacklevel=3,
        )


def said_of_promise(needed: float, promise: float, instead: str) -> None:
    """Warn where the public promise is smaller than the theorem needs."""
    if promise < needed:
        warnings.warn(
            f"An answer that is good enough is proved from a promise of {math.ceil(needed):,} on, and it is "
            f"{promise:,.0f}: what comes out is private, and may be anything. Write {instead}, which needs far less, "
            "or spend more.",
            AccuracyWarning,
            stacklevel=3,
        )

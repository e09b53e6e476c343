"""How many people the theorems of the faithful algorithms ask for, said from public numbers before anything runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from sfumato.errors import warn
from sfumato.exact import Number, exact
from sfumato.select.heavy_cell import Choosing

FAILURE = 0.05
"""Theorems that hold except with some probability are read at this one where nobody named another."""

HALF = "what comes out is private, and may be no better than the answer 1/2 to everything"
ANYTHING = "what comes out is private, and may miss everything"


def named_from(choice: Choosing, failure: float) -> float:
    """Return the score from which the choice names some cell, except with probability `failure`."""
    return choice.threshold + float(choice.scale) * math.log(1 / failure)


def said_before(needed: int, people: int, accuracy: Number, instead: str) -> None:
    """Warn where there are fewer people than the theorem needs; public numbers only."""
    say_of_few(
        f"An error of at most {float(exact(accuracy, 'accuracy')):g} of the people",
        needed,
        people,
        f"Ask for {instead}, which needs far fewer people, or for a larger accuracy=.",
    )


def said_of_promise(needed: float, promise: float, instead: str) -> None:
    """Warn where the public promise is smaller than the theorem needs."""
    if promise < needed:
        warn(
            f"An answer that is good enough is proved from a promise of {math.ceil(needed):,} on, and it is "
            f"{promise:,.0f}: what comes out is private, and may be anything. Write {instead}, which needs far less, "
            "or spend more."
        )


def say_of_few(
    promised: str,
    needed: int | None,
    people: int | None,
    instead: str,
    otherwise: str = ANYTHING,
) -> None:
    """Warn where fewer people than the theorem `needed` are there, None for no number of them: public numbers only.

    Where the number of people is not public, None, nothing is said.

    `promised` is what the theorem says from there on, with its numbers; `otherwise` what may come out below.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     say_of_few("An error below 1", 1200, 1200, "Spend more.")
    ...     say_of_few("An error below 1", 1200, 1199, "Spend more.")
    >>> [str(one.message).partition(":")[0] for one in said]
    ['An error below 1 is proved from 1,200 people on, and there are 1,199']
    """
    if people is None or (needed is not None and people >= needed):
        return
    far = f"from {needed:,} people on, and there are {people:,}" if needed is not None else "for no number of people"
    warn(f"{promised} is proved {far}: {otherwise}. {instead}")


def say_of_rounds(error: float, needed: Callable[[], int | None], people: int, instead: str) -> None:
    """Warn where what the theorem of rounds proves is an error of 1 or more, which says nothing about shares.

    The theorem speaks of the average of the models after single steps. What fits by replay has no bound of its own,
    and is planned by this one.
    """
    if error < 1:
        return
    enough = needed()
    if enough is None:
        instead = "So few rounds learn too little; write more rounds=, or method='auto'."
    say_of_few(
        "An error of shares below 1, the first that says anything,",
        enough,
        people,
        f"{instead} The bound, {error:.2g} here, is that of single steps whose models are averaged; replay, the "
        "default, has no bound of its own and is usually better.",
    )


def people_from(learned: float, variance: float, shortfall: float, most: float = 1.0) -> int | None:
    """Return from how many people n on √(learned + variance/n²) + shortfall/n is at most `most`; None for no number.

    That is the form of the proved errors of rounds (QR-MWEM, PDP-MWEM): what is learned in so many rounds, the noise of
    a measurement and what a choice misses, in counts.

    >>> people_from(0.0, 0.0, 50.0, 0.5), people_from(1.0, 1.0, 1.0)
    (100, None)
    """
    room = most**2 - learned
    if room <= 0:
        return None
    root = math.sqrt(learned * shortfall**2 + room * variance)
    return math.ceil((most * shortfall + root) / room)


def fewest(numbers: Iterable[int | None]) -> int | None:
    """Return the smallest number of people among several ways to run; None where no way has one."""
    return min((number for number in numbers if number is not None), default=None)

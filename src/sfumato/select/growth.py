"""A check of the one thing that `choosing` cannot see: that a score grows as slowly as it was declared to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sfumato.errors import CertificationError
from sfumato.exact import positive_integer
from sfumato.noise import Noise


def check_bounded_growth(
    score: Callable[[Sequence[Any]], Mapping[Any, int]],
    records: Sequence[Any],
    growth: int,
    trials: int = 200,
    *,
    noise: Noise | None = None,
) -> None:
    """Try to refute that one more record raises at most `growth` scores, each by at most 1 (PL-CHOOSE).

    `score` maps a table to the scores that are not 0; `records` are possible records, made up and not private.
    Random tables are grown one record at a time. A passed check is no proof; a failed one raises.

    >>> from collections import Counter
    >>> check_bounded_growth(Counter, ["a", "b", "c"], growth=1, noise=Noise(insecure_seed=1))
    """
    allowed = positive_integer(growth, "growth")
    coins = Noise() if noise is None else noise
    if dict(score([])):
        raise CertificationError("The score of an empty table is not 0 everywhere, so it has no bounded growth.")
    for _ in range(positive_integer(trials, "trials")):
        table: list[Any] = []
        before: dict[Any, int] = {}
        for place in coins.uniform(len(records), 1 + coins.uniform(8)).tolist():
            table.append(records[place])
            after = dict(score(table))
            steps = [after.get(key, 0) - before.get(key, 0) for key in {*before, *after}]
            if any(step not in (0, 1) for step in steps) or sum(steps) > allowed:
                raise CertificationError(
                    f"One more record moved a score by something other than 0 or 1, or raised more than {allowed} "
                    "scores; declare a larger growth, or bound what one record adds."
                )
            before = after

"""The exact law of a long talk of equal queries: each round by enumeration of the code, all rounds in closed form."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from scipy.special import gammaln

from sfumato import audit
from sfumato.audit.branching import ONE
from sfumato.questions.conversation import ApproximateChecking, Guesses


class Stream:
    """Equal queries whose value is `value` counts off its guess, `other` counts for the neighbour."""

    def __init__(self, checking: ApproximateChecking, value: int, other: int | None = None) -> None:
        first, second = _round(checking, value), _round(checking, value + 1 if other is None else other)
        self._close = first.pop(None), second.pop(None)
        both = [(mass, second[answer]) for answer, mass in first.items() if second.get(answer)]
        # Answers are told apart by what they speak for only, which shows less than all of them or the same.
        self._up = _sums([pair for pair in both if pair[0] > pair[1]])
        self._down = _sums([pair for pair in both if pair[0] <= pair[1]])

    def delta(self, epsilon: float, corrections: int, rounds: int) -> float:
        """Return delta at epsilon of the first value against the second, if the talk ends at the last correction.

        The corrections that raise the loss are binomial among all, the close guesses before the last one negative
        binomial; what fewer corrections in all rounds show is added.
        """
        found = 0.0
        for used in range(corrections + 1):
            before = np.arange(rounds - used + 1) if used == corrections else np.array([rounds - used])
            ways = _choose(before + used - 1, used - 1) if used == corrections else _choose(before + used, used)
            raised = np.arange(used + 1)[:, None]
            signs = _choose(np.full(used + 1, used), raised[:, 0])[:, None]
            first, second = (
                _times(before, self._close[at]) + _times(raised, self._up[at]) + _times(used - raised, self._down[at])
                for at in (0, 1)
            )
            chance = ways + signs + first
            loss = np.where(chance > -np.inf, first, 0.0) - np.where(chance > -np.inf, second, 0.0)
            found += float((np.exp(chance) * -np.expm1(np.minimum(0.0, epsilon - loss))).sum())
        return found


def _sums(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    return sum(first for first, _ in pairs), sum(second for _, second in pairs)


def _choose(total: np.ndarray, part: np.ndarray | int) -> np.ndarray:
    """Return the logarithm of the number of ways to choose."""
    return np.asarray(gammaln(total + 1) - gammaln(np.asarray(part) + 1) - gammaln(total - part + 1))


def _times(count: np.ndarray, mass: float) -> np.ndarray:
    return count * math.log(mass) if mass > 0 else np.where(count > 0, -np.inf, 0.0)


def _round(checking: ApproximateChecking, value: int) -> dict[int | None, float]:
    law = audit.law_of_interaction(checking, [Guesses((value,), (0,))], 1e-12)
    found: dict[int | None, float] = {}
    for outcome, mass in law.units.items():
        answer = _answer(outcome)
        found[answer] = found.get(answer, 0.0) + float(Fraction(mass, ONE))
    return found


def _answer(outcome: object) -> int | None:
    (reply,) = outcome  # type: ignore[misc]
    parts = dict(reply[1]) if isinstance(reply[1], tuple) else dict(zip(("close", "answer"), reply[1:], strict=True))
    return parts["answer"]  # type: ignore[no-any-return]


def worst_delta(
    checking: ApproximateChecking, epsilon: float, values: list[int], corrections: int, rounds: int
) -> float:
    """Return the largest delta over some values."""
    return max(Stream(checking, value).delta(epsilon, corrections, rounds) for value in values)

"""What is said before a conversation is paid for, or, where people are private, once their number has been."""

from __future__ import annotations

import warnings
from fractions import Fraction

from sfumato.errors import AccuracyWarning
from sfumato.questions.conversation.plan import ConversationPlan


def warn_of_plan(plan: ConversationPlan) -> None:
    """Say that something else would serve better; where the number of people is private, it has been paid for."""
    if plan.verdict != "converse":
        warnings.warn(plan.advice, AccuracyWarning, stacklevel=3)


def warn_of_leaks(leak: Fraction, people: int) -> None:
    """Say that delta is so large that a mechanism could show somebody's row; people are public, or paid for."""
    if leak * people >= 1:
        warnings.warn(
            f"A delta of {float(leak):.2g} is not below 1/{people}: it would allow to show the row of one of the "
            f"{people} people. Write a delta far below, for example {0.01 / people:.1g}.",
            AccuracyWarning,
            stacklevel=3,
        )

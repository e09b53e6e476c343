"""The progress of a conversation as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.questions.conversation.plan import ConversationPlan
from sfumato.show import Line, Panel, picture


def draw_progress(name: str, plan: ConversationPlan, history: Sequence[Sequence[float]], progress: Any) -> Any:
    """Return two charts: corrections against queries asked, and by how much the model was wrong each time."""
    places = [float(asked) for asked, _ in history]
    end = float(max(progress.asked, 1))
    used = [0.0, *(float(count + 1) for count in range(len(places))), float(len(places))]
    first = Panel(
        "queries asked",
        "corrections",
        (
            Line("paid for", (0.0, end), (float(plan.updates), float(plan.updates)), "claim"),
            Line("used", (0.0, *places, end), tuple(used), "measure"),
        ),
    )
    level = plan.checking.threshold / plan.people
    misses = [float(missed) for _, missed in history] or [0.0]
    second = Panel(
        "queries asked",
        "model missed by (part of the people)",
        (
            Line("threshold", (0.0, end), (level, level), "claim"),
            Line("missed by", tuple(places or [0.0]), tuple(misses), "measure"),
        ),
    )
    share = f"{progress.from_model:.1%} of {progress.asked} answers"
    return picture(f"Conversation {name}: {share} are the model's", [first, second])

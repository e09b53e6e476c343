"""What a conversation says: one answer, and how far it has come, in numbers and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from sfumato.questions.conversation.plan import ConversationPlan, Counted
from sfumato.questions.conversation.queries import LinearQuery
from sfumato.show import Line, Panel, picture
from sfumato.show.views import View

Source = Literal["model", "data"]


class Progress(NamedTuple):
    """How far a conversation has come; repeated queries are counted apart and cost nothing."""

    asked: int
    repeated: int
    corrected: int
    left: int

    @property
    def from_model(self) -> float:
        """The part of the queries that the model answered alone."""
        return 1.0 if not self.asked else 1 - self.corrected / self.asked


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer: the mean of the query over all that is counted, for a condition the part that fulfils it.

    `counted` says what that is: people where each has one row, rows where somebody may have several. `count` is the
    part of their number. `error` is how far `value` may be off, with the confidence of the plan, None where nothing is
    promised any longer. `source` says whether the data corrected the model.

    >>> Reply(0.5, 50.0, 0.1, "model", Progress(asked=4, repeated=0, corrected=1, left=9)).progress.from_model
    0.75
    """

    value: float
    count: float
    error: float | None
    source: Source
    progress: Progress
    counted: Counted = "people"


def said(
    plan: ConversationPlan, query: LinearQuery, part: float, source: Source, *, promised: bool, progress: Progress
) -> Reply:
    """Return the reply to a query whose value is this part of its range."""
    stretch = query.unit / query.denominator
    value = part * stretch + query.offset / query.denominator
    # No answer leaves the range of its query, so no error is wider than that.
    error = min(plan.error, 1.0) * stretch if promised else (None if query.unit else 0.0)
    return Reply(value, value * plan.people, error, source, progress, plan.counted)


def progress_view(done: Progress) -> View:
    """Return how far a conversation has come."""
    corrected = (
        f"{done.asked} asked, {done.repeated} repeated, {done.corrected} corrected; {done.left} corrections left."
    )
    use = "ask(\"age > 40 AND sex = 'Male'\") answers; everything was paid for when it was opened."
    return View("Conversation", before=(corrected, use))


def draw_progress(name: str, plan: ConversationPlan, history: Sequence[Sequence[float]], progress: Progress) -> Any:
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
    misses = [float(missed) for _, missed in history]
    second = Panel(
        "queries asked",
        f"model missed by (part of the {plan.counted})",
        (
            Line("threshold", (0.0, end), (level, level), "claim"),
            Line("missed by", tuple(places), tuple(misses), "measure"),
        ),
    )
    share = f"{progress.from_model:.1%} of {progress.asked} answers"
    return picture(f"Conversation {name}: {share} are the model's", [first, second])

"""Questions that a world refuses at every spend and under both relations, each with the reason that it gives.

What is refused is not replayed. A question that is refused everywhere, and is not listed here, would pass every replay
without having been asked; so what is refused must be exactly this, for these reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from sfumato.ask.question import Question
from sfumato.errors import SfumatoError
from sfumato.privacy import ADD_REMOVE, REPLACE_ONE
from sfumato.table.bounding import SCALE
from tests.replay import harness, seam
from tests.replay.questions import LEARNERS, every_question
from tests.replay.worlds import World


@dataclass(frozen=True)
class Refusal:
    """Questions, by their names or by what these begin with, where they are refused, and words of the reason."""

    questions: tuple[str, ...]
    where: Callable[[World], bool]
    reason: str


def _several_rows(world: World) -> bool:
    return world.rows > 1


def _weighed(world: World) -> bool:
    return not world.alone and world.schema.row_key != ()


def _finely_weighed(world: World) -> bool:
    return _weighed(world) and world.scale == SCALE


NOT_LINEAR = tuple(name for name in LEARNERS if not name.startswith("Learn PrivateLinear"))
EXPECTED = (
    Refusal(("Quantiles joint", "Quantiles halving"), _finely_weighed, "rows that are weighed by person count in"),
    Refusal(("Distribution windows",), _weighed, "Windows of ranks need Concentrated or Truncated, one row a person"),
    Refusal(("Shaped ",), _several_rows, "Shaped noise is for one row a person"),
    Refusal(("Popular tree",), _several_rows, "A tree of columns needs a public number of rows: one row a person"),
    Refusal(("Synthesize pdp-mwem",), _several_rows, "Rounds per attribute need one row a person"),
    Refusal(NOT_LINEAR, _several_rows, "learns from one row a person"),
)


def expected(world: World) -> dict[str, str]:
    """Return the questions that a world refuses, with words of the reason."""
    return {
        name: refusal.reason
        for name in every_question(world.schema)
        for refusal in EXPECTED
        if name.startswith(refusal.questions) and refusal.where(world)
    }


def surprises(world: World, answered: Collection[str]) -> list[str]:
    """Return what was answered against expectation, and what was not."""
    refused = expected(world)
    silent = set(every_question(world.schema)) - set(answered)
    return [
        *(f"{name} is refused everywhere in {world.name!r}, and nobody expects it" for name in silent - refused.keys()),
        *(f"{name} is answered in {world.name!r}; drop it from the refusals" for name in refused.keys() - silent),
    ]


def reasons(name: str, question: Question, world: World) -> list[str]:
    """Return why a question is refused at every spend and under both relations; nothing if it is answered once."""
    found = []
    for relation in (REPLACE_ONE, ADD_REMOVE):
        for spend in harness.chosen_spends(name, world, relation, len(harness.SPENDS)):
            try:
                seam.plan(question, world, harness.CROWD, relation, spend)
            except SfumatoError as refused:
                found.append(str(refused))
            else:
                return []
    return found

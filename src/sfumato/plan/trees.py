"""How many people the search for frequent records needs (PDP-HH, PDP-HIST), as its own planner predicts."""

from __future__ import annotations

import math
from functools import cache

from sfumato.errors import NotProvable
from sfumato.privacy import Pure

MOST_PEOPLE = 2**40
ROUNDS = 12


def tree_people(columns: int, spend: Pure, accuracy: float, failure: float) -> float:
    """Return from how many people on all records of a share `accuracy` of them are found and counted.

    The smallest count F grows slowly with the people, so n = F(n)/accuracy is found by putting it in again, over
    powers of √2: few plans are made.
    """
    people = 32 / accuracy
    for _ in range(ROUNDS):
        step = math.ceil(2 * math.log2(people))
        needed = _found(columns, spend, failure, step) / accuracy
        if needed <= 2 ** (step / 2):
            return max(needed, people)
        people = needed
        if people > MOST_PEOPLE:
            break
    return math.inf


@cache
def _found(columns: int, spend: Pure, failure: float, step: int) -> float:
    """Return the smallest count that is found among 2^(step/2) people, or the error of counts if that is larger."""
    from sfumato.domain import booleans
    from sfumato.table.schema import Schema
    from sfumato.totals.column_tree.planner import plan_popular
    from sfumato.workload.space import Space

    space = Space.of(Schema({f"q{place}": booleans(missing=False) for place in range(columns)}))
    people = math.ceil(2 ** (step / 2))
    try:
        plan = plan_popular(space, spend, people, failure=failure)
    except NotProvable:
        return math.inf
    listed = max(2.0, 2 * people / plan.hitters.thresholds[-1])
    counts = float(plan.scale) * math.log(2 * listed / failure)
    return max(float(plan.hitters.smallest_found(1 - failure)), counts)

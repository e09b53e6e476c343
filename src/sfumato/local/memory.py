"""How much memory decoding takes beside the sketch, from public sizes; the constants are measured.

The searches hold the transformed tables of all roles, or of one at a time, and a few numbers for every candidate that
they look at. The factors cover what was measured over spends, lengths and data, with at most about as much to spare.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.papers.heavy_hitters.bitstogram import BitstogramMethod
from sfumato.papers.heavy_hitters.expander import ExpanderMethod
from sfumato.local.listed import ListMethod, MeanMethod
from sfumato.local.tree import TreeMethod

if TYPE_CHECKING:
    from sfumato.local.plan import Plan

_SINGLE = 1 << 24
"""Counts of fewer reports than this are transformed in four bytes each, of more in eight."""
_LOOKED_AT = {"soft": 44, "prefix": 14, "treehist": 14}
"""Bytes for every prefix that a search looks at."""
_KEPT = 24
"""Bytes for every level of every prefix that stays in a search."""
_CANDIDATE, _LISTED = 640, 320
"""Bytes for every candidate that is confirmed, and for every one of a list, its name and its numbers among them."""
_LEAST = 1 << 20


def decoding_bytes(plan: Plan) -> int:
    """Return the memory that reading a sketch takes beside it, at most."""
    method = plan.method
    cell = 4 if plan.users * plan.reports < _SINGLE else 8
    largest = max(role.oracle.outcomes for role in method.roles)
    if isinstance(method, TreeMethod):
        needed = cell * plan.offsets[-1] + _tree_search(method, plan.items.row_bytes)
    elif isinstance(method, ExpanderMethod):
        # The estimates of one coordinate, and twice as much to arrange them.
        needed = 3 * cell * largest + _CANDIDATE * (1 << method.bucket_bits)
    elif isinstance(method, BitstogramMethod):
        needed = 3 * cell * largest + _CANDIDATE * (method.repetitions << method.bucket_bits)
    elif isinstance(method, ListMethod) and not isinstance(method, MeanMethod):
        needed = 2 * cell * largest + _LISTED * method.candidates
    else:
        needed = 0
    return needed + _LEAST


def _tree_search(method: TreeMethod, row_bytes: int) -> int:
    from sfumato.local.tree_search import beam

    room = beam(method)
    steps = [after - before for before, after in zip(method.levels, method.levels[1:], strict=False)]
    looked_at = max(1 << method.levels[0], room << max(steps, default=0))
    return _LOOKED_AT[method.style] * looked_at + room * (_KEPT * len(method.levels) + 4 * row_bytes)

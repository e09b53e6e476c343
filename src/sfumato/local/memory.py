"""How much memory decoding takes beside the sketch, from public sizes; the constants are measured.

The searches hold the transformed tables of all roles, or of one at a time, and a few numbers for every candidate that
they look at. The factors cover what was measured over spends, lengths and data, with at most about as much to spare.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.local.plan import Plan

_SINGLE = 1 << 24
"""Counts of fewer reports than this are transformed in four bytes each, of more in eight."""
CANDIDATE, LISTED = 640, 320
"""Bytes for every candidate that is confirmed, and for every one of a list, its name and its numbers among them."""
_LEAST = 1 << 20


def decoding_bytes(plan: Plan) -> int:
    """Return the memory that reading a sketch takes beside it, at most."""
    reports = plan.users * plan.reports
    cell = 4 if reports < _SINGLE else 8
    return plan.method.decoding_bytes(cell, plan.items.row_bytes, reports) + _LEAST

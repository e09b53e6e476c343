"""By which public rules a statement was counted, in sentences (SM-NOTES)."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.sql.plan import Plan, Total
from sfumato.table.database import Database


def rules_of(plan: Plan, totals: Sequence[Total], database: Database) -> tuple[str, ...]:
    """Return what was done to rows and people, from the plan alone."""
    flat = plan.flat
    found = []
    if any(total.distinct for total in totals):
        found.append("A person counts once, however many rows they have.")
    elif not flat.everybody:
        rows = flat.rows_per_person
        counted = "1 row" if rows == 1 else f"{rows} rows"
        found.append(
            f"A person counts as at most {counted} of {flat.anchor.table}; the rows of a person with more count {rows} "
            "in all."
        )
    if flat.everybody and flat.anchor.kind == "people" and database.people_table is not None:
        found.append("A person who has more than one row counts as one row in which every cell is missing.")
    if plan.pers:
        found.append("What is computed for a person is clamped to its public range; how much that cuts is unknown.")
    if any(total.of is not None and total.of.nullable for total in totals):
        found.append("Values that are missing are left out.")
    return tuple(found)

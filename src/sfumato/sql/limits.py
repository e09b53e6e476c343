"""Which totals go with a limit on the groups of a person, and which need one (SQ-BOX, SQ-FOUND)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sfumato.errors import ParameterError
from sfumato.sql.options import GROUPS
from sfumato.table.expression import Expression
from sfumato.table.flat import Flat, listable

if TYPE_CHECKING:
    from sfumato.sql.plan import Total


def check_limited(totals: Iterable[Total], keys: Sequence[Expression]) -> None:
    """Refuse a limit on groups beside totals of weighed rows, which are bounded by the rows of a person."""
    for total in totals:
        if total.bounds is None and not total.distinct and listable(keys):
            raise ParameterError(
                f"{GROUPS} keeps some groups of a person, and {total.text} weighs all of their rows; write bounds: "
                "SUM(x, contribution_bounds_per_group => (0, 500)), or leave the option out."
            )


def check_found(totals: Iterable[Total], keys: Sequence[Expression], flat: Flat, groups: int | None) -> None:
    """Refuse groups of events that nobody can list where rows would be weighed, or people be in any number of them."""
    listed = ", ".join(key.text for key in keys)
    if any(total.bounds is None and not total.distinct for total in totals):
        raise ParameterError(
            f"There are too many possible values of {listed} to list them all, and groups are found among people with "
            "one row each, or for numbers with bounds; write COUNT(DISTINCT person) or SUM(x, "
            "contribution_bounds_per_group => (0, 500)), declare the labels, or make one row a person in WITH."
        )
    sides = {column.split(".", 1)[0] for key in keys for column in key.columns}
    if groups is None and not sides <= flat.of_persons:
        raise ParameterError(
            f"Somebody may be in any number of groups by {listed}; write WITH DIFFERENTIAL_PRIVACY "
            f"OPTIONS({GROUPS} = 3) after SELECT, or groups_per_person in the schema."
        )

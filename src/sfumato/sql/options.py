"""The price in the statement: OPTIONS(epsilon = 1, …), after GoogleSQL (SQ-SPEND)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sfumato.errors import ParameterError
from sfumato.grammar import printed, tree
from sfumato.privacy import Bound
from sfumato.privacy.bounds import bound_of
from sfumato.sql.scope import Scope
from sfumato.table.where import read_number

_NUMBERS = ("epsilon", "delta", "rho", "omega")
_INSTEAD = {
    "max_rows_contributed": "rows_per_person is fixed by the schema",
    "max_groups_contributed": "all groups of a person count; make one row a person in WITH to have one",
    "contribution_bounds_per_group": "write it in the aggregate: SUM(x, contribution_bounds_per_group => (0, 500))",
    "contribution_bounds_per_row": "the range of a column is fixed by the schema",
}


def spend_of(options: Sequence[tree.Option], given: Bound | None, scope: Scope) -> Bound | None:
    """Return the spend of a statement; two that differ are refused."""
    numbers: dict[str, Fraction] = {}
    seen: set[str] = set()
    for option in options:
        name = option.name.text.lower()
        if name in seen:
            raise ParameterError(f"{name} is there twice in OPTIONS; write it once.")
        seen.add(name)
        if name == "privacy_unit_column":
            _check_unit(option, scope)
        elif name not in _NUMBERS:
            raise ParameterError(
                f"{name} is not known here; {_INSTEAD.get(name, 'write epsilon, delta, rho or omega')}."
            )
        elif not isinstance(option.value, tree.Number):
            raise ParameterError(f"{name} is one number; write {name} = 1.")
        else:
            numbers[name] = read_number(option.value.text)
            if numbers[name] <= 0:
                raise ParameterError(f"{name} is above zero; write {name} = 1.")
    if not numbers:
        return given
    written = bound_of(**numbers)
    if given is not None and given != written:
        raise ParameterError(f"The statement says {written!r} and spend= says {given!r}; write one of them.")
    return written


def _check_unit(option: tree.Option, scope: Scope) -> None:
    if isinstance(option.value, tree.Number) or not scope.names_person(option.value):
        people = scope.database.people_table or next(iter(scope.database.private))
        raise ParameterError(
            f"The unit is {people}.{scope.database.person_of(people)}, not {printed(option.value)}; it is fixed."
        )

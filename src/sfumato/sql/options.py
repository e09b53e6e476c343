"""The price in the statement: OPTIONS(epsilon = 1, …), after GoogleSQL (SQ-SPEND)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sfumato.errors import ParameterError
from sfumato.grammar import printed, tree
from sfumato.grammar.printing import printed_number
from sfumato.privacy import Bound
from sfumato.privacy.bounds import bound_of
from sfumato.sql.scope import Scope
from sfumato.table.where import read_number

_NUMBERS = ("epsilon", "delta", "rho", "omega")
GROUPS = "max_groups_contributed"
MOST_GROUPS = 10**6
_INSTEAD = {
    "max_rows_contributed": "rows_per_person is fixed by the schema",
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
        elif name == GROUPS:
            continue  # no price: the plan has it
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


def groups_of(options: Sequence[tree.Option], keys: Sequence[object]) -> int | None:
    """Return in how many groups a person counts by what stands in OPTIONS, None where nothing does."""
    found = [option.value for option in options if option.name.text.lower() == GROUPS]
    if not found:
        return None
    if len(found) > 1:
        raise ParameterError(f"{GROUPS} is there twice in OPTIONS; write it once.")
    number = read_number(found[0].text) if isinstance(found[0], tree.Number) else Fraction(0)
    if number.denominator != 1 or not 1 <= number <= MOST_GROUPS:
        raise ParameterError(f"{GROUPS} is a whole number from 1 to {MOST_GROUPS}; write {GROUPS} = 2.")
    if not keys:
        raise ParameterError(f"{GROUPS} needs groups; write GROUP BY, or leave it out.")
    return int(number)


def printed_groups(groups: int | None) -> str:
    """Return the option in canonical form, with a space after it; nothing where there is none."""
    return "" if groups is None else f"WITH DIFFERENTIAL_PRIVACY OPTIONS ({GROUPS} = {groups}) "


def written_groups(select: tree.Select) -> str:
    """Return the options that change what is read, in canonical form from the tree alone."""
    found = [
        f"{option.name.text.lower()} = {printed_number(read_number(option.value.text))}"
        for option in select.options
        if option.name.text.lower() == GROUPS and isinstance(option.value, tree.Number)
    ]
    return f"WITH DIFFERENTIAL_PRIVACY OPTIONS ({', '.join(found)}) " if found else ""


def _check_unit(option: tree.Option, scope: Scope) -> None:
    if isinstance(option.value, tree.Number) or not scope.names_person(option.value):
        people = scope.database.people_table or next(iter(scope.database.private))
        raise ParameterError(
            f"The unit is {people}.{scope.database.person_of(people)}, not {printed(option.value)}; it is fixed."
        )

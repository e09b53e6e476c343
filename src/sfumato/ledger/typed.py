"""Bounds and budgets as people type them, read without evaluating anything."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sfumato.errors import ParameterError
from sfumato.ledger.budget import Budget
from sfumato.privacy import Approximate, Bound, Concentrated, Pure, Secrets, Truncated

_BOUND = re.compile(r"\s*(\w+)\s*\(([^()]*)\)\s*(\.per_attribute\(\))?\s*")
_NUMBER = re.compile(r"\s*(?:(?:epsilon|eps|ε)\s*=?\s*)?(\d+(?:\.\d+)?|\.\d+|\d+/\d+)\s*", re.IGNORECASE)
_KINDS: dict[str, tuple[type[Bound], int]] = {
    "pure": (Pure, 1),
    "concentrated": (Concentrated, 1),
    "truncated": (Truncated, 2),
    "approximate": (Approximate, 2),
}
EXAMPLES = "Pure(0.1), Concentrated(0.02), Truncated(0.02, 20) or Approximate(1, 1e-6)"


def read_bound(text: str, name: str = "--spend") -> Bound:
    """Return the bound that a text names.

    >>> read_bound("Pure(0.1)"), read_bound("approximate(1, 1e-6)"), read_bound("Pure(1/3).per_attribute()")
    (Pure(1/10), Approximate(1, 1/1000000), Pure(1/3).per_attribute())
    """
    found = _BOUND.fullmatch(text)
    lone = _NUMBER.fullmatch(text)
    if lone is not None:
        raise ParameterError(
            f"{name} {lone[1]} does not say of which measure it is; if you mean epsilon, write Pure({lone[1]})."
        )
    if found is None or found[1].lower() not in _KINDS:
        raise ParameterError(f"{name} must be a bound, and {text[:60]!r} is none; write {EXAMPLES}.")
    kind, count = _KINDS[found[1].lower()]
    numbers = [part.strip() for part in found[2].split(",")]
    if len(numbers) != count or not all(numbers):
        raise ParameterError(
            f"{kind.__name__} takes {count} number{'s' if count > 1 else ''}, and {text[:60]!r} has "
            f"{sum(map(bool, numbers))}; write {EXAMPLES}."
        )
    bound = kind(*numbers)
    return bound.per_attribute() if found[3] else bound


def read_budget(
    person: str,
    each_attribute: str | None,
    attributes: Sequence[str],
    people: Sequence[str],
    secrets: Secrets | None,
    *,
    units: Sequence[str] = (),
) -> Budget:
    """Return the budget that some options describe.

    `race+sex=Pure(1.5)` and `4=Pure(10)` name sets and families, `day=Concentrated(1)` what one period may cost.
    """
    named: dict[str | tuple[str, ...], Bound] = {
        tuple(names.replace(" ", "").split("+")): bound
        for names, bound in _pairs(attributes, "--attributes", "race+sex=Pure(1)")
    }
    groups = {}
    for size, bound in _pairs(people, "--people", "4=Pure(10)"):
        if not size.isdecimal():
            raise ParameterError(f"--people needs a number of people before the equals sign, not {size!r}.")
        groups[int(size)] = bound
    return Budget(
        "none" if person == "none" else read_bound(person, "--person"),
        None if each_attribute is None else read_bound(each_attribute, "--each-attribute"),
        named,
        groups,
        secrets=secrets,
        units=dict(_pairs(units, "--units", "day=Concentrated(1)")),
    )


def _pairs(options: Sequence[str], name: str, example: str) -> list[tuple[str, Bound]]:
    found = []
    for option in options:
        label, equals, bound = option.partition("=")
        if not equals or not label.strip():
            raise ParameterError(f"{name} is written as {example}, and {option[:60]!r} is not.")
        found.append((label.strip(), read_bound(bound, name)))
    return found

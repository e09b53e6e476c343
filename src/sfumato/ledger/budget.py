"""Budgets: any number of limits at once, on a person, on attributes, on groups of people (LF-ATTR, LF-GROUP)."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from sfumato.errors import ParameterError, SchemaError
from sfumato.exact import positive_integer
from sfumato.ledger.units import Unit, in_order
from sfumato.privacy import (
    EVERYTHING,
    Approximate,
    Attributes,
    Bound,
    Everything,
    Secrets,
    attributes,
    bound_from_json,
)
from sfumato.privacy.attributes import attributes_from_json, attributes_to_json
from sfumato.privacy.bounds import require_bound
from sfumato.words import Understood

Names = str | tuple[str, ...]
"""One attribute, or several together, as a key of a budget."""


@dataclass(frozen=True, init=False)
class Limit:
    """A ceiling on what everything together may reveal about these attributes of `people` people.

    >>> from sfumato import Pure
    >>> Limit("age", Pure(1)).name, Limit(EVERYTHING, Pure(10), people=4).name
    ('age', '4 people')
    """

    on: Attributes
    bound: Bound
    people: int

    def __init__(self, on: Iterable[str] | str | Everything, bound: Bound, people: int = 1) -> None:
        names = attributes(on)
        if not isinstance(names, Everything) and not names:
            raise ParameterError("A limit speaks of at least one attribute; name one, or write EVERYTHING.")
        object.__setattr__(self, "on", names)
        # "Per attribute" tells a mechanism how to calibrate; a limit says itself what it is about.
        object.__setattr__(self, "bound", replace(require_bound(bound, "A limit"), unit="person"))
        object.__setattr__(self, "people", positive_integer(people, "people"))

    @property
    def name(self) -> str:
        """A short name for people: 'person', 'age + sex', '4 people', 'age of 4 people'."""
        if isinstance(self.on, Everything):
            return "person" if self.people == 1 else f"{self.people} people"
        columns = " + ".join(sorted(self.on))
        return columns if self.people == 1 else f"{columns} of {self.people} people"

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `from_json` reads back exactly."""
        return {"on": attributes_to_json(self.on), "people": self.people, "bound": self.bound.to_json()}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Limit:
        """Read what `to_json` wrote."""
        return cls(attributes_from_json(record["on"]), bound_from_json(record["bound"]), record["people"])


@dataclass(frozen=True, init=False)
class Budget(metaclass=Understood):
    """Everything that a ledger promises: all of its limits hold at once.

    `each_attribute` makes one limit per class of linked attributes, `attributes` names single ones, pairs or
    groups, `people` limits groups of k people, `more` takes any other `Limit`. `secrets` declares the attributes
    and which of them carry the same secret; a limit on a column speaks of everything linked to it. `units` limits what
    may be learnt of each day, week, month, quarter or year of a person, of `every 14 days from 2026-01-01`, of each
    value of a category column (`shop`), or of both together (`day, shop`); beside it `person="none"` says that nothing
    is promised for a lifetime (PB-UNIT).

    >>> from sfumato import Pure
    >>> secrets = Secrets(("age", "born", "sex"), dependencies=(("born", "age"),))
    >>> budget = Budget(Pure(3), each_attribute=Pure(1), people={4: Pure(10)}, secrets=secrets)
    >>> [limit.name for limit in budget.limits()]
    ['person', 'age + born', 'sex', '4 people']
    """

    person: Bound | None
    each_attribute: Bound | None
    attributes: tuple[tuple[tuple[str, ...], Bound], ...]
    people: tuple[tuple[int, Bound], ...]
    more: tuple[Limit, ...]
    secrets: Secrets | None
    units: tuple[tuple[str, Bound], ...]

    def __init__(
        self,
        person: Bound | Literal["none"] | None = None,
        each_attribute: Bound | None = None,
        attributes: Mapping[Names, Bound] | None = None,
        people: Mapping[int, Bound] | None = None,
        *,
        more: Iterable[Limit] = (),
        secrets: Secrets | None = None,
        units: Mapping[str, Bound] | None = None,
    ) -> None:
        given = {Unit.read(unit).name: _unit_bound(unit, bound) for unit, bound in (units or {}).items()}
        each_unit = tuple((unit, given[unit]) for unit in in_order(list(given)))  # JSON keeps no order
        if person == "none":
            _require_units(each_unit)
            person = None
        elif person is None:
            raise ParameterError(
                "A budget needs a limit for the whole person, because a figure per attribute means nothing without "
                "it; write for example Budget(person=Pure(3), each_attribute=Pure(1))."
            )
        elif require_bound(person, "person").unit != "person":
            raise ParameterError("The person limit is for whole people; leave .per_attribute() out of person=.")
        named = tuple(
            (((key,) if isinstance(key, str) else tuple(key)), require_bound(bound, f"attributes[{key!r}]"))
            for key, bound in (attributes or {}).items()
        )
        groups = tuple((size, require_bound(bound, f"people[{size!r}]")) for size, bound in (people or {}).items())
        for field, value in (
            ("person", person),
            ("each_attribute", each_attribute if each_attribute is None else require_bound(each_attribute, "each")),
            ("attributes", named),
            ("people", groups),
            ("more", tuple(more)),
            ("secrets", secrets),
            ("units", each_unit),
        ):
            object.__setattr__(self, field, value)
        if secrets is not None or not self.names_attributes:
            self.limits()  # a wrong name or an empty group is refused here, not when the ledger is in use

    @property
    def names_attributes(self) -> bool:
        """Whether some limit speaks of attributes, so that they must be declared."""
        by_name = any(not isinstance(limit.on, Everything) for limit in self.more)
        return self.each_attribute is not None or bool(self.attributes) or by_name

    def about(self, secrets: Secrets) -> Budget:
        """Return the same budget for these attributes, unless it already declares its own."""
        if self.secrets is not None:
            return self
        return Budget(
            self.person or "none",
            self.each_attribute,
            dict(self.attributes),
            dict(self.people),
            more=self.more,
            secrets=secrets,
            units=dict(self.units),
        )

    def limits(self) -> tuple[Limit, ...]:
        """Return all limits, each on the closure of its attributes, in the order of declaration."""
        found = [] if self.person is None else [Limit(EVERYTHING, self.person)]
        if self.each_attribute is not None:
            found += [Limit(names, self.each_attribute) for names in self._declared().classes()]
        found += [Limit(closure(self._declared(), names), bound) for names, bound in self.attributes]
        found += [Limit(EVERYTHING, bound, people=size) for size, bound in self.people]
        for limit in self.more:
            on = limit.on if isinstance(limit.on, Everything) else closure(self._declared(), limit.on)
            found.append(Limit(on, limit.bound, limit.people))
        return tuple(dict.fromkeys(found))

    def bounds(self) -> list[Bound]:
        """Return every bound that is written here."""
        each = [] if self.each_attribute is None else [self.each_attribute]
        named, groups = [bound for _, bound in self.attributes], [bound for _, bound in self.people]
        whole = [] if self.person is None else [self.person]
        by_unit = [bound for _, bound in self.units]
        return [*whole, *each, *named, *groups, *(limit.bound for limit in self.more), *by_unit]

    def as_divided_before(self) -> Budget:
        """Return the budget as earlier versions read it: half of every delta for leaks, unless that is written."""
        return Budget(
            "none" if self.person is None else _divided_before(self.person),
            None if self.each_attribute is None else _divided_before(self.each_attribute),
            {names: _divided_before(bound) for names, bound in self.attributes},
            {size: _divided_before(bound) for size, bound in self.people},
            more=[Limit(limit.on, _divided_before(limit.bound), limit.people) for limit in self.more],
            secrets=self.secrets,
            units=dict(self.units),
        )

    def _declared(self) -> Secrets:
        if self.secrets is None:
            raise ParameterError(
                "This budget limits attributes, so it must know them all; "
                "write secrets=Secrets(('age', 'sex', …)), with the pairs that determine each other as dependencies=."
            )
        return self.secrets

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `from_json` reads back exactly."""
        return {
            "person": None if self.person is None else self.person.to_json(),
            "each_attribute": None if self.each_attribute is None else self.each_attribute.to_json(),
            "attributes": [[list(names), bound.to_json()] for names, bound in self.attributes],
            "people": [[size, bound.to_json()] for size, bound in self.people],
            "more": [limit.to_json() for limit in self.more],
            "secrets": None if self.secrets is None else secrets_to_json(self.secrets),
            **({"units": {unit: bound.to_json() for unit, bound in self.units}} if self.units else {}),
        }

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Budget:
        """Read what `to_json` wrote."""
        each, secrets = record["each_attribute"], record["secrets"]
        return cls(
            "none" if record["person"] is None else bound_from_json(record["person"]),
            None if each is None else bound_from_json(each),
            {tuple(names): bound_from_json(bound) for names, bound in record["attributes"]},
            {size: bound_from_json(bound) for size, bound in record["people"]},
            more=[Limit.from_json(limit) for limit in record["more"]],
            secrets=None if secrets is None else secrets_from_json(secrets),
            units={unit: bound_from_json(bound) for unit, bound in record.get("units", {}).items()},
        )


def _unit_bound(unit: str, bound: Bound) -> Bound:
    """Return a limit on each slot of a unit; its ceilings are fixed now, so its delta is divided now."""
    return _divided_before(replace(require_bound(bound, f"units[{unit!r}]"), unit="person"))


def _require_units(units: tuple[tuple[str, Bound], ...]) -> None:
    """Refuse the word "none" for a person limit where nothing else is promised."""
    if not units:
        raise ParameterError(
            "person='none' says that nothing is promised for a lifetime, which is allowed only beside a limit on each "
            "day, week, month, quarter or year; write Budget(person='none', units={'day': Pure(1)})."
        )


def _divided_before(bound: Bound) -> Bound:
    if isinstance(bound, Approximate) and not bound.divided:
        return Approximate(bound.epsilon, bound.delta, leaks=bound.delta / 2)
    return bound


def closure(secrets: Secrets, names: Iterable[str] | str) -> frozenset[str]:
    """Return the attributes and all that are linked to them; an unknown one is answered with the nearest.

    >>> closure(Secrets(("age", "sex")), "agee")
    Traceback (most recent call last):
        ...
    sfumato.errors.SchemaError: 'agee' is not an attribute; did you mean 'age'? The attributes are age, sex.
    """
    asked = attributes(names)
    assert not isinstance(asked, Everything)
    require_known(secrets, asked)
    return secrets.closure(asked)


def require_known(secrets: Secrets, names: frozenset[str]) -> None:
    """Refuse an attribute that was not declared."""
    for name in sorted(names - secrets.known):
        near = difflib.get_close_matches(name, secrets.names, n=1)
        hint = f" did you mean {near[0]!r}?" if near else ""
        shown = ", ".join(secrets.names[:20]) + (", …" if len(secrets.names) > 20 else "")
        raise SchemaError(f"{name!r} is not an attribute;{hint} The attributes are {shown}.")


def secrets_to_json(secrets: Secrets) -> dict[str, Any]:
    """Return a JSON object that `secrets_from_json` reads back."""
    return {
        "names": list(secrets.names),
        "groups": {name: list(members) for name, members in (secrets.groups or {}).items()},
        "dependencies": [list(pair) for pair in secrets.dependencies],
    }


def secrets_from_json(record: dict[str, Any]) -> Secrets:
    """Read what `secrets_to_json` wrote."""
    pairs = tuple((first, second) for first, second in record["dependencies"])
    return Secrets(tuple(record["names"]), record["groups"] or None, pairs)

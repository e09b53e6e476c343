"""Sets of attributes, and which columns carry the same secret."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

from sfumato.errors import ParameterError, SchemaError


class Everything(Enum):
    """All private attributes of a person: the whole record."""

    EVERYTHING = "everything"

    def __repr__(self) -> str:
        return "EVERYTHING"


EVERYTHING = Everything.EVERYTHING

Attributes = frozenset[str] | Everything
"""Some attributes by name, or the whole record."""


def attributes(names: Iterable[str] | str | Everything) -> Attributes:
    """Return a set of attributes; one name stands for itself.

    >>> attributes("age"), attributes(EVERYTHING)
    (frozenset({'age'}), EVERYTHING)
    """
    if isinstance(names, Everything):
        return names
    if not isinstance(names, Iterable):
        raise ParameterError(f"Attributes are named by their names, not by {type(names).__name__}; write 'age'.")
    return frozenset((names,)) if isinstance(names, str) else frozenset(names)


def touches(first: Attributes, second: Attributes) -> bool:
    """Tell whether two sets of attributes have one in common."""
    if isinstance(first, Everything):
        return isinstance(second, Everything) or bool(second)
    if isinstance(second, Everything):
        return bool(first)
    return not first.isdisjoint(second)


def attributes_to_json(names: Attributes) -> Any:
    """Return a sorted list, or the word for the whole record."""
    return names.value if isinstance(names, Everything) else sorted(names)


def attributes_from_json(record: Any) -> Attributes:
    """Read what `attributes_to_json` wrote."""
    return EVERYTHING if record == EVERYTHING.value else frozenset(record)


@dataclass(frozen=True)
class Secrets:
    """Which columns carry the same secret, declared in public and never read from data (PDP-LEDGER).

    `groups` merges columns into one attribute (all columns of a person's location, say); `dependencies` are
    pairs of columns of which one determines the other (date of birth, age). A report on a column speaks of
    everything linked to it.

    >>> secrets = Secrets(("dob", "age", "zip", "state"), dependencies=(("dob", "age"), ("zip", "state")))
    >>> sorted(secrets.closure("age"))
    ['age', 'dob']
    """

    names: tuple[str, ...]
    groups: Mapping[str, Sequence[str]] | None = None
    dependencies: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        # One form for equal declarations, however they were written or stored.
        grouped = {label: tuple(members) for label, members in (self.groups or {}).items()}
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "groups", grouped or None)
        object.__setattr__(self, "dependencies", tuple((first, second) for first, second in self.dependencies))
        self._check()

    @cached_property
    def known(self) -> frozenset[str]:
        """The names, to be looked up: a list of hundreds is looked through at every reservation otherwise."""
        return frozenset(self.names)

    def _check(self) -> None:
        known = self.known
        if len(known) != len(self.names):
            raise SchemaError("Two attributes have the same name; give each one its own.")
        linked = [name for pair in self.dependencies for name in pair]
        grouped = [name for members in (self.groups or {}).values() for name in members]
        for name in linked + grouped:
            if name not in known:
                raise SchemaError(f"{name!r} is not an attribute; the attributes are {', '.join(self.names)}.")

    def closure(self, names: Iterable[str] | str) -> frozenset[str]:
        """Return the attributes and all that are linked to them, followed both ways."""
        asked = attributes(names)
        assert not isinstance(asked, Everything)
        for name in asked:
            if name not in self.known:
                raise SchemaError(f"{name!r} is not an attribute; the attributes are {', '.join(self.names)}.")
        links = [frozenset(pair) for pair in self.dependencies]
        links += [frozenset(members) for members in (self.groups or {}).values()]
        reached = frozenset(asked)
        while True:
            wider = reached.union(*(link for link in links if touches(link, reached)))
            if wider == reached:
                return reached
            reached = wider

    def classes(self) -> list[frozenset[str]]:
        """Return the smallest sets of attributes that a per-attribute limit can speak of."""
        return list(dict.fromkeys(self.closure(name) for name in self.names))

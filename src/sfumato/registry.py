"""Things known by name: some are there from the start, others are brought by a room that is loaded when it is needed.

The papers' algorithms stand in rooms above the core. The core knows their names and where they live, as text; a room
registers what it brings when it is first asked for, so that nobody pays for what they do not use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Generic, TypeVar

from sfumato.errors import ParameterError

Thing = TypeVar("Thing")


class Registry(Generic[Thing]):
    """Things of one kind by name; `one` and `all` are the words for them, `rooms` says where others live.

    `bringing` are modules that bring more when they are imported, which is when a name is not known otherwise.

    >>> colours = Registry[int]("colour", "colours")
    >>> colours.add("red", 1)
    >>> colours["red"], "blue" in colours, list(colours)
    (1, False, ['red'])
    """

    def __init__(
        self, one: str, all: str, rooms: Mapping[str, str] | None = None, bringing: Sequence[str] = ()
    ) -> None:
        self._one, self._all, self._rooms, self._bringing = one, all, dict(rooms or {}), bringing
        self._known: dict[str, Thing] = {}

    def add(self, name: str, thing: Thing) -> None:
        """Make a thing known by its name."""
        self._known[name] = thing

    def add_kind(self, made: Any) -> None:
        """Make a class known by the `kind` that it states itself; one without is only a step between others."""
        if "kind" in made.__dict__:
            self.add(made.kind, made)

    def require(self, name: Any) -> None:
        """Refuse a name that nothing has, with the names that there are."""
        if name not in self:
            raise ParameterError(f"There is no {self._one} {name!r}; the {self._all} are {', '.join(self)}.")

    def __getitem__(self, name: Any) -> Thing:
        self.require(name)
        if name not in self._known:
            import_module(self._rooms[name])
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._known or name in self._rooms or name in self.brought()

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self.brought(), *self._rooms}))

    def brought(self) -> Mapping[str, Thing]:
        """Return what is there once all that bring things are imported, without the rooms of single ones."""
        for module in self._bringing:
            import_module(module)
        return self._known

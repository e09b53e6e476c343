"""Names that moved: the error for an old one says where it is now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from sfumato.errors import UnknownName


def moved(
    module: str, places: Mapping[str, str], instead: Mapping[str, str] = MappingProxyType({})
) -> Callable[[str], Any]:
    """Return a module's `__getattr__` that says where a name went, what to write instead, or that there is none.

    >>> moved("sfumato.old", {"thing": "sfumato.new.thing"})("thing")
    Traceback (most recent call last):
    sfumato.errors.UnknownName: sfumato.old.thing is now sfumato.new.thing; import it from there.
    """

    def missing(name: str) -> Any:
        if name in places:
            raise UnknownName(f"{module}.{name} is now {places[name]}; import it from there.")
        if name in instead:
            raise UnknownName(f"{module} has no {name!r}; {instead[name]}.")
        raise UnknownName(f"{module} has no {name!r}; see dir({module}) for what there is.")

    return missing

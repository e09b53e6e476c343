"""Names that are not in the module where they are asked for: loaded when first used, or said where they are now."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Any, NoReturn

from sfumato.errors import ParameterError, UnknownImport, UnknownName

NONE: Mapping[str, str] = MappingProxyType({})


def moved(module: str, places: Mapping[str, str], instead: Mapping[str, str] = NONE) -> Callable[[str], Any]:
    """Return a module's `__getattr__` that says where a name went, what to write instead, or that there is none.

    >>> moved("sfumato.old", {"thing": "sfumato.new.thing"})("thing")
    Traceback (most recent call last):
    sfumato.errors.UnknownName: sfumato.old.thing is now sfumato.new.thing; import it from there.
    """

    def missing(name: str) -> Any:
        if name in places:
            said = f"{module}.{name} is now {places[name]}; import it from there."
        elif name in instead:
            said = f"{module} has no {name!r}; {instead[name]}."
        else:
            raise UnknownName(f"{module} has no {name!r}; see dir({module}) for what there is.")
        raise UnknownImport(said) if _imports() else UnknownName(said)

    return missing


def _imports() -> bool:
    """Tell whether `from package import name` asks: it hides what a missing attribute says, not what an import does."""
    frame = sys._getframe(2)  # of whoever asks, or of the module's own __getattr__
    for _ in range(2):
        if frame.f_code.co_name == "_handle_fromlist" and frame.f_globals.get("__name__") == "importlib._bootstrap":
            return True
        if frame.f_back is None:
            return False
        frame = frame.f_back
    return False


def uncalled(module: str, said: str) -> None:
    """Let a module that people take for a function say what to write."""

    class Room(ModuleType):
        def __call__(self, *given: Any, **named: Any) -> NoReturn:
            raise ParameterError(f"{module} holds functions and is none itself; {said}.")

    sys.modules[module].__class__ = Room


def later(
    module: str, homes: Mapping[str, str], places: Mapping[str, str] = NONE, needs: Mapping[str, str] = NONE
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return a module's `__getattr__` and `__dir__`: a name's home is loaded when it is first used, else as by `moved`.

    `needs` says for a package that may not be installed what to do where a home wants it.

    >>> load, _ = later("sfumato.new", {"ParameterError": "sfumato.errors"})
    >>> load("ParameterError").__name__
    'ParameterError'
    """
    missing = moved(module, places)

    def load(name: str) -> Any:
        if name not in homes:
            return missing(name)
        try:
            return getattr(import_module(homes[name]), name)
        except ModuleNotFoundError as absent:
            package = (absent.name or "").partition(".")[0]
            if package not in needs:
                raise
            raise ImportError(needs[package]) from absent

    return load, lambda: sorted(sys.modules[module].__all__)

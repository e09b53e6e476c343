"""The ways to make a synopsis, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from sfumato.errors import ParameterError
from sfumato.privacy import Bound
from sfumato.ask.prepared import Prepared
from sfumato.table.gauge import Basis

Columns = tuple[str, ...] | None
Method = Callable[[Basis, Bound, Columns, Mapping[str, Any]], Prepared]
"""From public facts, a spend, columns and options to what runs; `made["synopsis"]` of its answer is a synopsis."""

ROOMS = {
    "auto": "sfumato.questions.synopsis.build",
    "fourier": "sfumato.questions.synopsis.build",
    "marginals": "sfumato.questions.synopsis.build",
    "parities": "sfumato.questions.synopsis.parities",
    "cuts": "sfumato.questions.synopsis.cuts",
    "tree": "sfumato.papers.query_release.learning.trees",
    "labels": "sfumato.papers.query_release.learning.labelled",
}
"""Where each method lives; its room registers it when it is first asked for."""

_METHODS: dict[str, tuple[Method, frozenset[str]]] = {}


def register(name: str, method: Method, options: tuple[str, ...]) -> None:
    """Add a method under its name, with the options that it takes."""
    _METHODS[name] = (method, frozenset(options))


def known() -> tuple[str, ...]:
    """Return the names of all methods."""
    return tuple(dict.fromkeys((*ROOMS, *sorted(_METHODS))))


def method_of(name: str, options: Mapping[str, Any]) -> Method:
    """Return a method by its name, refusing options that it does not take."""
    if name not in _METHODS and name in ROOMS:
        import_module(ROOMS[name])
    if name not in _METHODS:
        raise ParameterError(f"There is no synopsis by {name!r}; the methods are {', '.join(known())}.")
    method, allowed = _METHODS[name]
    for option in options:
        if option not in allowed:
            raise ParameterError(f"{name!r} has no option {option!r}; it has {', '.join(sorted(allowed))}.")
    return method

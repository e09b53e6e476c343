"""The ways to make synthetic data, by name; other rooms add theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sfumato.errors import ParameterError
from sfumato.privacy import Bound
from sfumato.ask.prepared import Prepared
from sfumato.table.gauge import Basis

if TYPE_CHECKING:
    from sfumato.workload.workload import Workload

Method = Callable[[Basis, Bound, "Workload", Mapping[str, Any]], Prepared]
"""From public facts, a spend, a workload and options to what runs; `made["model"]` of its answer is a model's JSON."""

METHODS: dict[str, Method] = {}
"""Methods beside "auto"; filled by `register`."""

NAMED = {
    "mwem": "sfumato.papers.query_release.weights",
    "pdp-mwem": "sfumato.papers.query_release.weights",
    "barak": "sfumato.papers.query_release.weights",
    "agnostic": "sfumato.papers.query_release.learning.agnostic",
}
"""The papers' algorithms, and the rooms that register them when one is first asked for."""


def register(name: str, method: Method) -> None:
    """Add a method under its name."""
    METHODS[name] = method


def known() -> tuple[str, ...]:
    """Return the names of all methods."""
    return ("auto", *sorted({*METHODS, *NAMED}))


def method_of(name: str) -> Method:
    """Return a method by its name, loading the room that brings it."""
    if name not in METHODS and name in NAMED:
        from importlib import import_module

        import_module(NAMED[name])
    if name not in METHODS:
        raise ParameterError(f"There is no method {name!r}; the methods are {', '.join(known())}.")
    return METHODS[name]

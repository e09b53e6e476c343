"""The ways to make a synopsis, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sfumato.ask.prepared import Prepared
from sfumato.errors import ParameterError
from sfumato.privacy import Bound
from sfumato.registry import Registry
from sfumato.table.gauge import Basis

Columns = tuple[str, ...] | None
Method = Callable[[Basis, Bound, Columns, Mapping[str, Any]], Prepared]
"""From public facts, a spend, columns and options to what runs; `made["synopsis"]` of its answer is a synopsis."""

METHODS: Registry[tuple[Method, frozenset[str]]] = Registry(
    "synopsis by",
    "methods",
    {
        "auto": "sfumato.questions.synopsis.build",
        "fourier": "sfumato.questions.synopsis.build",
        "marginals": "sfumato.questions.synopsis.build",
        "parities": "sfumato.papers.query_release.synopses.parities",
        "cuts": "sfumato.papers.query_release.synopses.cuts",
        "tree": "sfumato.papers.query_release.learning.trees",
        "labels": "sfumato.papers.query_release.learning.labelled",
    },
)
"""Every method with the options that it takes."""


def register(name: str, method: Method, options: tuple[str, ...]) -> None:
    """Add a method under its name, with the options that it takes."""
    METHODS.add(name, (method, frozenset(options)))


def method_of(name: str, options: Mapping[str, Any]) -> Method:
    """Return a method by its name, refusing options that it does not take."""
    method, allowed = METHODS[name]
    for option in options:
        if option not in allowed:
            raise ParameterError(f"{name!r} has no option {option!r}; it has {', '.join(sorted(allowed))}.")
    return method

"""Every mechanism of the package has a promise case, or a reason why it can have none."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module
from typing import Any

import pytest

import sfumato
from sfumato import Noise, Pure
from sfumato.ask.prepared import Exact
from sfumato.errors import NotProvable
from sfumato.mechanism import Promise
from sfumato.papers.query_release.geometry.experimental import walk_noise
from sfumato.privacy import ADD_REMOVE, Cost
from tests.promises.exemptions import uncovered
from tests.promises.found import every_case, in_the_gate, of_a_paper


def every_mechanism() -> set[type[Promise]]:
    """Return the classes of the package that state a loss and can be made."""
    for module in pkgutil.walk_packages(sfumato.__path__, "sfumato."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    return {kind for kind in _below(Promise) if kind.__module__.startswith("sfumato.") and not inspect.isabstract(kind)}


def _below(kind: type[Promise]) -> Iterator[type[Promise]]:
    for child in kind.__subclasses__():
        yield child
        yield from _below(child)


def enumerated() -> set[type[Promise]]:
    """Return the classes whose code some case runs: its mechanism, the parts, and what they are made from.

    For the core this is a case of the gate; for a paper's own algorithm one of the audit will do.
    """
    found: set[type[Promise]] = set()
    for case in every_case():
        for part in _parts(case.mechanism):
            kinds = (kind for kind in type(part).__mro__ if issubclass(kind, Promise))
            found.update(kind for kind in kinds if in_the_gate(case) or of_a_paper(kind))
    return found


def _parts(value: Any) -> Iterator[Promise]:
    if isinstance(value, Promise):
        yield value
        for part in fields(value):
            yield from _parts(getattr(value, part.name))
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _parts(part)


def missing(mechanisms: set[type[Promise]]) -> set[str]:
    return {kind.__name__ for kind in mechanisms - enumerated()}


def test_every_mechanism_has_a_case_or_a_reason():
    assert missing(every_mechanism()) == {entry.mechanism for entry in uncovered()}


def test_a_mechanism_without_a_case_is_seen():
    class Forgotten(Exact):
        """A mechanism that nobody wrote a case for."""

    assert missing({*every_mechanism(), Forgotten}) - missing(every_mechanism()) == {"Forgotten"}


def test_what_has_no_case_claims_nothing():
    walk = walk_noise([[1, 1], [1, -1]], Pure(1), allow_unproven_mixing=True, relation=ADD_REMOVE, steps=1)
    with pytest.raises(NotProvable):
        walk.loss()
    assert Exact().loss().person == Cost.zero()
    assert Exact().run(7, Noise(insecure_seed=1)) == 7

"""Every promise case: the shipped code keeps its promise, reaches it, and every mutant is caught."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from sfumato import audit
from sfumato.mechanism import Promise
from tests.promises.case import PromiseCase


def _cases() -> list[PromiseCase]:
    found = [
        case
        for path in sorted(Path(__file__).parent.glob("cases_*.py"))
        for case in import_module(f"tests.promises.{path.stem}").CASES
    ]
    names = [case.name for case in found]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"Two promise cases share a name; rename one of {repeated}.")
    return found


CASES = _cases()
MUTANTS = [
    pytest.param(case, mutant, id=f"{case.name}: {name}") for case in CASES for name, mutant in case.mutants.items()
]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_promise_is_kept_and_reached(case: PromiseCase) -> None:
    report = audit.check(case.mechanism, case.pairs, tail=case.tail, paths=case.paths)
    assert report.ok, f"{case.name} breaks its promise: {report.worst}"
    assert report.reach >= case.reach, f"{case.name} reaches only {report.reach:.4f} of its claim: {report.worst}"


@pytest.mark.parametrize(("case", "mutant"), MUTANTS)
def test_mutant_is_caught(case: PromiseCase, mutant: Promise) -> None:
    claim = case.mechanism.loss()
    caught = (not audit.check(mutant, [pair], claim=claim, tail=case.tail, paths=case.paths).ok for pair in case.pairs)
    assert any(caught), "The mutant survives: its law over all pairs is within the claim of the unchanged mechanism."

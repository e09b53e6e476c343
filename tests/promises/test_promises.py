"""Every promise case: the shipped code keeps its promise, reaches it, and every mutant is caught."""

from __future__ import annotations

import pytest

from sfumato import audit
from sfumato.mechanism import Promise
from tests.promises import exemptions
from tests.promises.case import PromiseCase
from tests.promises.found import every_case, in_the_gate, measured, reaches


def _marks(case: PromiseCase) -> tuple[pytest.MarkDecorator, ...]:
    return () if in_the_gate(case) else (pytest.mark.audit,)


CASES = [pytest.param(case, id=case.name, marks=_marks(case)) for case in every_case()]
MUTANTS = [
    pytest.param(
        case, mutant, id=f"{case.name}: {name}", marks=(pytest.mark.audit,) if case.slow and place else _marks(case)
    )
    for case in every_case()
    for place, (name, mutant) in enumerate(case.mutants.items())
]


@pytest.mark.parametrize("case", CASES)
def test_promise_is_kept_and_reached(case: PromiseCase) -> None:
    report = measured(case)
    assert report.ok, f"{case.name} breaks its promise: {report.worst}"
    assert not exemptions.problems(case.name, reaches(report), exemptions.listed()), str(report.worst)


@pytest.mark.parametrize(("case", "mutant"), MUTANTS)
def test_mutant_is_caught(case: PromiseCase, mutant: Promise) -> None:
    claim = case.mechanism.loss()
    caught = (not audit.check(mutant, [pair], claim=claim, tail=case.tail, paths=case.paths).ok for pair in case.pairs)
    assert any(caught), "The mutant survives: its law over all pairs is within the claim of the unchanged mechanism."

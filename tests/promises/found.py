"""All promise cases, and what one of them reaches."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from importlib import import_module
from pathlib import Path

from sfumato import audit
from sfumato.privacy import Attributes, Everything
from tests.promises.case import PromiseCase


@cache
def every_case() -> tuple[PromiseCase, ...]:
    """Return the cases of all files `cases_<topic>.py`."""
    found = [
        case
        for path in sorted(Path(__file__).parent.glob("cases_*.py"))
        for case in import_module(f"tests.promises.cases_{path.stem.removeprefix('cases_')}").CASES
    ]
    names = [case.name for case in found]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"Two promise cases share a name; rename one of {repeated}.")
    return tuple(found)


def of_a_paper(kind: type) -> bool:
    """Tell whether a class is one of the papers' own algorithms: nothing that people hold is made of them."""
    return kind.__module__.startswith("sfumato.papers.")


def in_the_gate(case: PromiseCase) -> bool:
    """Tell whether a case is run at every change: what is long, and what is a paper's own, is left to the audit."""
    return not case.long and not of_a_paper(type(case.mechanism))


def measured(case: PromiseCase) -> audit.Report:
    """Return what the code that ships loses, beside what it claims."""
    return audit.check(case.mechanism, case.pairs, tail=case.tail, paths=case.paths)


def reaches(report: audit.Report) -> dict[str, float]:
    """Return which part of its claim is measured: for the person, and for the attribute that shows least.

    A set of attributes that holds another one of the case is left out: its claim follows from those of its parts, and
    no pair need be the worst for all of them. Where nothing is claimed there is nothing to reach: any loss at all
    breaks the promise.
    """
    best: dict[Attributes, float] = defaultdict(float)
    for changed, found in report.pairs:
        if found.claimed != 0:
            best[changed] = max(best[changed], found.ratio)
    person = [reach for changed, reach in best.items() if isinstance(changed, Everything)]
    parts = {changed: reach for changed, reach in best.items() if not isinstance(changed, Everything)}
    smallest = [reach for changed, reach in parts.items() if not any(other < changed for other in parts)]
    return {change: min(values) for change, values in (("person", person), ("attribute", smallest)) if values}

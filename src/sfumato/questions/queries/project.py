"""Projections: the nearest answers that some table of people could have given. They read released numbers only.

The noisy answers lie outside of what any table gives; the nearest point inside is closer to the truth whatever the
noise was, because the set of answers of all distributions is convex (PDP-PROJ).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DomainTooLarge, ParameterError
from sfumato.questions.queries.consistent import consistent
from sfumato.questions.queries.vertices import Hull, frank_wolfe, nearest_exactly
from sfumato.words import one_of
from sfumato.workload.blocks import Marginal
from sfumato.workload.workload import Workload

Floats = NDArray[np.float64]
Projection = Literal["auto", "exact", "frank-wolfe", "local", "none"]
PROJECTIONS = ("auto", "exact", "frank-wolfe", "local", "none")

EXPLICIT = 2**20
"""Up to so many cells the whole domain is listed."""

EXACT_ENTRIES = 2**21
EXACT_CELLS = 2**11

STEPS_WORK = 2**31
"""About so many additions are spent on Frank-Wolfe steps before `auto` prefers local consistency."""


@dataclass(frozen=True)
class Projected:
    """Answers after a projection, how it was done, and by how much the squared distance may miss the nearest point."""

    answers: tuple[Floats, ...]
    method: str
    gap: float | None = None


def chosen(workload: Workload, method: str, counted: bool) -> str:
    """Return which projection is done, from public facts alone, refusing what cannot be."""
    one_of("method", method, PROJECTIONS)
    cells = prod(workload.space.shape(workload.columns))
    tables = any(isinstance(block, Marginal) for block in workload.blocks)
    if method in ("exact", "frank-wolfe") and cells > EXPLICIT:
        raise DomainTooLarge(
            f"The columns of this workload have {cells} combinations, and method={method!r} lists all of them; "
            "write method='local', which looks at one table at a time.",
            method="method='local'",
        )
    if method == "exact" and cells * workload.queries > 16 * EXACT_ENTRIES:
        raise DomainTooLarge(
            f"An exact projection would solve for {cells} cells and {workload.queries} queries at once; write "
            "method='frank-wolfe', which comes as near as you like.",
            method="method='frank-wolfe'",
        )
    if method != "none" and not counted and not tables:
        if method == "auto":
            return "none"
        raise ParameterError(
            "The number of people is not public here, and no table of the workload shows it; add a table of counts to "
            "the workload, or write method='none'."
        )
    if method != "auto":
        return method
    if cells <= EXACT_CELLS and cells * workload.queries <= EXACT_ENTRIES:
        return "exact"
    if cells <= EXPLICIT and cells * len(workload.blocks) * 40 <= STEPS_WORK:
        return "frank-wolfe"
    return "local" if tables else "none"


def total_of(workload: Workload, noisy: Sequence[NDArray[Any]]) -> float:
    """Return the number of people that the noisy tables agree on best: sums weighted by how little noise they hold."""
    sums = [
        (float(answers.sum()), 1 / len(answers))
        for block, answers in zip(workload.blocks, noisy, strict=True)
        if isinstance(block, Marginal)
    ]
    return max(1.0, sum(total * weight for total, weight in sums) / sum(weight for _, weight in sums))


def project(
    workload: Workload,
    noisy: Sequence[NDArray[Any]],
    method: str,
    people: int | None,
    variances: Sequence[float],
) -> Projected:
    """Return the projected integers of every block, as numbers that need not be whole.

    `variances` are those of the noise in a number of each block: Frank-Wolfe stops where its gap is a hundredth of
    them a query. It also takes over, and is named as the method, where an exact solution did not settle.
    """
    plain = tuple(np.asarray(answers, dtype=np.float64) for answers in noisy)
    if method == "none":
        return Projected(plain, method)
    total = float(people) if people is not None else total_of(workload, noisy)
    if total <= 0:
        return Projected(tuple(np.zeros(len(answers)) for answers in plain), method, 0.0)
    if method == "local":
        narrowest = min((variance for variance in variances if variance > 0), default=1.0)
        return Projected(_local(workload, plain, total, narrowest**0.5), method)
    hull = Hull(workload, total)
    target = np.concatenate(plain)
    nearest = nearest_exactly(hull, target) if method == "exact" else None
    if nearest is None:
        noise = sum(variance * len(answers) for variance, answers in zip(variances, plain, strict=True))
        method, nearest = "frank-wolfe", frank_wolfe(hull, target, 0.01 * noise)
    found, gap = nearest
    ends = np.cumsum([len(answers) for answers in plain])[:-1]
    return Projected(tuple(np.split(found, ends)), method, gap)


def _local(workload: Workload, plain: Sequence[Floats], total: float, deviation: float) -> tuple[Floats, ...]:
    """Make the tables agree; other queries stay within what they can be."""
    places = [place for place, block in enumerate(workload.blocks) if isinstance(block, Marginal)]
    tables = [plain[place].reshape(workload.blocks[place].shape) for place in places]
    names = [workload.blocks[place].columns for place in places]
    found = [
        np.clip(answers, _lowest(block) * total, block.denominator * total)
        for block, answers in zip(workload.blocks, plain, strict=True)
    ]
    for place, table in zip(places, consistent(names, tables, total, deviation), strict=True):
        found[place] = table.ravel()
    return tuple(found)


def _lowest(block: Any) -> int:
    return -1 if getattr(block, "signed", False) else 0

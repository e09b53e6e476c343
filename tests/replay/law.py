"""The exact law of what runs on what was read, wherever it is small enough to be listed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from math import prod
from typing import Any

from sfumato.audit import Report, check
from sfumato.audit.branching import BranchingNoise, PathEnds
from sfumato.audit.laws import table
from sfumato.errors import ParameterError
from sfumato.privacy import Cost
from tests.replay import harness, seam
from tests.replay.extreme import Neighbour

PATHS = 20_000
TAILS = (Fraction(1, 10**9), Fraction(1, 10**3))
"""How much of the tails of a draw may be left out; the wider one where the other has too many paths."""


def tail_for(mechanism: Any, exact: Any, claim: Cost, paths: int) -> Fraction | None:
    """Return how much of the tails is left out so that the law can be listed; None where it cannot."""
    tails = TAILS if claim.leak == 0 else (claim.leak / 1000,)
    return next((tail for tail in tails if _paths(mechanism, exact, tail) <= paths), None)


class _Middle(BranchingNoise):
    """Goes the way in the middle, where a mechanism hardly stops early."""

    def _extend(self, question: Any, depth: int) -> None:
        super()._extend(question, depth)
        self._settle(depth, len(self._branches[depth].values) // 2)


def _paths(mechanism: Any, exact: Any, tail: Fraction) -> float:
    """Return how many paths there are if all branch as the first one does, or as one in the middle."""
    most = 0
    for noise in (BranchingNoise(table(tail)), _Middle(table(tail))):
        try:
            with suppress(PathEnds):
                mechanism.run(exact, noise)
        except ParameterError:
            return float("inf")  # a single draw with too many outcomes
        most = max(most, prod(len(branches.values) for branches in noise._branches))
    return most


def differing(
    plan: seam.Plan, exact: Any, beside: Sequence[tuple[Neighbour, seam.Table]], name: str, most: int
) -> list[tuple[Neighbour, Any]]:
    """Return some neighbours of which something else is read, by a hash: as many of people as of attributes."""
    order = sorted(beside, key=lambda pair: hashlib.sha256(f"{name}, {pair[0].name}".encode()).digest())
    found: dict[bool, list[tuple[Neighbour, Any]]] = {True: [], False: []}
    for neighbour, opened in order:
        listed = found[neighbour.changed is None]
        if len(listed) < most:
            reading = plan.read(opened)
            if not harness.same(exact, reading):
                listed.append((neighbour, reading))
    return [*found[True], *found[False]]


def compared(
    plan: seam.Plan, tables: harness.Tables, name: str, most: int, paths: int = PATHS
) -> Iterator[tuple[Neighbour, Report]]:
    """Yield what the law of a plan says about some pairs of neighbours; nothing where it is too large."""
    exact = plan.read(tables.base)
    for neighbour, reading in differing(plan, exact, tables.beside(plan.relation), name, most):
        claim = harness.claimed(plan, neighbour)
        tail = tail_for(plan.mechanism, exact, claim, paths)
        if tail is None:
            return
        try:
            yield (
                neighbour,
                check(plan.mechanism.run, [(exact, reading)], claim, tail=tail, paths=paths, orders=_orders(claim)),
            )
        except ParameterError as refused:
            if "paths of draws" not in str(refused):
                raise


def _orders(claim: Cost) -> list[Fraction]:
    """Return a few orders of the curve; the claims of every order follow from the same parameters."""
    wanted = [Fraction(11, 10), Fraction(2), Fraction(8)]
    return [order for order in wanted if claim.curve.end > order]

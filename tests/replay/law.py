"""The exact law of what runs on what was read, wherever it is small enough to be listed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cache
from typing import Any

from sfumato.audit import Neighbours, Report
from sfumato.audit.branching import BranchingNoise, BranchTable, PathEnds
from sfumato.audit.checks import Laws, measured
from sfumato.audit.laws import table
from sfumato.errors import ParameterError
from sfumato.privacy import Cost
from tests.replay import harness, seam
from tests.replay.extreme import Neighbour

PATHS = 20_000
TAILS = (Fraction(1, 10**9), Fraction(1, 10**3))
"""How much of the tails of a draw may be left out; the wider one where the other has too many paths."""


class Listed:
    """The laws of one plan: masses of a draw are computed once, and the law of an input is listed once."""

    def __init__(self, mechanism: Any, exact: Any, paths: int) -> None:
        self._mechanism, self._exact, self._paths = mechanism, exact, paths
        self._draws: dict[Fraction, BranchTable] = {}
        self._laws: dict[Fraction, Laws | None] = {}

    def tail_for(self, claim: Cost) -> Fraction | None:
        """Return how much of the tails is left out so that the law can be listed; None where it cannot."""
        return next((tail for tail in _tails(claim) if self._counted(tail) <= self._paths), None)

    def of(self, tail: Fraction) -> Laws | None:
        """Return the laws up to a tail; None where that of the base has more paths than it seemed."""
        if tail not in self._laws:
            found: Laws | None = Laws(self._mechanism.run, self._table(tail), self._paths)
            if too_many(lambda: found.of(self._exact)):  # type: ignore[union-attr]
                found = None
            self._laws[tail] = found
        return self._laws[tail]

    def _table(self, tail: Fraction) -> BranchTable:
        if tail not in self._draws:
            # A draw with more outcomes than there may be paths is not followed.
            self._draws[tail] = table(tail, self._paths)
        return self._draws[tail]

    @cache  # noqa: B019  lives as long as its plan is looked at
    def _counted(self, tail: Fraction) -> float:
        return _paths(self._mechanism, self._exact, self._table(tail))


def too_many(listing: Callable[[], Any]) -> bool:
    """List a law; tell whether it has too many paths, or a single draw with more outcomes than there may be paths."""
    try:
        listing()
    except ParameterError as refused:
        if not any(words in str(refused) for words in ("paths of draws", "that audit.law follows")):
            raise
        return True
    return False


def _tails(claim: Cost) -> tuple[Fraction, ...]:
    return TAILS if claim.leak == 0 else (claim.leak / 1000,)


class TooManyPaths(BaseException):
    """There are more paths than may be listed; no `Exception`, so that no mechanism catches it."""


class _Middle(BranchingNoise):
    """Goes the way in the middle, where a mechanism hardly stops early."""

    def _extend(self, question: Any, depth: int) -> None:
        super()._extend(question, depth)
        self._settle(depth, len(self._branches[depth].values) // 2)


class _Counting(BranchTable):
    """Counts the outcomes of draws, and stops where there are more paths than may be: their masses are not needed."""

    def __init__(self, draws: BranchTable) -> None:
        super().__init__(draws.tail, draws.most)
        self._draws = draws
        self.paths = 1

    def of(self, question: Any) -> Any:
        if question[0] == "draw" and self.paths * self._width(question[1]) > self.most:
            raise TooManyPaths
        branches = self._draws.of(question)
        self.paths *= len(branches.values)
        if self.paths > self.most:
            raise TooManyPaths
        return branches

    @cache  # noqa: B019  lives for two runs
    def _width(self, law: Any) -> int:
        """Return how many outcomes a draw has: of a window that leaves out what is rare all have a mass."""
        return len(law.window(self.tail))


def _paths(mechanism: Any, exact: Any, draws: BranchTable) -> float:
    """Return how many paths there are if all branch as the first one does, or as one in the middle."""
    most = 0
    for kind in (BranchingNoise, _Middle):
        counting = _Counting(draws)
        try:
            with suppress(PathEnds):
                mechanism.run(exact, kind(counting))
        except (ParameterError, TooManyPaths):
            return float("inf")  # too many, or a single draw with too many outcomes
        most = max(most, counting.paths)
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
    exact, beside = plan.read(tables.base), tables.beside(plan.relation)
    listed = Listed(plan.mechanism, exact, paths)
    if all(listed.tail_for(harness.claimed(plan, one)) is None for one, _ in beside):
        return  # and nothing needs to be read of the neighbours
    # All are held until the last one was compared: laws are known by the inputs themselves.
    readings = differing(plan, exact, beside, name, most)
    for neighbour, reading in readings:
        claim = harness.claimed(plan, neighbour)
        tail = listed.tail_for(claim)
        if tail is None:
            return
        laws = listed.of(tail)
        if laws is not None and not too_many(lambda laws=laws, reading=reading: laws.of(reading)):
            yield neighbour, measured(laws, [Neighbours(exact, reading)], [claim], _orders(claim))


def _orders(claim: Cost) -> list[Fraction]:
    """Return a few orders of the curve; the claims of every order follow from the same parameters."""
    wanted = [Fraction(11, 10), Fraction(2), Fraction(8)]
    return [order for order in wanted if claim.curve.end > order]

"""Noise that remembers what it was added to, and noise that gives the same outputs again for another table.

A run is recorded as steps, one for every draw: exact numbers with noise on them, a choice among scores, a coin. Run again
on another table, each step is answered with the output of the first run, so that both runs go the same way; what differs
between their steps is all that an output can tell about the tables.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from sfumato.mechanism import Mechanism
from sfumato.noise import Law, Noise
from sfumato.papers.partial_dp.halfspace import HalfspaceChoice
from sfumato.papers.query_release.geometry.shaped import ShapedNoise
from sfumato.papers.query_release.weights.choosers import Disjoint
from sfumato.perturb import AdditiveNoise, additive
from sfumato.questions.distribution.medians import MedianTree
from sfumato.questions.quantiles import JointQuantiles
from sfumato.questions.quantiles.quantile_choice import QuantileChoice
from sfumato.select.exponential_choice import Exponential
from sfumato.select.heavy_cell import Choosing
from sfumato.select.permute_flip import PermuteAndFlip
from sfumato.select.quasiconcave.heaviest_cell import HeaviestCell
from sfumato.select.stable_choice import Stable
from sfumato.table.sparse import Sparse
from sfumato.totals.found_keys import FoundGroups
from sfumato.totals.private_keys import StableHistogram
from sfumato.totals.sparse_noise import SparseNoise

LEAVES: dict[type, str] = {
    Exponential: "run",
    PermuteAndFlip: "run",
    Choosing: "run",
    Stable: "run",
    HeaviestCell: "run",
    StableHistogram: "run",
    SparseNoise: "run",
    ShapedNoise: "run",
    JointQuantiles: "run",
    QuantileChoice: "run",
    AdditiveNoise: "run",
    MedianTree: "_median",
    Disjoint: "draw",
    HalfspaceChoice: "run",
}
"""What draws in a way that differs from table to table, in number or in kind: recorded as one step with its input."""


class Unaligned(BaseException):
    """The runs ask for different draws; no `Exception`, so that nothing catches it."""


@dataclass
class Step:
    """One draw: what was asked for, the exact numbers that it was added to, and what came out."""

    kind: str
    asked: tuple[Any, ...]
    out: Any = None
    exact: dict[int, int] = field(default_factory=dict)
    """Of additive noise: the number that each draw was added to; a draw that was added to nothing is missing."""


class Shift(int):
    """One draw, which knows what it is added to."""

    _tape: Tape
    _step: Step
    _place: int

    def _added(self, other: Any) -> int:
        return self._tape.added(self._step, self._place, int(other), int(self))

    def __add__(self, other: Any) -> Any:
        return self._added(other) if isinstance(other, (int, np.integer)) else NotImplemented

    __radd__ = __add__


class Shifts(np.ndarray):
    """Several draws in one array, which know what they are added to."""

    tape: Tape
    step: Step

    def __array_finalize__(self, other: Any) -> None:
        if other is not None and hasattr(other, "tape"):
            self.tape, self.step = other.tape, other.step

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [np.asarray(one) for one in inputs]
        if ufunc is np.add and method == "__call__" and len(inputs) == 2:
            mine = 0 if isinstance(inputs[0], Shifts) else 1
            return self.tape.summed(plain[1 - mine], plain[mine])
        return getattr(ufunc, method)(*plain, **options)

    def tolist(self) -> list[Any]:
        start = self.tape.start(self)
        return [
            self.tape.shift(self.step, start[1] + at, int(value)) for at, value in enumerate(np.asarray(self).ravel())
        ]


class Tape(Noise):
    """A `Noise` that records; with `given`, the steps of another run, it gives their outputs again."""

    def __init__(self, seed: int, given: list[Step] | None = None) -> None:
        super().__init__(insecure_seed=seed)
        self.seed = seed
        self.steps: list[Step] = []
        self.given = given
        self._buffers: list[tuple[int, int, Step, Any]] = []

    def _next(self, kind: str, asked: tuple[Any, ...]) -> tuple[Step, Step | None]:
        step = Step(kind, asked)
        before = None
        if self.given is not None:
            if len(self.steps) >= len(self.given):
                raise Unaligned
            before = self.given[len(self.steps)]
            # What choices and coins are asked for may differ; that is what is measured. How many numbers may not.
            if before.kind != kind or (kind in ("draw", "uniform", "permutation", "subset") and before.asked != asked):
                raise Unaligned
        self.steps.append(step)
        return step, before

    def _simple(self, kind: str, asked: tuple[Any, ...], draw: Any) -> Any:
        step, before = self._next(kind, asked)
        step.out = draw() if before is None else before.out
        return step.out

    def uniform(self, bound: int, size: int | None = None) -> Any:
        return self._simple("uniform", (bound, size), lambda: Noise.uniform(self, bound, size))

    def bernoulli(self, probability: Any) -> bool:
        return self._simple("bernoulli", (probability,), lambda: Noise.bernoulli(self, probability))

    def bernoulli_exp(self, exponent: Any) -> bool:
        return self._simple("bernoulli_exp", (exponent,), lambda: Noise.bernoulli_exp(self, exponent))

    def permutation(self, n: int) -> list[int]:
        return self._simple("permutation", (n,), lambda: Noise.permutation(self, n))

    def subset(self, population: int, size: int) -> list[int]:
        return self._simple("subset", (population, size), lambda: Noise.subset(self, population, size))

    def choose(self, scores: Any, rate: Any, lengths: Any = None) -> int:
        listed = tuple(np.asarray(scores).tolist())
        widths = None if lengths is None else tuple(int(length) for length in lengths)
        return self._simple("choose", (listed, rate, widths), lambda: Noise.choose(self, scores, rate, lengths))

    def draw(self, law: Law, size: int | None = None) -> Any:
        step, before = self._next("draw", (law, size))
        if size is None:
            drawn = Noise.draw(self, law) if before is None else before.out[0]
            step.out = {0: int(drawn)}
            return self.shift(step, 0, int(drawn))
        if before is None:
            values = np.array(Noise.draw(self, law, size), np.int64)
        else:
            values = np.array([before.out[place] for place in range(size)], np.int64).reshape(size)
        step.out = dict(enumerate(values.tolist()))
        self._buffers.append((values.__array_interface__["data"][0], values.nbytes, step, values))
        found = values.view(Shifts)
        found.tape, found.step = self, step
        return found

    def shift(self, step: Step, place: int, value: int) -> Shift:
        """Return one draw as a number that knows what it is added to."""
        found = Shift(value)
        found._tape, found._step, found._place = self, step, place
        return found

    def start(self, array: Any) -> tuple[Step, int]:
        """Return the step that an array's memory belongs to, and the place of its first number in it."""
        pointer = array.__array_interface__["data"][0]
        for first, length, step, _ in self._buffers:
            if first <= pointer < first + max(length, 1):
                return step, (pointer - first) // 8
        raise LookupError

    def added(self, step: Step, place: int, exact: int, drawn: int) -> int:
        """Return the noisy number: of the first run, or the one that the first run gave."""
        step.exact[place] = exact
        if self.given is None:
            step.out[place] = exact + drawn
        return int(step.out[place])

    def summed(self, exact: Any, drawn: Any) -> Any:
        """Return noisy numbers for an array, whose draws may be a part of a longer one."""
        step, start = self.start(drawn)
        flat = np.broadcast_to(exact, drawn.shape).ravel().tolist()
        noisy = [
            self.added(step, start + at, int(one), int(two))
            for at, (one, two) in enumerate(zip(flat, drawn.ravel(), strict=True))
        ]
        return np.array(noisy, np.int64).reshape(drawn.shape)

    def leaf(self, owner: Any, given: tuple[Any, ...], run: Any) -> Any:
        """Record what has draws of its own as one step."""
        step, before = self._next("leaf", (owner, *given))
        step.out = run() if before is None else before.out
        return step.out


@contextmanager
def taped() -> Iterator[None]:
    """Let sums and choices of the house go through the tape."""
    patch = pytest.MonkeyPatch()
    plain = additive.saturating_sum

    def summed(first: Any, second: Any) -> Any:
        tape = getattr(second, "tape", None) or CURRENT.get("tape")
        try:
            return plain(first, second) if tape is None else tape.summed(first, np.asarray(second))
        except LookupError:
            return plain(first, second)

    for module in _adding(plain, len(sys.modules)):
        patch.setattr(module, "saturating_sum", summed)
    for kind, method in LEAVES.items():
        patch.setattr(kind, method, _leaf(getattr(kind, method)))
    patch.setattr(FoundGroups, "run", _keyed(FoundGroups.run))
    try:
        yield
    finally:
        patch.undo()


@lru_cache(maxsize=1)
def _adding(plain: Any, loaded: int) -> list[Any]:
    """Return the modules that add noise; looked for again when more modules are `loaded`."""
    listed = [module for name, module in list(sys.modules.items()) if name.startswith("sfumato.")]
    return [module for module in listed if getattr(module, "saturating_sum", None) is plain]


def _leaf(run: Any) -> Any:
    def recorded(owner: Any, *given: Any) -> Any:
        tape = next((one for one in given if isinstance(one, Tape)), None)
        if tape is None:
            return run(owner, *given)
        # Its own draws are not looked at, so they come from elsewhere.
        if isinstance(owner, JointQuantiles):
            # Drawing takes time with the units of weighed rows, and what comes out is not looked at.
            return tape.leaf(owner, given[:1], lambda: (0,) * len(owner.probabilities))
        plain = Noise(insecure_seed=tape.seed + len(tape.steps))
        others = tuple(plain if one is tape else one for one in given)

        def found() -> Any:
            drawn = run(owner, *others)
            return _held(owner, given[0]) if isinstance(owner, StableHistogram) and not drawn else drawn

        return tape.leaf(owner, tuple(one for one in given if one is not tape), found)

    return recorded


def _keyed(run: Any) -> Any:
    """Let the counts of found groups be compared key by key: from table to table a key has another place."""

    def recorded(owner: FoundGroups, exact: Any, noise: Noise) -> Any:
        held = Sparse.of(exact)
        keys = held.keys_at(slice(None))
        place = {key: at for at, key in enumerate(keys)}

        def found(counts: StableHistogram, numbers: Any, noise: Noise) -> tuple[Any, list[int]]:
            listed = dict(zip(keys, np.asarray(numbers).tolist(), strict=True))
            published = counts.run(listed, noise)
            # A key that the other table does not have is a LookupError: it cannot give this output.
            return np.array([place[key] for key, _ in published], np.int64), [count for _, count in published]

        if not isinstance(noise, Tape):
            return run(owner, exact, noise)
        with pytest.MonkeyPatch.context() as patch:
            plain = StableHistogram.found
            patch.setattr(StableHistogram, "found", lambda *asked: (found if asked[2] is noise else plain)(*asked))
            return run(owner, held, noise)

    return recorded


def _held(owner: StableHistogram, counts: Mapping[Any, int]) -> tuple[tuple[Any, int], ...]:
    """Return the keys that more than one person holds as found, where noise found none: it might have."""
    return tuple((key, owner.threshold) for key, count in sorted(counts.items()) if count > owner.rows)


CURRENT: dict[str, Tape] = {}
"""The tape of the run that goes on: sums of arrays that forgot where they come from find it here."""


def recorded(mechanism: Mechanism, exact: Any, seed: int) -> Tape:
    """Run a mechanism and return the tape, with what it returned as `value`."""
    return _run(mechanism, exact, Tape(seed))


def replayed(mechanism: Mechanism, exact: Any, first: Tape) -> Tape | None:
    """Run it on another input with the outputs of a first run; None if it asks for other draws."""
    try:
        found = _run(mechanism, exact, Tape(0, first.steps))
    except Unaligned:
        return None
    return found if len(found.steps) == len(first.steps) else None


def _run(mechanism: Mechanism, exact: Any, tape: Tape) -> Tape:
    CURRENT["tape"] = tape
    try:
        tape.value = mechanism.run(exact, tape)  # type: ignore[attr-defined]
    finally:
        del CURRENT["tape"]
    return tape

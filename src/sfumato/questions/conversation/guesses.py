"""Check guesses against the data: those close enough cost nothing that counts, the others are corrected and paid for.

What learns from the corrections is not here: privacy holds for whatever guesses, if they are made from what was
answered before.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.exact import positive_integer
from sfumato.mechanism import Interaction
from sfumato.noise import DiscreteLaplace, Noise
from sfumato.privacy import Attributes, Cost, Loss, Relation
from sfumato.questions.conversation.calibration import PayAsYouGo, certain_borderline, kappa_of, least_scale

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Guesses:
    """A row of queries, each with its exact value and its guess, in units of 1/`unit` of a count."""

    values: Sequence[int] | Integers
    guesses: Sequence[int] | Integers
    unit: int = 1


@dataclass(frozen=True)
class Checked:
    """The first `close` guesses are close enough; the next one, if `answer` is there, is corrected to it."""

    close: int
    answer: int | None = None


@dataclass(frozen=True, kw_only=True)
class Checking(Interaction):
    """Looks at guesses until one is off by more than a noisy comparison allows, `updates` times at most.

    One step takes a row of guesses and ends at the first correction, so that many cost one call. Once the last
    correction is gone every guess is close enough, without a look at the data and without a draw.
    """

    updates: int
    threshold: int
    sensitivity: int = 1

    def __post_init__(self) -> None:
        for name in ("updates", "threshold", "sensitivity"):
            object.__setattr__(self, name, positive_integer(getattr(self, name), name))

    def step(self, state: dict[str, Any], exact: Guesses, noise: Noise) -> tuple[dict[str, Any], Checked, bool]:
        """Check guesses in their order up to the first that is corrected; only a correction changes the state."""
        count = len(exact.guesses)
        if state["left"] <= 0 or not count:
            return state, Checked(count), False
        values = np.asarray(exact.values, dtype=np.int64)
        guesses = np.asarray(exact.guesses, dtype=np.int64)
        at, answer = self._first(state, values, guesses, exact.unit, noise)
        if answer is None:
            return state, Checked(count), False
        return {**state, "left": state["left"] - 1}, Checked(at, answer), True

    @abstractmethod
    def _first(
        self, state: dict[str, Any], values: Integers, guesses: Integers, unit: int, noise: Noise
    ) -> tuple[int, int | None]:
        """Return the place of the first guess that is off, and its answer; None if no guess is."""

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object that `checking_from_json` reads back."""
        return self.event().to_json()


@dataclass(frozen=True, kw_only=True)
class ApproximateChecking(Checking):
    """Compare the noisy difference of value and guess with a fixed threshold; the noisy value is the correction.

    Promise, for `relation` neighbours, every query moving by s = `sensitivity` counts at most, chosen by any
    adaptive analyst: the whole stream is (epsilon, delta)-private. A guess is borderline if the noisy difference
    exceeds threshold - scale. A borderline one costs kappa = -ln(1 - (1 - e^(-s/scale))/(1 - 1/e)) at most and is
    corrected with probability 1/e at least, so more than m' of them come with probability `miss` at most, where
    P[Bin(m', 1/e) < updates] <= miss; m' steps of kappa compose to (epsilon, delta - miss). The number of queries
    does not matter. Needs scale, threshold and s whole, and threshold >= 2·scale (QR-PMW, QR:C-14).

    Time and memory: one draw a guess. The state is {"left": …} and holds no secret.
    """

    spec: ClassVar[str] = "QR-PMW"

    scale: int
    delta: Fraction
    miss: Fraction

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "scale", positive_integer(self.scale, "scale"))
        if self.scale < least_scale(self.sensitivity) or self.threshold < 2 * self.scale:
            raise ParameterError(
                "The threshold of a conversation is at least twice its noise scale, and the scale well above the "
                "sensitivity; raise threshold= or scale=."
            )
        if not 0 < self.miss < self.delta < 1:
            raise ParameterError("miss is a part of delta, and delta is below 1; write for example 5e-7 and 1e-6.")

    def loss(self) -> Loss:
        """Return (epsilon, delta) as stated."""
        return Loss.flat(Cost.leaking(_epsilon(self._paid(), self.delta), self.delta), self.reads, self.relation)

    def finer_loss(self) -> Loss:
        """Return the same promise by its Rényi curve, a second certificate that long books compose better."""
        return Loss.flat(self._paid().core(), self.reads, self.relation)

    def _paid(self) -> PayAsYouGo:
        borderline, kappa = certain_borderline(self.updates, self.miss), kappa_of(self.scale, self.sensitivity)
        return PayAsYouGo(self.updates, self.sensitivity, self.scale, borderline, kappa, self.miss)

    def start(self, noise: Noise) -> dict[str, Any]:
        """Return the number of corrections that are left: all."""
        return {"left": self.updates}

    def _first(
        self, state: dict[str, Any], values: Integers, guesses: Integers, unit: int, noise: Noise
    ) -> tuple[int, int | None]:
        noisy = values + noise.draw(self._noise(unit), len(values))
        off = np.abs(guesses - noisy) > self.threshold * unit
        at = int(off.argmax())
        return (at, int(noisy[at])) if off[at] else (len(values), None)

    def _noise(self, unit: int) -> DiscreteLaplace:
        return _laplace(self.scale, unit)


@dataclass(frozen=True, kw_only=True)
class PureChecking(Checking):
    """Compare the difference of value and guess, with noise, with one noisy threshold; corrections get fresh noise.

    Promise, for `relation` neighbours and any adaptive analyst, every query moving by s = `sensitivity` counts at
    most: log P/P' <= s/threshold_scale + 2·c·s/query_scale + c·s/answer_scale with c = `updates` (QR-PMWPURE,
    QR:C-13). The noise of the threshold is drawn once and kept as a secret in the state; drawing it again, or
    releasing the value that was compared (QR:D3), would promise nothing.

    Time and memory: one draw a guess, one more for a correction.
    """

    spec: ClassVar[str] = "QR-PMWPURE"

    threshold_scale: Fraction
    query_scale: Fraction
    answer_scale: Fraction

    def loss(self) -> Loss:
        """Return the pure cost of the three noises."""
        reach = self.updates * self.sensitivity
        epsilon = self.sensitivity / self.threshold_scale + 2 * reach / self.query_scale + reach / self.answer_scale
        return Loss.flat(Cost.pure(epsilon), self.reads, self.relation)

    def start(self, noise: Noise) -> dict[str, Any]:
        """Draw the noise of the threshold, once."""
        return {"left": self.updates, "level": self.threshold + noise.draw(DiscreteLaplace(self.threshold_scale))}

    def _first(
        self, state: dict[str, Any], values: Integers, guesses: Integers, unit: int, noise: Noise
    ) -> tuple[int, int | None]:
        noisy = np.abs(values - guesses) + noise.draw(_laplace(self.query_scale, unit), len(values))
        off = noisy >= state["level"] * unit
        at = int(off.argmax())
        return (at, self._answer(int(values[at]), int(noisy[at]), unit, noise)) if off[at] else (len(values), None)

    def _answer(self, value: int, compared: int, unit: int, noise: Noise) -> int:
        # `compared` is what must not be released: only a mutant in the tests looks at it.
        return value + noise.draw(_laplace(self.answer_scale, unit))


@lru_cache(maxsize=256)
def _laplace(scale: int | Fraction, unit: int) -> DiscreteLaplace:
    """Return the noise of this many counts in units of 1/`unit` of a count."""
    return DiscreteLaplace(Fraction(scale * unit))


@lru_cache(maxsize=256)
def _epsilon(paid: PayAsYouGo, delta: Fraction) -> Fraction:
    found = paid.core().epsilon_at(delta)
    assert isinstance(found, Fraction)
    return found


_WHOLE = {"updates", "threshold", "sensitivity", "scale"}


def checking_from_json(record: Mapping[str, Any], reads: Attributes) -> Checking:
    """Read what `Checking.to_json` wrote; `reads` is the same as when it was written."""
    kinds: dict[str, type[Checking]] = {kind.__name__: kind for kind in (ApproximateChecking, PureChecking)}
    kind = kinds[record["name"]]
    values: dict[str, Any] = dict(record["parameters"])
    values.update(reads=reads, relation=Relation(values["relation"]))
    for part in fields(kind):
        if part.name not in {*_WHOLE, "reads", "relation"}:
            values[part.name] = Fraction(values[part.name])
    return kind(**values)

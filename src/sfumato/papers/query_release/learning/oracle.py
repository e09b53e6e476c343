"""The threshold oracle: is a share above a threshold? Any number of thresholds for each of a few distinct queries."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from sfumato.errors import ParameterError, warn
from sfumato.exact import Number, between_zero_and_one, exact, positive_integer
from sfumato.mechanism import Event, Interaction
from sfumato.noise import Noise, Priced
from sfumato.papers.query_release.weights.rounds import law_json, shown
from sfumato.perturb import calibrate
from sfumato.perturb.additive import AdditiveNoise
from sfumato.privacy import EVERYTHING, REPLACE_ONE, Bound, Everything, Loss, Relation, attributes
from sfumato.privacy.sensitivity import sensitivity
from sfumato.select.fit import positive_spend, settle


@dataclass(frozen=True)
class Verdict:
    """Whether the share of a query is above a threshold; None if it is too close to tell, or no query is left.

    `share` is the noisy share that was compared; it is None when no query is left.
    """

    above: bool | None
    share: float | None
    left: int


@dataclass(frozen=True)
class Probe:
    """A query under its canonical name, a threshold between 0 and 1, and the private count, or how to compute it."""

    query: str
    threshold: Fraction
    count: int | Callable[[], Any]


@dataclass(frozen=True, kw_only=True)
class ThresholdOracle(Interaction):
    """Answer whether shares are above thresholds, for `slots` distinct queries and any number of thresholds of each.

    Promise, for `relation` neighbours, every count moving by at most `move`, queries chosen by any adaptive analyst:
    the loss of `slots` counts with noise of `law` (RL-TO). A query is drawn once, under its name, and remembered; its
    slot is taken and its noise drawn before the data are looked at, so that a query which fails still pays. After
    the last slot new queries get None, and the old ones go on. `people` only divides.

    With a margin of two thirds of `tolerance`, an answer is right whenever the noise is below a third of it. The state
    is JSON and holds noisy shares only.
    """

    spec: ClassVar[str] = "RL-TO"

    slots: int
    law: Priced
    people: int
    tolerance: Fraction
    move: int = 1

    def loss(self) -> Loss:
        """Return the loss of all slots, used or not."""
        return self.slots * self._one().loss()

    def event(self) -> Event:
        """Return the public parameters, the law with its name."""
        return shown(super().event(), {"law": law_json(self.law)})

    def start(self, noise: Noise) -> dict[str, Any]:
        """Return a state that knows no query yet."""
        return {"known": {}, "left": self.slots}

    def step(self, state: dict[str, Any], exact: Probe, noise: Noise) -> tuple[dict[str, Any], Verdict, bool]:
        """Compare one query with one threshold; only a new query changes the state."""
        known = state["known"]
        if exact.query in known:
            return state, self._verdict(known[exact.query], exact.threshold, state["left"]), False
        if state["left"] <= 0:
            return state, Verdict(None, None, 0), False
        left = state["left"] - 1
        drawn = noise.draw(self.law)
        value = _count(exact.count) + drawn
        after = {"known": {**known, exact.query: value}, "left": left}
        return after, self._verdict(value, exact.threshold, left), True

    def _verdict(self, value: int, threshold: Fraction, left: int) -> Verdict:
        return verdict_of(Fraction(value, self.people), threshold, self.tolerance, left)

    def people_needed(self, failure: Number = Fraction(1, 20)) -> int:
        """Return from how many people on all slots are answered right together, except with probability `failure`."""
        chance = between_zero_and_one(failure, "failure")
        return noise_needed(self._one().error(1 - chance, coordinates=self.slots), self.tolerance)

    def _one(self) -> AdditiveNoise:
        return AdditiveNoise(law=self.law, sensitivity=self.move, relation=self.relation, reads=self.reads)  # type: ignore[arg-type]


def verdict_of(share: Fraction, threshold: Fraction, tolerance: Fraction, left: int) -> Verdict:
    """Compare a noisy share with a threshold, leaving out what is within two thirds of the tolerance."""
    margin = tolerance * Fraction(2, 3)
    above = True if share >= threshold + margin else False if share <= threshold - margin else None
    return Verdict(above, float(share), left)


def noise_needed(noise: Number, tolerance: Fraction) -> int:
    """Return from how many people on noise of so many counts is below a third of the tolerance.

    >>> noise_needed(50, Fraction(1, 10))
    1500
    """
    return math.ceil(3 * exact(noise, "noise") / tolerance)


def warn_of_few(slots: int, people: int, needed: int, tolerance: Fraction) -> None:
    """Say that the theorem needs more people than there are, whose number is public or was paid for."""
    if people < needed:
        warn(
            f"For {slots} queries told apart within {float(tolerance):g} the theorem needs {needed} people, and there "
            f"are {people}: many verdicts will be None. Write fewer slots or a larger tolerance."
        )


def _count(given: Any) -> int:
    """Return a private count; what cannot be computed, or is no whole number, counts as 0."""
    try:
        value = given() if callable(given) else given
    except Exception:
        return 0
    return int(value) if isinstance(value, (int, np.integer)) and not isinstance(value, bool) else 0


def threshold_oracle(
    spend: Bound,
    slots: int,
    *,
    people: int,
    tolerance: Number = Fraction(1, 20),
    move: int = 1,
    relation: Relation = REPLACE_ONE,
    reads: Iterable[str] | str | Everything = EVERYTHING,
) -> ThresholdOracle:
    """Return the threshold oracle that a spend buys for so many distinct queries (RL-TO).

    It reads what you hand it and books nothing: for a table that a curator guards use `table_oracle.open_oracle`. With
    fewer people than the theorem needs for a failure of 1/20 it says so by an `AccuracyWarning`.

    >>> from sfumato import Noise, Pure
    >>> oracle = threshold_oracle(Pure(1), slots=10, people=10_000)
    >>> session = OracleSession(oracle, lambda query: 6000 if query == "smokes" else 500, Noise(insecure_seed=1))
    >>> session.ask("smokes", 0.5).above, session.ask("smokes", 0.7).above, session.ask("sings", 0.5).left
    (True, False, 8)
    """
    bound = positive_spend(spend, "threshold_oracle")
    count, step = positive_integer(slots, "slots"), positive_integer(move, "move")
    noise = calibrate(bound, sensitivity(largest=step, changed=count), draws=count, relation=relation, reads=reads)
    oracle = ThresholdOracle(
        slots=count,
        law=noise.law,
        people=positive_integer(people, "people"),
        tolerance=between_zero_and_one(tolerance, "tolerance"),
        move=step,
        relation=relation,
        reads=attributes(reads),
    )
    warn_of_few(count, oracle.people, oracle.people_needed(), oracle.tolerance)
    return settle(oracle, bound)


class OracleSession:
    """A conversation with the oracle about one function of private data: `evaluate(query)` is an exact count."""

    def __init__(self, oracle: ThresholdOracle, evaluate: Callable[[Any], Any], noise: Noise | None = None) -> None:
        self.oracle = oracle
        self._evaluate = evaluate
        self._noise = Noise() if noise is None else noise
        self.state = oracle.start(self._noise)

    def ask(self, query: Any, threshold: Number) -> Verdict:
        """Compare the share of a query with a threshold; the same query in another order or spelling is one query."""
        level = exact(threshold, "threshold")
        if not 0 <= level <= 1:
            raise ParameterError("threshold is a share of the people, from 0 to 1; write for example 0.25.")
        probe = Probe(canonical_name(query), level, lambda: self._evaluate(query))
        self.state, verdict, _ = self.oracle.step(self.state, probe, self._noise)
        return verdict

    @property
    def left(self) -> int:
        """How many distinct queries may still be asked."""
        return int(self.state["left"])


def canonical_name(query: Any) -> str:
    """Return one name for all spellings of a query: sets, lists and flags are named by their members, sorted.

    >>> canonical_name(["b", "a", "a"]) == canonical_name({"a", "b"}), canonical_name(np.array([False, True]))
    (True, '[1]')
    """
    if isinstance(query, np.ndarray):
        listed = query.ravel()
        members: list[Hashable] = (np.flatnonzero(listed) if listed.dtype == np.bool_ else np.unique(listed)).tolist()
        return json.dumps(members)
    if isinstance(query, (list, tuple, set, frozenset)):
        return json.dumps(
            sorted({str(member) if isinstance(member, str) else int(member) for member in query}, key=str)
        )
    if isinstance(query, (str, int)):
        return json.dumps(query)
    raise ParameterError(f"A query is text, a number, a set of these or flags, not {type(query).__name__}.")

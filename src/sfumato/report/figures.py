"""The figures of a report: what is guaranteed, what has been used, and what both mean to a person."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.exact import INFINITY, Extended, Infinity, to_text
from sfumato.exact.rational import show
from sfumato.privacy import Bound, Cost
from sfumato.privacy.bounds import percent
from sfumato.privacy.readings import belief_change, guess, guess_concentrated, information


@dataclass(frozen=True)
class Reading:
    """What a cost means: epsilon at a delta, odds of a guess, change of belief, nats."""

    epsilon: Extended
    delta: Fraction
    guess: Fraction
    belief: Fraction | None
    nats: Extended

    def to_json(self) -> dict[str, Any]:
        """Return exact numbers as text."""
        return {
            "epsilon": to_text(self.epsilon),
            "delta": to_text(self.delta),
            "guess": to_text(self.guess),
            "belief": None if self.belief is None else to_text(self.belief),
            "nats": to_text(self.nats),
        }


def read(cost: Cost, delta: Fraction) -> Reading:
    """Return what a cost means; each figure is the best of the proved ones, rounded towards the worse.

    >>> reading = read(Cost.pure(10), Fraction(1, 10**6))
    >>> round(float(reading.guess), 6)
    0.999955
    """
    epsilon = cost.epsilon_at(delta)
    guesses = [guess(cost.epsilon)] if cost.leak == 0 else []
    if not isinstance(epsilon, Infinity):
        guesses.append(guess(epsilon, delta=delta))
    rho: Extended = cost.rho(INFINITY) if cost.leak == 0 else INFINITY
    guesses.append(guess_concentrated(rho))
    pure = cost.leak == 0 and not isinstance(cost.epsilon, Infinity)
    return Reading(epsilon, delta, min(guesses), belief_change(cost.epsilon) if pure else None, information(rho))


@dataclass(frozen=True)
class Row:
    """One line of the report: a subject, its guarantee, and what the meter shows.

    `guaranteed` is None where no limit reaches; the meter is never shown in its place.
    """

    subject: str
    attributes: tuple[str, ...]
    people: int
    guaranteed: Bound | None
    promise: Reading | None
    used: Reading

    def cells(self) -> tuple[str, ...]:
        """Return the line as text."""
        bound = "unbounded" if self.guaranteed is None else repr(self.guaranteed)
        promised = ("–", "–") if self.promise is None else (upward(self.promise.epsilon), percent(self.promise.guess))
        return self.subject, bound, *promised, upward(self.used.epsilon), percent(self.used.guess)

    def to_json(self) -> dict[str, Any]:
        """Return exact numbers as text."""
        return {
            "subject": self.subject,
            "attributes": list(self.attributes),
            "people": self.people,
            "guaranteed": None if self.guaranteed is None else self.guaranteed.to_json(),
            "promise": None if self.promise is None else self.promise.to_json(),
            "used": self.used.to_json(),
        }


COLUMNS = ("for", "guaranteed", "epsilon", "a guess is right", "used so far: epsilon", "a guess is right")


def upward(epsilon: Extended) -> str:
    """Return an epsilon for people, rounded up to three digits.

    >>> upward(Fraction(13792, 1000)), upward(INFINITY)
    ('13.8', 'infinity')
    """
    if isinstance(epsilon, Infinity):
        return "infinity"
    if epsilon == 0:
        return "0"
    places = 2
    while epsilon * 10**places < 100 and places < 20:
        places += 1
    while epsilon * 10**places >= 1000 and places > 0:
        places -= 1
    return show(Fraction(-(-epsilon * 10**places // 1), 10**places))


def row(
    subject: str, attributes: tuple[str, ...], people: int, guaranteed: Bound | None, used: Cost, delta: Fraction
) -> Row:
    """Return one line from a limit and a meter."""
    promise = None if guaranteed is None else read(Cost.of(guaranteed), delta)
    return Row(subject, attributes, people, guaranteed, promise, read(used, delta))

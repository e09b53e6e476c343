"""The figures of a report: what is guaranteed, what has been used, and what both mean to a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sfumato.exact import INFINITY, Extended, Infinity, rational_ball, to_text, unit_up
from sfumato.exact.written import amount, rounded
from sfumato.ledger.readings import Reading
from sfumato.privacy import Approximate, Bound, Cost
from sfumato.privacy.curve import Curve
from sfumato.privacy.derived import least
from sfumato.privacy.explanation import percent
from sfumato.privacy.filters import Meter, Sums
from sfumato.privacy.forms import UNKNOWN, ZERO, LinearCurve, OrderCurve, PureCurve
from sfumato.privacy.gauss import NONE, UNKNOWN_GAUSS, Exactly, Gauss
from sfumato.privacy.readings import belief_change, guess, guess_concentrated, information

NOTHING_KNOWN = "–"


@dataclass(frozen=True)
class Meaning:
    """What a cost means: epsilon at a delta, odds of a guess, change of belief, nats.

    `belief` is None where no theorem gives one: it needs an epsilon without delta, which is `pure` where there is one.
    """

    epsilon: Extended
    delta: Fraction
    guess: Fraction
    belief: Fraction | None
    nats: Extended
    pure: Extended = INFINITY

    @property
    def stated(self) -> tuple[Extended, Fraction]:
        """The epsilon and the delta to show: without a delta where that changes no digit that is shown."""
        without = rounded(self.pure, up=True) == rounded(self.epsilon, up=True)
        return (self.pure, Fraction(0)) if without else (self.epsilon, self.delta)

    @property
    def figure(self) -> str:
        """The epsilon for people, and the delta where it needs one."""
        epsilon, delta = self.stated
        return f"{rounded(epsilon, up=True)} at delta {amount(delta)}" if delta else rounded(epsilon, up=True)

    @property
    def bits(self) -> Extended:
        """The nats in bits, rounded up."""
        if isinstance(self.nats, Infinity):
            return self.nats
        nats = self.nats
        found = unit_up(lambda: rational_ball(nats) / rational_ball(2).log())
        return INFINITY if found is None else found

    def cells(self) -> tuple[str, ...]:
        """Return epsilon, guess, belief and bits for people, each rounded towards the worse."""
        belief = NOTHING_KNOWN if self.belief is None else percent(self.belief)
        bits = NOTHING_KNOWN if isinstance(self.nats, Infinity) else rounded(self.bits, up=True)
        return self.figure.replace("at delta", "at"), percent(self.guess), belief, bits

    def to_json(self) -> dict[str, Any]:
        """Return exact numbers as text."""
        epsilon, delta = self.stated
        return {
            "epsilon": to_text(epsilon),
            "delta": to_text(delta),
            "guess": to_text(self.guess),
            "belief": None if self.belief is None else to_text(self.belief),
            "nats": to_text(self.nats),
            "bits": to_text(self.bits),
        }


MEANING_COLUMNS = ("epsilon at delta", "a guess is right", "belief moves", "bits")


@lru_cache(maxsize=4096)
def meaning(cost: Cost, delta: Fraction, values: int | None = None) -> Meaning:
    """Return what a cost means; each figure is the best of the proved ones, rounded towards the worse.

    `values` is how many values the attributes can take, whose entropy caps what can be revealed.

    >>> round(float(meaning(Cost.pure(10), Fraction(1, 10**6)).guess), 6)
    0.999955
    """
    epsilon = cost.epsilon_at(delta)
    guesses = [guess(epsilon, delta=delta)]
    rho: Extended = INFINITY
    if cost.leak == 0:
        rho = cost.rho(INFINITY)
        guesses += [guess(cost.epsilon), guess_concentrated(rho)]
    pure = cost.leak == 0 and not isinstance(cost.epsilon, Infinity)
    belief = belief_change(cost.epsilon) if pure else None
    without = cost.epsilon if pure else INFINITY
    return Meaning(epsilon, delta, min(guesses), belief, information(rho, values), without)


def smallest(own: Meaning, *others: Meaning | None) -> Meaning:
    """Return the smallest of figures that all hold for the same attributes; epsilon stays at the delta of the first.

    >>> own, whole = (meaning(cost, Fraction(1, 10**6)) for cost in (Cost.concentrated("1/10"), Cost.pure("1/2")))
    >>> smallest(own, whole).epsilon == whole.epsilon, smallest(own, None) == own
    (True, True)
    """
    found = [own, *(other for other in others if other is not None)]
    beliefs = [one.belief for one in found if one.belief is not None]
    return Meaning(
        min(one.epsilon for one in found if one.delta <= own.delta),
        own.delta,
        min(one.guess for one in found),
        min(beliefs, default=None),
        min(one.nats for one in found),
        min(one.pure for one in found),
    )


def promised(bound: Bound, delta: Fraction, values: int | None = None) -> Meaning:
    """Return what a limit means; one with a larger delta of its own is read at that."""
    own = bound.delta if isinstance(bound, Approximate) else delta
    return meaning(Cost.of(bound), max(own, delta), values)


def metered(reading: Reading) -> Cost:
    """Return the cost that the meters of a limit show: each of them was added up on its own, so all are true.

    >>> from sfumato import Pure
    >>> from sfumato.ledger import Budget, Ledger
    >>> metered(Ledger(None, Budget(person=Pure(1))).spent()).is_zero
    True
    """
    return added_up(reading.meters, reading.sums)


def added_up(meters: Sequence[Meter], sums: Sums) -> Cost:
    """Return the cost that meters with these sums show, whatever their ceilings are."""
    leak = Fraction(0)
    epsilon: Extended = INFINITY
    curves: list[Curve] = []
    gauss: Gauss = UNKNOWN_GAUSS
    for meter, used in zip(meters, sums, strict=True):
        if isinstance(used, Infinity):
            continue
        if meter.kind == "leak":
            leak += used
        elif used == 0:
            # A divergence of zero at one order is zero at all of them: the laws are the same.
            epsilon, curves, gauss = Fraction(0), [ZERO], NONE
            break
        elif meter.kind == "epsilon":
            epsilon = used
            curves.append(PureCurve(used))
        elif meter.kind == "gauss":
            # Beside its reserve the history is no worse than one Gaussian of reserve and charges together.
            gauss = Exactly(used + meter.reserve)
            curves.append(LinearCurve(gauss.amount / 2))
        elif meter.kind == "rho":
            curves.append(LinearCurve(used, meter.order))
        else:
            assert isinstance(meter.order, Fraction)
            curves.append(OrderCurve(meter.order, used))
    return Cost(epsilon, least(curves) if curves else UNKNOWN, leak, gauss)


@dataclass(frozen=True)
class ReportLine:
    """One line of the report: a subject, its guarantee, and what the meter shows.

    `attributes` is empty for the whole record. `guaranteed` is None where no limit reaches; the meter is never
    shown in its place. `percent` is how much of `limit` is used, of its own limits the one that has least room.
    `presence` says that the line is about whether people are in the data, as those about whole people are under
    add-remove neighbours.
    """

    subject: str
    attributes: tuple[str, ...]
    people: int
    guaranteed: Bound | None
    promise: Meaning | None
    used: Meaning | None
    guarantee_text: str
    spent_text: str | None
    percent: int | None = None
    presence: bool = False
    limit: Bound | None = None

    @property
    def whole(self) -> bool:
        """Whether the line speaks of everything about one person."""
        return not self.attributes and self.people == 1

    def promise_cells(self) -> tuple[str, ...]:
        """Return subject, limit, and what it means."""
        if self.guaranteed is None or self.promise is None:
            return (self.subject, "no limit reaches it", *(NOTHING_KNOWN,) * len(MEANING_COLUMNS))
        return (self.subject, str(self.guaranteed), *self.promise.cells())

    def used_cells(self) -> tuple[str, ...]:
        """Return subject, the part of its own limit that is used, and what that means."""
        part = NOTHING_KNOWN if self.percent is None else f"{self.percent} %"
        cells = (NOTHING_KNOWN,) * len(MEANING_COLUMNS) if self.used is None else self.used.cells()
        return (self.subject, part, *cells)

    def to_json(self) -> dict[str, Any]:
        """Return exact numbers as text; guarantee and spent stand apart, each with its exact wording."""
        return {
            "subject": self.subject,
            "attributes": list(self.attributes),
            "people": self.people,
            "guarantee": {
                "bound": None if self.guaranteed is None else self.guaranteed.to_json(),
                "means": None if self.promise is None else self.promise.to_json(),
                "text": self.guarantee_text,
            },
            "spent": {
                "percent": self.percent,
                "means": None if self.used is None else self.used.to_json(),
                "text": self.spent_text,
            },
        }

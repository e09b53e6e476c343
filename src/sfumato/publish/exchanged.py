"""What rows in place of others cost in a table of counts: a certificate of its own (PB-UNIT 1.1, iii).

What a person adds to counts is nowhere below zero. Leaving the person out takes one such vector off, and other rows in
their place add one. The squared length of the difference of two vectors without negative entries is at most the sum of
both, and a single number moves no further than the longer of them. Rounding to a grid keeps the order, so it is the
same after it. Where lengths have to be added up, as of a mechanism of which nothing more is known, it is four times the
squared length.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add

from sfumato.ask.prepared import Prepared, Several
from sfumato.perturb import AdditiveNoise
from sfumato.privacy import Cost, Loss, Relation
from sfumato.privacy.parallel import twice
from sfumato.privacy.sensitivity import Sensitivity
from sfumato.table.measure import People, Totals
from sfumato.table.statistics import COUNT


def stretch(prepared: Prepared) -> int | None:
    """Return how many times as long, squared, a difference is in an exchange: 1 or 2, None if it is no table of counts.

    The noise is added to numbers of rows, or of people, and to nothing else.
    """
    measure, mechanisms = prepared.gauge.measure, _mechanisms(prepared)
    if not isinstance(measure, (Totals, People)) or not all(type(one) is AdditiveNoise for one in mechanisms):
        return None
    if isinstance(measure, Totals) and set(measure.parts) != {COUNT}:
        return None
    single = not measure.keys and len(mechanisms) == 1
    return 1 if single and mechanisms[0].sensitivity.changed == 1 else 2


def _mechanisms(prepared: Prepared) -> tuple[AdditiveNoise, ...]:
    found = prepared.mechanism
    return found.mechanisms if isinstance(found, Several) else (found,)  # type: ignore[return-value]


def exchange_of(prepared: Prepared) -> Cost:
    """Return what a bounding unit costs whose rows come in the place of others, from what one that leaves costs."""
    longer = stretch(prepared)
    if longer is None:
        return twice(prepared.loss().person)
    if longer == 1:
        return prepared.loss().person
    return reduce(add, (one.law.cost(_both(one.sensitivity)) for one in _mechanisms(prepared)))


def exchanged(parts: Sequence[Prepared], relation: Relation) -> Loss:
    """Return the same of a list that is fixed before the data are touched, as one."""
    losses = [Loss.flat(exchange_of(one), relation=relation) for one in parts]
    return losses[0] if len(losses) == 1 else reduce(add, losses).together()


def _both(moves: Sensitivity) -> Sensitivity:
    """Return how far two vectors without negative entries lie apart that are both as long as this."""
    return Sensitivity(2 * moves.l1, 2 * moves.l2_squared, moves.largest, 2 * moves.changed)

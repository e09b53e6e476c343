"""How many people histograms need: over huge domains (LB-HIST of tcdp), over many yes-or-no columns (of partial-dp)."""

from __future__ import annotations

import math
from fractions import Fraction

from sfumato.bounds.floors import Floor, order_limit, positive, whole
from sfumato.bounds.information import people_for_information
from sfumato.errors import ParameterError
from sfumato.exact import INFINITY, Extended, Number, exact, positive_integer
from sfumato.exact.rational import show


def histogram_people(cells: int, rho: Number, omega: Number | Extended = INFINITY) -> Floor:
    """Return how many people a histogram over `cells` cells needs, at least, before its counts mean anything.

    To a planner: with fewer, no (rho, omega)-truncated mechanism under replace-one keeps every count within half
    of the number of people in every second run. TCDP:LB-HIST, sharper than the printed
    (omega-1)·log(log(K/4)/(2·omega²·rho)): such a histogram carries log(K/4)/2 nats. 4 cells or fewer need nobody.

    >>> histogram_people(2**64, rho=0.1, omega=2.24)
    Floor(value=8.0, binding='groups of any size')
    """
    count = positive_integer(cells, "cells")
    positive(rho, "rho")
    order_limit(omega)
    if count <= 4:
        return Floor(0.0, "too few cells")
    nats = Fraction((math.log(count) - math.log(4)) / 2)
    return people_for_information(nats, rho, omega)


def histogram_people_per_attribute(columns: int, epsilon: Number, accuracy: Number, success: Number = 0.5) -> Floor:
    """Return how many people the means of `columns` yes-or-no columns need, at least, per attribute.

    To a planner: with fewer, no mechanism that is epsilon-private for every single attribute has all means within
    `accuracy` with probability `success`. PDP:LB-HIST: epsilon·(floor(2·accuracy·n) + 1) >= log(success·columns).

    >>> histogram_people_per_attribute(1000, epsilon=0.1, accuracy=0.01).value
    3100.0
    """
    count = positive_integer(columns, "columns")
    return _planted(math.log(count) + math.log(_share(success)), epsilon, accuracy, "packing of single columns")


def histogram_people_pure(columns: int, epsilon: Number, accuracy: Number, success: Number = 0.5) -> Floor:
    """Return how many people the same means need, at least, if whole persons are protected.

    To a planner: against `histogram_people_per_attribute` it says what protecting whole persons costs; concentrated
    bounds need a number that grows like sqrt(columns), approximate ones like log(1/delta). PDP:LB-HIST-STD:
    epsilon·(floor(2·accuracy·n) + 1) >= columns·log 2 + log(success).

    >>> histogram_people_pure(1000, epsilon=0.1, accuracy=0.01).value
    346200.0
    """
    count = positive_integer(columns, "columns")
    return _planted(count * math.log(2) + math.log(_share(success)), epsilon, accuracy, "packing of all columns")


def _planted(needed: float, epsilon: Number, accuracy: Number, binding: str) -> Floor:
    """Return the smallest n with epsilon·(floor(2·accuracy·n) + 1) >= needed."""
    copies = whole(needed / positive(epsilon, "epsilon"))
    error = exact(accuracy, "accuracy")
    if not 0 < error < Fraction(1, 2):
        raise ParameterError(
            f"accuracy must lie strictly between 0 and 1/2, and {show(error)} does not: within a half, the constant "
            "answer 1/2 needs no data."
        )
    return Floor(float(-(-max(0, int(copies) - 1) // (2 * error))), binding)


def _share(success: Number) -> float:
    share = exact(success, "success")
    if not 0 < share <= 1:
        raise ParameterError(f"success must be a probability above 0, and {show(share)} is none; write 0.9, say.")
    return float(share)

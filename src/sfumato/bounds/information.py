"""How many people a truncated concentrated bound needs before it can say a given amount (LB-MI)."""

from __future__ import annotations

import math

from sfumato.bounds.floors import Floor, highest, order_limit, positive, whole
from sfumato.exact import INFINITY, Extended, Number


def people_for_information(
    nats: Number, rho: Number, omega: Number | Extended = INFINITY, independent: bool = False
) -> Floor:
    """Return how many people are needed, at least, before the answers can carry `nats` about the whole table.

    To a planner: with fewer people no mechanism within (rho, omega) can answer a question whose answer is worth
    that much. From TCDP:LB-MI, n people can carry at most c_n·omega·(omega-1)·rho with
    c_n = (omega/(omega-1))^n - 1; at most n²·rho if n < omega; and at most n·rho if records are `independent`.

    >>> people_for_information(10, rho=0.1).value
    10.0
    """
    amount, price, limit = positive(nats, "nats"), positive(rho, "rho"), order_limit(omega)
    floors = [Floor(whole(min(limit, math.sqrt(amount / price))), "groups of fewer than omega people")]
    if math.isfinite(limit):
        grown = math.log1p(amount / (price * limit * (limit - 1))) / -math.log1p(-1 / limit)
        floors.append(Floor(whole(grown), "groups of any size"))
    if independent:
        floors.append(Floor(whole(amount / price), "independent records"))
    return highest(floors)

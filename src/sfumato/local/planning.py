"""Making plans: from what a person wants to know to the integers that every client needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.domain import Categories, Domain, FixedPoint, Integers
from sfumato.errors import ParameterError
from sfumato.exact import positive_integer
from sfumato.local.choice import METHOD_NAMES, choose
from sfumato.local.coins import report_epsilon
from sfumato.local.items import Items
from sfumato.local.listed import list_method, mean_method
from sfumato.local.method import Method
from sfumato.local.plan import Plan
from sfumato.local.seed import Seed
from sfumato.privacy import Bound, Pure, require_bound

POOREST = 0.25
"""A plan that finds nothing below this share is refused."""


def plan(
    *,
    users: int,
    spend: Bound,
    items: Domain | None = None,
    candidates: Sequence[Any] | None = None,
    numbers: Domain | None = None,
    reports: int = 1,
    method: str | Method = "auto",
    false_items: float = 0.05,
    seed: bytes | None = None,
) -> Plan:
    """Plan a collection of randomized reports: popular items, a known list, or a mean.

    Give one of `items` (a domain: popular items of it are found), `candidates` (a list: each gets a share) and
    `numbers` (a domain of numbers: their mean). `spend` is for one device and all its `reports`. `method` is how
    popular items are found: "soft", "prefix", "treehist", "expander", "bitstogram", a `Method` made by hand, or "auto"
    (the default), which takes the one that guarantees the smallest share; `plan.why` says why. A fresh public `seed`
    is drawn unless one is given.

    >>> from sfumato import Pure, domain, local
    >>> tiny = local.plan(users=1_000_000, spend=Pure(2), items=domain.integers(0, 2**32 - 1), seed=bytes(32))
    >>> tiny.report_bytes, round(tiny.detectable, 3)
    (8, 0.007)
    """
    people, times = positive_integer(users, "users"), positive_integer(reports, "reports")
    each = _each(spend, times)
    if sum(part is not None for part in (items, candidates, numbers)) != 1:
        raise ParameterError("Write one of items=, candidates= and numbers=: what is asked of the devices.")
    if not 0 < float(false_items) < 1:
        raise ParameterError("false_items lies between 0 and 1; write for example 0.05.")
    if not isinstance(method, Method) and method not in METHOD_NAMES:
        raise ParameterError(f"method is one of {', '.join(METHOD_NAMES)}, and {method!r} is none.")
    how: Method
    why = ""
    if candidates is not None:
        asked, how = _list(each, tuple(candidates))
    elif numbers is not None:
        asked, how = _mean(each, numbers)
    else:
        assert items is not None
        asked = Items(items)
        if isinstance(method, Method):
            how = method
        else:
            how, why = choose(each, asked.bits, people * times, method=method, false_items=float(false_items))
    total = Pure(each.epsilon * times)
    made = Plan(people, total, asked, how, Seed.fresh() if seed is None else Seed(seed), times, why)
    if items is not None:
        _refuse_poor(made)
    return made


def _each(spend: Bound, reports: int) -> Pure:
    bound = require_bound(spend)
    each = bound.split(reports)
    report_epsilon(each)
    assert isinstance(each, Pure)
    return each


def _list(each: Pure, candidates: tuple[Any, ...]) -> tuple[Items, Method]:
    return Items(Categories(candidates)), list_method(each, len(candidates))


def _mean(each: Pure, numbers: Domain) -> tuple[Items, Method]:
    if not isinstance(numbers, (Integers, FixedPoint)) or numbers.size is None or numbers.size < 2:
        raise ParameterError("numbers= is a domain of numbers; write for example fixed(0, 60, step=0.5).")
    return Items(numbers), mean_method(each, numbers.size - 1)


def _refuse_poor(made: Plan) -> None:
    if made.detectable <= POOREST:
        return
    users = made.users
    while made.method.detectable(users * made.reports, 0.9) > POOREST:
        users *= 2
    low = users // 2
    while users - low > max(1, users // 100):
        middle = (low + users) // 2
        low, users = (low, middle) if made.method.detectable(middle * made.reports, 0.9) <= POOREST else (middle, users)
    raise ParameterError(
        f"With {made.users} users at {made.spend!r} not even an item of a quarter of them would be found; plan for at "
        f"least {users} users, spend more, or allow shorter items."
    )

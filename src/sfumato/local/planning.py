"""Making plans: from what a person wants to know to the integers that every client needs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from sfumato.domain import Categories, Domain, FixedPoint, Integers
from sfumato.errors import AccuracyWarning, ParameterError
from sfumato.exact import Number, between_zero_and_one, positive_integer
from sfumato.local.choice import METHOD_NAMES, choose
from sfumato.local.coins import report_epsilon
from sfumato.local.items import Items
from sfumato.local.listed import list_method, mean_method
from sfumato.local.method import Method
from sfumato.local.plan import FOUND, Plan
from sfumato.local.seed import Seed
from sfumato.privacy import Bound, Pure, require_bound

POOREST = 0.25
"""A plan that finds nothing below this share is refused."""
MOST_USERS = 10**11
"""Nobody plans for more."""


def plan(
    *,
    users: int,
    spend: Bound,
    items: Domain | None = None,
    candidates: Sequence[Any] | None = None,
    numbers: Domain | None = None,
    reports: int = 1,
    wanted: Number | None = None,
    method: str | Method = "auto",
    false_items: float = 0.05,
    seed: bytes | None = None,
) -> Plan:
    """Plan a collection of randomized reports: popular items, a known list, or a mean.

    Give one of `items` (a domain: popular items of it are found), `candidates` (a list: each gets a share) and
    `numbers` (a domain of numbers: their mean). `spend` is for one device and all its `reports`. A `wanted` share that
    this plan would not find, or no protocol can, is told by an `AccuracyWarning` before anybody is asked. `method` is
    how popular items are found: "soft", "prefix", "treehist", "expander", "bitstogram", a `Method` made by hand, or
    "auto" (the default), which takes the one that guarantees the smallest share; `plan.why` says why. A fresh public
    `seed` is drawn unless one is given.

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
    if wanted is not None and numbers is not None:
        raise ParameterError("wanted= is a share of the users that hold an item; a mean has none, so leave it out.")
    share = 1.0 if wanted is None else float(between_zero_and_one(wanted, "wanted"))
    listed = None if candidates is None else tuple(candidates)
    public = Seed.fresh() if seed is None else Seed(seed)

    def make(count: int) -> Plan:
        asked, how, why = _method(
            each,
            count * times,
            items=items,
            candidates=listed,
            numbers=numbers,
            method=method,
            false_items=float(false_items),
        )
        return Plan(count, Pure(each.epsilon * times), asked, how, public, times, why)

    made = make(people)
    if items is not None and made.detectable > POOREST:
        raise ParameterError(
            f"With {people} users at {made.spend!r} not even an item of a quarter of them would be found; "
            f"{_remedy(made, POOREST, make)}, spend more, or allow shorter items."
        )
    if numbers is None and made.detectable > share:
        remedy = f"{_remedy(made, share, make)}, or spend more"
        warnings.warn(f"{_shortage(made, share)}; {remedy}.", AccuracyWarning, stacklevel=2)
    return made


def _method(
    each: Pure,
    reports: int,
    *,
    items: Domain | None,
    candidates: tuple[Any, ...] | None,
    numbers: Domain | None,
    method: str | Method,
    false_items: float,
) -> tuple[Items, Method, str]:
    """Return what is asked, how, and why so."""
    if candidates is not None:
        return *_list(each, candidates), ""
    if numbers is not None:
        return *_mean(each, numbers), ""
    assert items is not None
    asked = Items(items)
    if isinstance(method, Method):
        return asked, method, ""
    return asked, *choose(each, asked.bits, reports, method=method, false_items=false_items)


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


def _shortage(made: Plan, share: float) -> str:
    """Say, from public facts, that a share will not be found, and whether any protocol could find it."""
    among = f"Among {made.users} users at {made.spend!r}"
    if share >= 1:
        return f"{among} not even a candidate that everybody holds would stand out"
    if share < made.floor:
        return f"{among} no protocol can find a share below {_percent(made.floor)}, and {_percent(share)} is wanted"
    return f"{among} this plan finds shares from {_percent(made.detectable)} on, and {_percent(share)} is wanted"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _remedy(made: Plan, share: float, make: Callable[[int], Plan]) -> str:
    """Say how many users would do: at most about a hundredth more than the smallest number."""

    def finds(users: int) -> bool:
        return made.method.detectable(users * made.reports, FOUND) <= share

    low, users = made.users, 2 * made.users
    while not finds(users):
        low, users = users, 2 * users
        if users > MOST_USERS:
            return "there are not enough people for that, so want less"
    while users - low > max(1, users // 1000):
        middle = (low + users) // 2
        low, users = (low, middle) if finds(middle) else (middle, users)
    # A plan for more users is built for more, and may differ a little from what this one says about them.
    while make(users).detectable > share:
        users += max(1, users // 200)
    return f"plan for at least {users} users"

"""Making plans: from what a person wants to know to the integers that every client needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sfumato.domain import Categories, Domain, FixedPoint, Integers
from sfumato.errors import ParameterError, warn
from sfumato.exact import Number, between_zero_and_one, positive_integer
from sfumato.exact.search import smallest_between
from sfumato.exact.written import amount, rounded, typed
from sfumato.local.choice import METHOD_NAMES, choose
from sfumato.local.items import Items, composed
from sfumato.local.listed import FALSE_ITEMS, list_method, mean_method
from sfumato.local.means import mean_oracle
from sfumato.local.method import Method
from sfumato.local.plan import FOUND, Plan
from sfumato.local.seed import Seed
from sfumato.local.shuffle import MOST_HONEST, checked, guessed_loss, largest_local
from sfumato.local.trust import Validity, too_dear
from sfumato.privacy import Approximate, Bound, Pure, require_bound
from sfumato.privacy.coins import report_epsilon
from sfumato.words import one_of, understood

POOREST = 0.25
"""A plan that finds nothing below this share is refused."""
LEAST_LOCAL = Fraction(1, 64)
"""The smallest epsilon of a report that planning by a central bound tries."""
MOST_USERS = 10**11
"""Nobody plans for more."""


@understood
def plan(
    *,
    users: int,
    spend: Bound | None = None,
    items: Domain | None = None,
    candidates: Sequence[Any] | None = None,
    numbers: Domain | None = None,
    reports: int = 1,
    wanted: Number | None = None,
    method: str | Method = "auto",
    false_items: Number | None = None,
    seed: bytes | None = None,
    central: Bound | None = None,
    honest: int | None = None,
    not_before: str | None = None,
    not_after: str | None = None,
    epoch: str | None = None,
) -> Plan:
    """Plan a collection of randomized reports: popular items, a known list, or a mean.

    Give one of `items` (a domain: popular items of it are found), `candidates` (a list: each gets a share) and
    `numbers` (a domain of numbers: their mean). `spend` is for one device and all its `reports`. A `wanted` share that
    this plan would not find, or no protocol can, is told by an `AccuracyWarning` before anybody is asked. `method` is
    how popular items are found: "soft", "prefix", "treehist", "expander", "bitstogram", a `Method` made by hand, or
    "auto" (the default), which takes the one that expects to find the smallest share; `plan.why` says why.
    `false_items` is the probability, by default 0.05, that an item is listed that nobody holds; `Popular` says what of
    that is proved. A fresh public `seed` is drawn unless one is given.

    In place of `spend`, `central=Approximate(1, 1e-8)` with `honest=80_000` takes the largest local epsilon whose
    shuffled reports stay within it (`Plan.shuffled` says what that needs); devices are charged the local one.
    `not_before` and `not_after` are days such as "2026-11-01": devices answer between them only. `epoch` names the
    collection among several that follow each other.

    >>> from sfumato import Pure, domain, local
    >>> tiny = local.plan(users=1_000_000, spend=Pure(2), items=domain.integers(0, 2**32 - 1), seed=bytes(32))
    >>> tiny.report_bytes, round(tiny.detectable, 3)
    (8, 0.007)
    """
    people, times = positive_integer(users, "users"), positive_integer(reports, "reports")
    if people > MOST_USERS:
        raise ParameterError(f"users is at most {MOST_USERS}, more than there are people; write how many will report.")
    if central is not None:
        asked = {"users": users, "items": items, "candidates": candidates, "numbers": numbers, "reports": reports}
        more = {"wanted": wanted, "method": method, "false_items": false_items, "seed": seed}
        more |= {"not_before": not_before, "not_after": not_after, "epoch": epoch}
        return _central_plan(spend, central, honest, times, {**asked, **more})
    if honest is not None:
        raise ParameterError(
            "honest= goes with central=; write for example central=Approximate(1, 1e-8), or leave both."
        )
    if spend is None:
        raise ParameterError("Write spend=, for example Pure(4): what a device may lose by all its reports.")
    each = _each(spend, times)
    if sum(part is not None for part in (items, candidates, numbers)) != 1:
        raise ParameterError("Write one of items=, candidates= and numbers=: what is asked of the devices.")
    chance = float(between_zero_and_one(FALSE_ITEMS if false_items is None else false_items, "false_items"))
    if not isinstance(method, Method):
        one_of("method", method, METHOD_NAMES)
    _refuse_idle(items, numbers, method, None if false_items is None else chance, wanted)
    share = 1.0 if wanted is None else float(between_zero_and_one(wanted, "wanted"))
    listed = None if candidates is None else _candidates(candidates)
    public = Seed.fresh() if seed is None else Seed(seed)
    valid = Validity(not_before, not_after, epoch)

    def make(count: int) -> Plan:
        asked, how, why = _method(
            each,
            count * times,
            items=items,
            candidates=listed,
            numbers=numbers,
            method=method,
            false_items=chance,
        )
        return Plan(count, Pure(each.epsilon * times), asked, how, public, times, why, valid)

    made = make(people)
    if items is not None and made.detectable > POOREST:
        raise ParameterError(
            f"With {people} users at {made.spend!r} not even an item of a quarter of them would be found; "
            f"{_remedy(made, POOREST, make, ['spend more', 'allow shorter items'])}."
        )
    if said := _weak_mean(made) if numbers is not None else _shortage(made, share, make, wanted is not None):
        warn(said)
    if said := too_dear(made):
        warn(said)
    return made


def _central_plan(
    spend: Bound | None, central: Bound, honest: int | None, reports: int, options: dict[str, Any]
) -> Plan:
    """Return the plan of the largest local epsilon, a multiple of 1/64, whose shuffled loss is within a bound."""
    if spend is not None:
        raise ParameterError("Write spend= or central=, not both: central= finds the spend.")
    if not isinstance(central, Approximate) or central.unit != "person":
        raise ParameterError(f"central= is Approximate(epsilon, delta), not {central!r}; write Approximate(1, 1e-8).")
    devices, delta = checked(honest, central.delta, options["users"])

    def fits(local: Fraction) -> bool:
        # All reports of a device together, as if they could be linked.
        return guessed_loss(local, devices, delta) <= central.epsilon

    local = largest_local(fits)
    while local is not None and local >= LEAST_LOCAL * reports:
        made = plan(spend=Pure(local), **options)
        stated = made.shuffled(devices, delta)
        if stated.epsilon <= central.epsilon:
            why = f"Spend {typed(local)}: the largest multiple of 1/64 whose reports, shuffled among {devices} honest "
            loss = rounded(stated.epsilon, up=True, digits=6)
            why += f"devices, lose at most epsilon {loss} at delta {amount(delta)}."
            return replace(made, why=" ".join(part for part in (made.why, why) if part))
        local -= Fraction(1, 64)
    needed = devices
    while guessed_loss(LEAST_LOCAL * reports, needed, delta) > central.epsilon and needed < MOST_HONEST:
        needed *= 2
    raise ParameterError(
        f"Among {devices} honest devices not even a local epsilon of 1/64 a report stays within {central!r}; it takes "
        f"about {needed} of them, or a larger central bound."
    )


def _refuse_idle(
    items: Domain | None, numbers: Domain | None, method: str | Method, false_items: float | None, wanted: Any
) -> None:
    """Refuse what would have no effect: whoever writes it believes that it has one."""
    if numbers is not None and wanted is not None:
        raise ParameterError("wanted= is a share of the users that hold an item; a mean has none, so leave it out.")
    if numbers is not None and false_items is not None:
        raise ParameterError("false_items= is about items that are listed; a mean lists none, so leave it out.")
    if items is None and method != "auto":
        raise ParameterError(
            "method= says how popular items of a domain are found; leave it out with candidates= and numbers=, or give "
            "items=."
        )
    if isinstance(method, Method) and false_items is not None and false_items != method.false_items:
        raise ParameterError(
            f"This method was made with false_items={method.false_items}; leave false_items= out here, and give it to "
            "the function that makes the method."
        )


def _candidates(given: Sequence[Any]) -> tuple[Any, ...]:
    """Return a list of candidates, text composed as that of the devices is (ENC-DOM)."""
    if isinstance(given, (str, bytes)):
        raise ParameterError(f"candidates= is a list, and one text is none; write [{given[:40]!r}].")
    if isinstance(given, (set, frozenset)):
        few = len(given) <= 6 and all(isinstance(label, str) for label in given)
        shown = f"sorted([{', '.join(map(repr, sorted(given)))}])" if few and given else "sorted(labels)"
        raise ParameterError(
            "candidates= is a list, whose order is part of the plan, and a set has another order in every process; "
            f"write candidates={shown}."
        )
    try:
        listed = tuple(given)
    except TypeError:
        raise ParameterError(
            f"candidates= is a list, not {type(given).__name__}; write for example ['red', 'green']."
        ) from None
    if not listed:
        raise ParameterError("candidates= holds no candidates; write for example ['red', 'green'].")
    made = tuple(composed(label) if isinstance(label, str) else label for label in listed)
    _require_different(made)
    return made


def _require_different(labels: tuple[Any, ...]) -> None:
    """Refuse a label that stands twice, and say where; what is no label at all is refused elsewhere."""
    places: dict[str | int, int] = {}
    for place, label in enumerate(labels, 1):
        if isinstance(label, (str, int)) and (earlier := places.setdefault(label, place)) != place:
            shown = repr(label) if len(repr(label)) <= 60 else f"{repr(label)[:60]}…"
            raise ParameterError(
                f"The candidate {shown} is listed twice, at place {earlier} and at place {place} (of a file: on these "
                "lines); list each one once."
            )


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
        return *_list(each, candidates, false_items), ""
    if numbers is not None:
        return *_mean(each, numbers), ""
    assert items is not None
    asked = Items(items)
    _require_composed(asked.domain)
    if isinstance(method, Method):
        return asked, method, ""
    return asked, *choose(each, asked.bits, reports, method=method, false_items=false_items)


def _each(spend: Bound, reports: int) -> Pure:
    if isinstance(spend, (int, float, Fraction, tuple, list)):
        shown = f"the bare number {spend}" if isinstance(spend, (int, float, Fraction)) else "a pair"
        number = spend if isinstance(spend, (int, float, Fraction)) else "epsilon"
        raise ParameterError(f"spend must be a bound, not {shown}; a local report is pure, so write Pure({number}).")
    bound = require_bound(spend)
    each = bound.split(reports)
    report_epsilon(each)
    assert isinstance(each, Pure)
    return each


def _require_composed(domain: Domain) -> None:
    """Refuse categories that no device could report, because it composes its text first."""
    if isinstance(domain, Categories):
        for label in domain.labels:
            if isinstance(label, str) and composed(label) != label:
                raise ParameterError(
                    f"The category {label!r} is not in the normal form NFC, in which devices report text; write "
                    f"{composed(label)!r}."
                )


def _list(each: Pure, candidates: tuple[Any, ...], false_items: float) -> tuple[Items, Method]:
    listed = Items(Categories(candidates))
    return listed, list_method(each, len(candidates), false_items=false_items)


def _mean(each: Pure, numbers: Domain) -> tuple[Items, Method]:
    if not isinstance(numbers, (Integers, FixedPoint)) or numbers.highest == numbers.first:
        raise ParameterError("numbers= is a domain of numbers; write for example fixed(0, 60, step=0.5).")
    return Items(numbers), mean_method(each, numbers.highest - numbers.first)


def _weak_mean(made: Plan) -> str:
    """Say, from public facts, that a mean will be worth nothing, and how many users it takes."""

    def error(users: int) -> float:
        return mean_oracle(made).worst_error(users * made.reports)

    if error(made.users) <= 1:
        return ""
    needed = math.ceil(error(1) ** 2)
    return (
        f"Among {made.users} users at {made.spend!r} the standard error of the mean may be {error(made.users):.3g} "
        f"times the whole range of the numbers; plan for at least {needed} users, or spend more."
    )


def _shortage(made: Plan, share: float, make: Callable[[int], Plan], wanted: bool) -> str:
    """Say that a share will not be found, whether any protocol could find it, and what would help."""
    if made.detectable <= share:
        return ""
    others = ["spend more", "want less"] if wanted else ["spend more"]
    return f"{_lacking(made, share)}; {_remedy(made, share, make, others)}."


def _lacking(made: Plan, share: float) -> str:
    among = f"Among {made.users} users at {made.spend!r}"
    if share >= 1:
        return f"{among} not even a candidate that everybody holds would stand out"
    if share < made.floor:
        return f"{among} no protocol can find a share below {_percent(made.floor)}, and {_percent(share)} is wanted"
    return f"{among} this plan finds shares from {_percent(made.detectable)} on, and {_percent(share)} is wanted"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _remedy(made: Plan, share: float, make: Callable[[int], Plan], others: list[str]) -> str:
    """Say how many users would do, at most about a hundredth more than the smallest number, and what else helps."""

    def finds(users: int) -> bool:
        return made.method.detectable(users * made.reports, FOUND) <= share

    low, users = made.users, 2 * made.users
    while not finds(users):
        low, users = users, 2 * users
        if users > MOST_USERS:
            return f"there are not enough people for that, so {' or '.join(others)}"
    users = smallest_between(low, users, finds, parts=1000)
    # A plan for more users is built for more, and may differ a little from what this one says about them.
    while make(users).detectable > share:
        users += max(1, users // 200)
    return ", ".join([f"plan for at least {users} users", *others[:-1], f"or {others[-1]}"])

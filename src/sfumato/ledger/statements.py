"""What an open ledger can say about itself, and how its limits may change: never upward."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.errors import BudgetExceeded, ParameterError
from sfumato.exact import positive_integer
from sfumato.ledger import wording
from sfumato.ledger.amounts import sums_from_text
from sfumato.ledger.budget import Limit, closure
from sfumato.ledger.chain import canonical
from sfumato.ledger.guarantee import Unbounded, groups_of, guaranteed
from sfumato.ledger.pricing import Prices
from sfumato.ledger.readings import Reading, Statement
from sfumato.ledger.request import analyst_of
from sfumato.ledger.rules import LimitRule, gate_of
from sfumato.ledger.verify import past_sums
from sfumato.privacy import (
    ADD_REMOVE,
    Approximate,
    Attributes,
    Bound,
    Concentrated,
    Everything,
    Pure,
    Relation,
    Truncated,
    attributes,
)
from sfumato.privacy.implied import bound_for_group

if TYPE_CHECKING:
    from sfumato.ledger.journal import Journal
    from sfumato.ledger.session import Session

Names = Iterable[str] | str | Everything
"""Attributes by name, one name, or EVERYTHING."""


def closed(journal: Journal, names: Names) -> Attributes:
    """Return the attributes with all that are linked to them: a statement about a column is about its secret."""
    asked = attributes(names)
    secrets = journal.terms.budget.secrets
    if not asked:
        raise ParameterError("Name at least one attribute, or write EVERYTHING.")
    return asked if isinstance(asked, Everything) or secrets is None else closure(secrets, asked)


def guarantee(journal: Journal, names: Names, people: int) -> Bound | Unbounded:
    """Return what the limits as first declared promise; sums play no part."""
    limits = [rule.limit for rule in journal.book.rules if rule.promises]
    size = positive_integer(people, "people")
    return guaranteed(limits, closed(journal, names), size, journal.terms.relation)


def reading(journal: Journal, session: Session, names: Names, people: int, analyst: str | None) -> Reading:
    """Return the meters of a set of attributes; without a limit of its own, those of a limit that covers it."""
    on, who = closed(journal, names), analyst_of(journal.terms, analyst)
    size = positive_integer(people, "people")
    mine = [(place, rule) for place, rule in enumerate(journal.book.rules) if rule.analyst == who and not rule.cap]
    for place, rule in mine:
        if rule.limit.on == on and rule.limit.people == size:
            return Reading(rule, sums_from_text(journal.sums(session)[place]), cap=_cap(journal, rule))
    shadow = _shadow([rule for _, rule in mine], on, size, journal.terms.relation)
    return Reading(shadow, sums_from_text(past_sums(shadow, journal.history(session))), own=False)


def _shadow(mine: list[LimitRule], on: Attributes, people: int, relation: Relation) -> LimitRule:
    """Return a meter for a set without a limit of its own, with the ceiling of the person limit that reaches it."""
    whole = [rule for rule in mine if isinstance(rule.limit.on, Everything)]
    for rule in whole:
        if groups_of(rule.limit, on, people, relation) == 1:
            return LimitRule(Limit(on, rule.limit.bound, people), rule.gate, rule.analyst)
    implied = bound_for_group(whole[0].limit.bound, groups_of(whole[0].limit, on, people, relation))
    if implied is None:
        needed = relation.people_for(on, people)
        raise ParameterError(
            f"No limit of this ledger reaches {wording.subject(on, people)}, so there is nothing to measure against; "
            f"a budget with people={{{needed}: …}} would."
        )
    return LimitRule(Limit(on, implied, people), gate_of(implied), whole[0].analyst)


def readings(journal: Journal, session: Session) -> list[Reading]:
    """Return the meters of all limits and quotas, caps inside the limits that they lower."""
    sums = journal.sums(session)
    return [
        Reading(rule, sums_from_text(text), cap=_cap(journal, rule))
        for rule, text in zip(journal.book.rules, sums, strict=True)
        if not rule.cap
    ]


def _cap(journal: Journal, rule: LimitRule) -> LimitRule | None:
    caps = [other for other in journal.book.rules if other.cap and _same_place(other, rule)]
    return caps[-1] if caps and not rule.late else None


def _same_place(first: LimitRule, second: LimitRule) -> bool:
    return (first.limit.on, first.limit.people, first.analyst) == (
        second.limit.on,
        second.limit.people,
        second.analyst,
    )


def odometer(journal: Journal, session: Session, names: Names) -> Statement | None:
    """Return what this run can have shifted the odds by, from the whole history."""
    on = closed(journal, names)
    costs = [Prices(losses[0]).at(on, 1) for losses, _ in journal.history(session)]
    found = journal.terms.odometer.read(costs)
    presence = journal.terms.relation is ADD_REMOVE and isinstance(on, Everything)
    return replace(found, presence=presence) if found is not None else None


def add_limit(journal: Journal, session: Session, limit: Limit) -> LimitRule:
    """Add a limit whose sums are worked out from the whole history and must already fit."""
    on = closed(journal, limit.on)
    rule = LimitRule(Limit(on, limit.bound, limit.people), gate_of(limit.bound), late=True)
    sums = past_sums(rule, journal.history(session))
    if not rule.gate.fits(sums_from_text(sums)):
        raise BudgetExceeded(
            f"The limit {wording.bound_text(limit.bound)} on {limit.name} has been passed already; "
            "choose a larger one, or lower a limit with ledger.lower to refuse what comes."
        )
    _append(journal, session, rule, sums, "late")
    return rule


def lower(journal: Journal, session: Session, limit: Limit, analyst: str | None) -> LimitRule:
    """Cap a limit: more refusals from now on, the same guarantee."""
    bound = limit.bound
    wanted = LimitRule(limit, gate_of(bound), analyst_of(journal.terms, analyst), cap=True)
    own = [rule for rule in journal.book.rules if not rule.late and _same_place(rule, wanted)]
    if not own:
        raise ParameterError(f"No limit stands on {wanted.limit.name}; add one with ledger.add_limit.")
    alike = [rule for rule in own if type(rule.limit.bound) is type(bound)]
    if not alike or not all(_no_larger(bound, rule.limit.bound) for rule in alike):
        raise ParameterError(
            f"{wording.bound_text(bound)} is not below {wording.bound_text(own[-1].limit.bound)}; a limit is lowered "
            "by a smaller bound of the same kind, and never raised."
        )
    _append(journal, session, wanted, past_sums(wanted, journal.history(session)), "cap")
    return wanted


def _append(journal: Journal, session: Session, rule: LimitRule, sums: str, kind: str) -> None:
    session.save_sums(json.dumps([*journal.checked_sums(session), sums]))
    journal.append_rule(session, kind, canonical({"rule": rule.to_json(), "sums": sums}))


def _no_larger(bound: Bound, limit: Bound) -> bool:
    match bound, limit:
        case Pure(epsilon=new), Pure(epsilon=old):
            return new <= old
        case Concentrated(rho=new), Concentrated(rho=old):
            return new <= old
        case Truncated(rho=new), Truncated(rho=old):
            return new <= old and bound.omega >= limit.omega
        case Approximate(epsilon=new), Approximate(epsilon=old):
            return new <= old and bound.delta <= limit.delta
    return False

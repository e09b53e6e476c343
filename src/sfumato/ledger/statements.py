"""What an open ledger can say about itself, and how its limits may change: never upward."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.errors import BudgetExceeded, LedgerError, ParameterError
from sfumato.exact import positive_integer
from sfumato.ledger import wording
from sfumato.ledger.amounts import list_to_text, sums_from_text
from sfumato.ledger.budget import Budget, Limit, closure
from sfumato.ledger.chain import canonical
from sfumato.ledger.guarantee import OverDays, Unbounded, groups_of, guaranteed, guaranteed_over
from sfumato.ledger.pricing import Prices
from sfumato.ledger.readings import Reading, Statement
from sfumato.ledger.request import LONGEST_ID, analyst_of
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


def guarantee_over(journal: Journal, names: Names, people: int, days: int) -> OverDays | None:
    """Return what the limits promise for some days in a row of a person, None if nothing."""
    terms, size = journal.terms, positive_integer(people, "people")
    if not terms.budget.units:
        raise ParameterError(
            "This ledger limits no periods, so what it promises holds for any number of days; leave days= out, or make "
            "it with Budget(…, units={'day': …})."
        )
    steps = terms.relation.people_for(closed(journal, names), size)
    return guaranteed_over(positive_integer(days, "days"), terms.budget.units, guarantee(journal, names, people), steps)


def reading(journal: Journal, session: Session, names: Names, people: int, analyst: str | None) -> Reading:
    """Return the meters of a set of attributes; without a limit of its own, those of a limit that covers it."""
    on, who = closed(journal, names), analyst_of(journal.terms, analyst)
    size = positive_integer(people, "people")
    mine = [(place, rule) for place, rule in enumerate(journal.book.rules) if rule.analyst == who and not rule.cap]
    for place, rule in mine:
        if rule.limit.on == on and rule.limit.people == size:
            return Reading(rule, sums_from_text(journal.sums(session)[place]), cap=_cap(_caps(journal), rule))
    shadow = _shadow([rule for _, rule in mine], on, size, journal.terms.relation)
    rule, sums = past_sums(shadow, journal.history(session))
    return Reading(rule, sums_from_text(sums), own=False)


def _shadow(mine: list[LimitRule], on: Attributes, people: int, relation: Relation) -> LimitRule:
    """Return a meter for a set without a limit of its own, with the ceiling of the person limit that reaches it."""
    whole = [rule for rule in mine if isinstance(rule.limit.on, Everything)]
    if not whole:
        raise ParameterError("This ledger promises nothing for a lifetime; ask what a period has used by spent_in.")
    for rule in whole:
        if groups_of(rule.limit, on, people, relation) == 1:
            return LimitRule(Limit(on, rule.limit.bound, people), rule.gate, rule.analyst, shares=rule.shares)
    implied = bound_for_group(whole[0].limit.bound, groups_of(whole[0].limit, on, people, relation))
    if implied is None:
        needed = relation.people_for(on, people)
        raise ParameterError(
            f"No limit of this ledger reaches {wording.subject(on, people)}, so there is nothing to measure against; "
            f"a budget with people={{{needed}: …}} would."
        )
    if isinstance(implied, Approximate) and not implied.divided:
        # No limit, so no first question divided it: a meter is read with half of delta for leaks.
        implied = Approximate(implied.epsilon, implied.delta, leaks=implied.delta / 2)
    return LimitRule(Limit(on, implied, people), gate_of(implied), whole[0].analyst)


def readings(journal: Journal, session: Session) -> list[Reading]:
    """Return the meters of all limits and quotas, caps inside the limits that they lower."""
    sums, caps = journal.sums(session), _caps(journal)
    return [
        Reading(rule, sums_from_text(text), cap=_cap(caps, rule))
        for rule, text in zip(journal.book.rules, sums, strict=True)
        if not rule.cap
    ]


Caps = dict[tuple[Attributes, int, str | None], LimitRule]
"""The last cap on each set of attributes, number of people and analyst."""


def _lowered(rule: LimitRule) -> bool:
    """Tell whether a rule can be lowered: a first-declared limit, or anybody's quota."""
    return not rule.late or rule.analyst is not None


def _caps(journal: Journal) -> Caps:
    return {_spot(rule): rule for rule in journal.book.rules if rule.cap}


def _cap(caps: Caps, rule: LimitRule) -> LimitRule | None:
    return caps.get(_spot(rule)) if _lowered(rule) else None


def _spot(rule: LimitRule) -> tuple[Attributes, int, str | None]:
    return rule.limit.on, rule.limit.people, rule.analyst


def odometer(journal: Journal, session: Session, names: Names) -> Statement | None:
    """Return what this run can have shifted the odds by, from the whole history."""
    on = closed(journal, names)
    costs = [Prices(losses[0]).at(on, 1) for losses, _ in journal.history(session)]
    found = journal.terms.odometer.read(costs)
    presence = journal.terms.relation is ADD_REMOVE and isinstance(on, Everything)
    return replace(found, presence=presence) if found is not None else None


def add_limit(journal: Journal, session: Session, limit: Limit, analyst: str | None = None) -> LimitRule:
    """Add a limit, or a quota, whose sums are worked out from the whole history and must already fit."""
    on = closed(journal, limit.on)
    rule = LimitRule(Limit(on, limit.bound, limit.people), gate_of(limit.bound), analyst, late=True)
    rule, sums = past_sums(rule, journal.history(session, sealed=True))
    if rule.settled and not rule.gate.fits(sums_from_text(sums)):
        raise BudgetExceeded(wording.PASSED.format(bound=str(limit.bound), name=limit.name))
    _append(journal, session, rule, sums, "late")
    return rule


def add_analyst(journal: Journal, session: Session, name: str, quota: Budget) -> list[LimitRule]:
    """Give somebody a quota under the limits of all; once and for all, as every limit."""
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_ID:
        raise ParameterError(f"An analyst is named by a text of 1 to {LONGEST_ID} characters; write 'ana', say.")
    if name in journal.terms.askers:
        raise LedgerError(f"{name!r} has a quota already, and no limit is ever raised; lower it with ledger.lower.")
    secrets = journal.terms.budget.secrets
    limits = (quota if secrets is None else quota.about(secrets)).limits()
    return [add_limit(journal, session, limit, name) for limit in limits]


def lower(journal: Journal, session: Session, limit: Limit, analyst: str | None) -> LimitRule:
    """Cap a limit: more refusals from now on, the same guarantee."""
    bound = limit.bound
    wanted = LimitRule(limit, gate_of(bound), analyst_of(journal.terms, analyst), cap=True)
    own = [rule for rule in journal.book.rules if _lowered(rule) and _spot(rule) == _spot(wanted)]
    if not own:
        raise ParameterError(f"No limit stands on {wanted.limit.name}; add one with ledger.add_limit.")
    alike = [rule for rule in own if type(rule.limit.bound) is type(bound)]
    if not alike or not all(_no_larger(bound, rule.limit.bound) for rule in alike):
        raise ParameterError(
            f"{bound!s} is not below {own[-1].limit.bound!s}; a limit is lowered "
            "by a smaller bound of the same kind, and never raised."
        )
    wanted, sums = past_sums(wanted, journal.history(session, sealed=True))
    _append(journal, session, wanted, sums, "cap")
    return wanted


def _append(journal: Journal, session: Session, rule: LimitRule, sums: str, kind: str) -> None:
    session.save_sums(list_to_text([*journal.checked_sums(session), sums]))
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

"""The exact texts of the ledger (ledger-filters section 4); each is tested as it stands.

What was used or asked is rounded up, what is left is rounded down, limits stand as they were typed. Every number
is a function of stored public sums and of the request: no text depends on how a mechanism ran.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby

from sfumato.exact import Extended, Infinity
from sfumato.ledger.reservation import Break, Closing
from sfumato.privacy import Approximate, Bound, Concentrated, Everything, Pure, Truncated
from sfumato.privacy.attributes import Attributes
from sfumato.privacy.filters import Meter

METER = (
    "A meter, not a promise: questions were chosen after seeing answers, so this number is not a privacy guarantee. "
    "The guarantee is the limit."
)
DEAD = "This request ended without an answer. What it reserved stays spent; ask again as a new request."
UNREAD = (
    "The table could not be read. Nothing was drawn, and what was reserved is kept for this question: ask it again, it "
    "costs nothing more. The operator's log says where it went wrong."
)
CUT_SHORT = (
    "The draw was cut short by the machine (memory, disk or a missing package; the operator's log says which). Nothing "
    "is lost: ask the same question again, it costs nothing more and gives the answer that was being drawn."
)
UNSEALED = (
    "The request {id!r} was begun where there was no private place to keep a draw, so only whoever began it can end "
    "it. If that process is gone, mark the request with ledger.fail({id!r}) and ask as a new request."
)
ELSEWHERE = (
    "The request {id!r} was begun with another private directory, on another machine perhaps, or its directory is "
    "lost. Ask where it was begun, or give it up with ledger.fail({id!r}) and ask as a new request."
)
OTHER_VERSION = (
    "The request {id!r} was begun with {then}, and only these finish it as it was begun. Ask again with them, or give "
    "it up with ledger.fail({id!r}) and ask as a new request."
)
OTHERWISE = (
    "This question was begun as the request {id!r} when other public facts held, such as the number of people. Open "
    "the data as they were and ask again, or give it up with ledger.fail({id!r}) and ask as a new request."
)
ANSWERED = "The name {id!r} belongs to an answer, not to a conversation; choose another one."
OVERTAKEN = (
    "Somebody else has gone on with the conversation {id!r}, so what is asked here does not follow; open it again by "
    "its name to go on from there."
)
STEP_ELSEWHERE = (
    "A step of the conversation {id!r} was begun with another private directory, on another machine perhaps, or its "
    "directory is lost. Go on where it was begun, or give the step up, which costs one correction: open the "
    "conversation with give_up=True."
)
STEP_OTHER_VERSION = (
    "A step of the conversation {id!r} was begun with {then}, and only these finish it as it was begun. Go on with "
    "them, or give the step up, which costs one correction: open the conversation with give_up=True."
)
STEP_DEAD = (
    "This step of the conversation ended without an answer, and one correction is spent on it; the conversation goes "
    "on."
)
SHOWN_BREAKS = 5


def typed(number: Fraction) -> str:
    """Return a number as somebody would have typed it, exactly.

    >>> typed(Fraction(1, 10)), typed(Fraction(1, 10**6)), typed(Fraction(1, 3)), typed(Fraction(3))
    ('0.1', '1e-6', '1/3', '3')
    """
    twos, rest = 0, number.denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    fives = 0
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    if rest != 1 or places > 30:
        return str(number)
    return _decimal(int(number * 10**places), places)


def _decimal(units: int, places: int) -> str:
    """Return units·10^-places without trailing zeros, small numbers with an exponent."""
    while places and units % 10 == 0:
        units, places = units // 10, places - 1
    if not places:
        return str(units)
    digits = str(units)
    if len(digits) <= places - 4:
        head = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
        return f"{head}e-{places - len(digits) + 1}"
    digits = digits.rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}"


def shown(number: Extended, up: bool) -> str:
    """Return a number with two decimals, or two digits if it is small, rounded to the safe side.

    >>> shown(Fraction(1, 3), up=True), shown(Fraction(1, 3), up=False), shown(Fraction(1, 30000), up=True)
    ('0.34', '0.33', '3.4e-5')
    """
    if isinstance(number, Infinity):
        return "infinity"
    places = 2
    while number and number * 10**places < 10:
        places += 1
    scaled = number * 10**places
    return _decimal(-(-scaled // 1) if up else scaled // 1, places)


def bound_text(bound: Bound) -> str:
    """Return a bound as it was typed.

    >>> bound_text(Approximate(3, 1e-6))
    'Approximate(3, 1e-6)'
    """
    match bound:
        case Pure():
            numbers = [bound.epsilon]
        case Concentrated():
            numbers = [bound.rho]
        case Truncated():
            numbers = [bound.rho, bound.omega]
        case Approximate():
            numbers = [bound.epsilon, bound.delta]
        case _:
            return repr(bound)
    return f"{type(bound).__name__}({', '.join(map(typed, numbers))})"


def subject(on: Attributes, people: int) -> str:
    """Say whom a limit protects."""
    who = "each person" if people == 1 else f"any {people} people together"
    if isinstance(on, Everything):
        return who
    names = sorted(on)
    listed = names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
    return f"{listed} of {who}"


def guarantee_text(bound: Bound | None, on: Attributes, people: int) -> str:
    """Say what is guaranteed, or that nothing is."""
    if bound is None:
        return f"No limit of this ledger bounds what is learned about {subject(on, people)}."
    return (
        "Everything answered through this ledger, now and later, together satisfies "
        f"{bound_text(bound)} for {subject(on, people)}, whatever is asked."
    )


def spent_text(meters: Sequence[Meter], sums: Sequence[Extended]) -> str:
    """Say what the meters of one limit show."""
    readings = [(meter, used) for meter, used in zip(meters, sums, strict=True) if meter.kind != "leak"]
    leaks = [(meter, used) for meter, used in zip(meters, sums, strict=True) if meter.kind == "leak" and meter.ceiling]
    if len(readings) == 1 and not leaks:
        ((meter, used),) = readings
        return f"Used {shown(used, up=True)} of {_ceiling(meter)}. {METER}"
    parts = [f"{_route(meter)} {_used(meter, used)}." for meter, used in readings]
    parts += [f"Leaks {shown(used, up=True)} of {typed(meter.ceiling)}." for meter, used in leaks]
    return " ".join([*parts, METER])


def _used(meter: Meter, used: Extended) -> str:
    return f"{shown(used, up=True)} of {_ceiling(meter)}" if used <= meter.ceiling else "closed"


def _ceiling(meter: Meter) -> str:
    # The ceiling of an order is computed; all others were typed.
    return shown(meter.ceiling, up=False) if meter.kind == "tau" else typed(meter.ceiling)


def _route(meter: Meter) -> str:
    if meter.kind == "tau":
        assert isinstance(meter.order, Fraction)
        return f"Order {typed(meter.order)}:"
    return "Epsilon"


def refusal_text(breaks: Sequence[Break], largest: Bound | None = None) -> str:
    """Say which limits refuse, what was asked and what is left."""
    groups = [(name, list(rows)) for name, rows in groupby(breaks, key=lambda row: row.name)]
    named = [f"{name}, {'; '.join(map(_asked, rows))}" for name, rows in groups[:SHOWN_BREAKS]]
    more = len(groups) - SHOWN_BREAKS
    listed = "; ".join(named) + (f"; and {more} more" if more > 0 else "")
    text = f"Refused before the data were touched: {listed}."
    if largest is not None:
        return f"{text} The largest that fits is {bound_text(largest)}."
    return f"{text} A smaller spend may fit." if all(_room(rows) for _, rows in groups) else text


def _asked(row: Break) -> str:
    asked = f"{shown(row.asked, up=True)} asked"
    left = "closed" if row.left is None else f"{shown(row.left, up=False)} left"
    if row.meter.kind == "leak":
        made = " (the limit was made with too small leaks=)" if row.asked > row.meter.ceiling else ""
        return f"leaks {asked}, {left}{made}"
    if isinstance(row.limit.bound, Approximate):
        return f"{_route(row.meter).lower().rstrip(':')} {asked}, {left}"
    return f"{asked}, {left}"


def _room(rows: Sequence[Break]) -> bool:
    """Tell whether a smaller spend may fit: no leak is over, and some route has something left."""
    return all(row.meter.kind != "leak" for row in rows) and any(row.left for row in rows)


def fits_text(closes: Sequence[Closing]) -> str:
    """Say that a request fits, and which routes it would close for good."""
    shut = [f"{row.name}, {_route(row.meter).lower().rstrip(':')}" for row in closes[:SHOWN_BREAKS]]
    return f"Fits. It would close for good: {'; '.join(shut)}." if shut else "Fits."


def odometer_text(log_odds: Fraction, delta: Fraction, presence: bool = False) -> str:
    """Say what this run's answers can have shifted: for a record, or for whether a person is there at all."""
    odds, chance = shown(log_odds, up=True), typed(delta)
    who = "any one person" if presence else "any one person and any one other record"
    what = (
        "the truth about whether they are in the data over its opposite"
        if presence
        else ("the true record over the other")
    )
    return (
        f"For {who} fixed beforehand, with probability at least 1 - {chance} over "
        f"the noise, the answers of this run raise the odds of {what} by a factor of at most "
        f"e^{odds}, now; the numbers shown earlier hold with it. This is about this run; it is not "
        f"Approximate({odds}, {chance})."
    )


def plan_text(epsilon: Extended, delta: Fraction) -> str:
    """Say what a plan that was fixed beforehand guarantees."""
    return (
        "The plan was fixed before the data were touched: its total, "
        f"({shown(epsilon, up=True)}, {typed(delta)}), is a guarantee for the plan."
    )
